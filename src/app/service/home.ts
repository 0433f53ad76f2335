import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  statfsSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { keepPrivate } from './keep-private.ts';
import { HomeError, errorCode, errorText } from './service-error.ts';

/** Environment variables, as `process.env` gives them. */
export type Env = Readonly<Record<string, string | undefined>>;

/** Where everything of one home lies. */
export interface HomePaths {
  readonly home: string;
  readonly db: string;
  /** Version of the `temporal` program that made the database. */
  readonly dbVersion: string;
  readonly lock: string;
  readonly record: string;
  readonly socket: string;
  readonly logs: string;
  readonly jobs: string;
  readonly workers: string;
  /** How far the home has come, see pulse.ts. */
  readonly pulse: string;
}

/** A home in use: its folders, and the id that keeps two homes on one server apart. */
export interface Home extends HomePaths {
  /** 12 hexadecimal digits, made once. */
  readonly id: string;
}

const ID = /^[0-9a-f]{12}$/;
/** Below this the first write of a database or a result is likely to fail, in bytes. */
export const LEAST_FREE = 32 * 1024 * 1024;

/** The folder of all state: `NIGHTSHIFT_HOME`, else `$XDG_STATE_HOME/nightshift`, else `~/.local/state/nightshift`; throws HomeError for a relative `HOME`. */
export function homePath(env: Env): string {
  const chosen = env['NIGHTSHIFT_HOME'];
  if (chosen) return resolve(chosen);
  const state = env['XDG_STATE_HOME'];
  // The XDG rules say that a relative path is to be ignored.
  if (state && isAbsolute(state)) return join(state, 'nightshift');
  const user = env['HOME'] || homedir();
  if (!isAbsolute(user)) {
    throw new HomeError(
      `HOME is ${JSON.stringify(user)}, which is no absolute path: it would be another folder wherever a command is called.`,
      'Set HOME to an absolute path, or NIGHTSHIFT_HOME to the folder of nightshift.',
    );
  }
  return join(user, '.local', 'state', 'nightshift');
}

/** The folder of what can be had again, or done without: `$XDG_CACHE_HOME/nightshift`, else `~/.cache/nightshift`. */
export function cacheFolder(env: Env): string {
  const chosen = env['XDG_CACHE_HOME'];
  return join(chosen && isAbsolute(chosen) ? chosen : join(env['HOME'] || homedir(), '.cache'), 'nightshift');
}

/** The paths below a home; nothing is read or made. */
export function homePaths(home: string): HomePaths {
  return {
    home,
    db: join(home, 'temporal.db'),
    dbVersion: join(home, 'temporal.version'),
    lock: join(home, 'up.lock'),
    record: join(home, 'service.json'),
    socket: join(home, 'keeper.sock'),
    logs: join(home, 'logs'),
    jobs: join(home, 'jobs'),
    workers: join(home, 'workers'),
    pulse: join(home, 'pulse.json'),
  };
}

/** The task queue of a home; it carries the id so that two homes on one server never meet. */
export function taskQueue(homeId: string): string {
  return `nightshift-${homeId}`;
}

/** Makes the home where it is missing, proves that it can be written and closes it to others; throws HomeError where it can't. */
export function openHome(path: string): Home {
  const paths = homePaths(path);
  try {
    for (const folder of [path, paths.logs, paths.jobs, paths.workers]) makeFolder(folder);
    proveWritable(path);
    keepPrivate(paths);
    return { ...paths, id: homeId(path) };
  } catch (error) {
    throw error instanceof HomeError ? error : homeError(path, error);
  }
}

/** The home as it stands, `undefined` where none was ever made; throws HomeError when it cannot be read, or was used and has lost its id. */
export function lookAtHome(path: string): Home | undefined {
  try {
    const id = readId(path);
    return id === undefined ? undefined : { ...homePaths(path), id };
  } catch (error) {
    throw error instanceof HomeError ? error : homeError(path, error);
  }
}

/** Bytes that this user can still write below a path. */
export function freeBytes(path: string): number {
  const disk = statfsSync(path);
  return disk.bavail * disk.bsize;
}

