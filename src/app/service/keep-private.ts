import { chmodSync, lstatSync } from 'node:fs';
import { homedir } from 'node:os';
import type { HomePaths } from './home.ts';

/** What others must not have of a file or folder: to read, write, run or enter it. */
const OTHERS = 0o077;
/** Set on folders such as `/tmp`, which many users share. */
const STICKY = 0o1000;

/**
 * Takes from others whatever they may do with a home and what lies in it: prompts, commands and results are nobody else's.
 * A folder that is not nightshift's alone stays as it is, and only what nightshift has in it is closed.
 */
export function keepPrivate({ home, db, dbVersion, record, pulse, logs, jobs, workers }: HomePaths): void {
  if (home !== '/' && home !== homedir()) close(home);
  for (const folder of [logs, jobs, workers]) close(folder);
  for (const file of [db, `${db}-wal`, `${db}-shm`, dbVersion, record, pulse]) close(file);
}

function close(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found || found.isSymbolicLink() || (found.mode & OTHERS) === 0) return;
  if ((found.mode & STICKY) !== 0 || found.uid !== process.getuid?.()) return;
  chmodSync(path, found.mode & 0o7777 & ~OTHERS);
}
