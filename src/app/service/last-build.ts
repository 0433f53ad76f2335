import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Env, homePath } from './home.ts';

const fileOf = (home: string): string => join(home, 'build');

/** The build whose worker had this environment's home last; `undefined` when none had. */
export function lastBuild(env: Env): string | undefined {
  try {
    return readFileSync(fileOf(homePath(env)), 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** Called by a worker that works: from then on jobs have its mark. */
export function recordBuild(home: string, build: string): void {
  const draft = `${fileOf(home)}.${process.pid}`;
  writeFileSync(draft, `${build}\n`, { mode: 0o600 });
  renameSync(draft, fileOf(home));
}