/** Step by step, because the recursive mkdir of Node never returns where a folder can't be made for want of its parent, as below `/proc`. */
function makeFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return;
  makeFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Somebody else may have made it meanwhile; a file in its place is an error.
    if (errorCode(error) !== 'EEXIST' || !statSync(path).isDirectory()) throw error;
  }
}

function proveWritable(path: string): void {
  const probe = join(path, `.probe-${process.pid}-${randomBytes(4).toString('hex')}`);
  try {
    const fd = openSync(probe, 'wx', 0o600);
    try {
      writeSync(fd, Buffer.alloc(4096, 1));
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  } finally {
    rmSync(probe, { force: true });
  }
  const free = freeBytes(path);
  if (free < LEAST_FREE) {
    throw new HomeError(
      `The disk of ${path} is full: ${Math.floor(free / 1024 / 1024)} MiB are free, ${LEAST_FREE / 1024 / 1024} MiB are needed.`,
      `Free some space, or set NIGHTSHIFT_HOME to a folder on another disk.`,
    );
  }
}

/** The file that holds the id of a home. */
export function idFile(path: string): string {
  return join(path, 'id');
}

/** Gives a home this id unless it has one: by link(2) from a finished file, so that of two processes at once one wins and nobody ever reads half an id. */
export function writeId(path: string, id: string): void {
  const draft = join(path, `.id-${process.pid}-${randomBytes(4).toString('hex')}`);
  try {
    writeFileSync(draft, `${id}\n`, { flag: 'wx', mode: 0o600, flush: true });
    linkSync(draft, idFile(path));
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function homeId(path: string): string {
  const known = readId(path);
  if (known !== undefined) return known;
  writeId(path, randomBytes(6).toString('hex'));
  return readId(path) ?? '';
}

/** `undefined` where no home was ever used: under another id its jobs would lie on a queue that nobody polls. */
function readId(path: string): string | undefined {
  const file = idFile(path);
  if (!existsSync(file)) {
    const isInTheWay = statSync(path, { throwIfNoEntry: false })?.isDirectory() === false;
    if (isInTheWay) throw homeError(path, Object.assign(new Error('no folder'), { code: 'EEXIST' }));
    // Whoever made it meanwhile wrote the id first.
    if (isUsed(path) && !existsSync(file)) throw noId(path, `${file} is gone, and with it the id of this home.`);
    if (!existsSync(file)) return undefined;
  }
  const id = readFileSync(file, 'utf8').trim();
  if (ID.test(id)) return id;
  throw noId(path, `${file} does not hold the id of a home (12 hexadecimal digits).`);
}

function isUsed(path: string): boolean {
  const { db, jobs } = homePaths(path);
  return existsSync(db) || (existsSync(jobs) && readdirSync(jobs).length > 0);
}

function noId(path: string, what: string): HomeError {
  const { db } = homePaths(path);
  const find = existsSync(db)
    ? `\nThey stand most often in: grep -aoE 'nightshift-[0-9a-f]{12}' '${db}' | sort | uniq -c`
    : '';
  return new HomeError(
    what,
    `Restore the file from a backup. Without one, write the 12 digits that stand behind "nightshift-" in the task queue of this home's jobs.${find}`,
  );
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EEXIST: 'there is a file in its place',
  ENOTDIR: 'a part of the path is a file, not a folder',
  ENOENT: 'no folder can be made there',
  ENAMETOOLONG: 'the path is too long',
};

function homeError(path: string, error: unknown): HomeError {
  const code = errorCode(error);
  const reason = (code === undefined ? undefined : REASONS[code]) ?? errorText(error);
  return new HomeError(
    `The home ${path} can't be used: ${reason}${code === undefined ? '' : ` (${code})`}.`,
    code === 'ENOSPC' || code === 'EDQUOT'
      ? 'Free some space, or set NIGHTSHIFT_HOME to a folder on another disk.'
      : 'Set NIGHTSHIFT_HOME to a folder that you can write to.',
  );
}
