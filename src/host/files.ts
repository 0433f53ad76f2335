import { lstatSync, readdirSync, readlinkSync, realpathSync, type Stats } from 'node:fs';
import { access, constants, mkdir, open, readdir, readFile, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Files, FileStat } from '../core/ports.ts';

/** More links than this in a row are a loop. */
const MAX_LINKS = 40;
/** Paths of so many characters are within the system's limit of 4,095 bytes, whatever the characters. */
const SURE_CHARS = 1365;
/** No name is longer, in bytes. */
const MAX_NAME = 255;
/** Nothing is there, or nobody of this user gets at it. */
const UNFOLLOWED = new Set<unknown>(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'EACCES', 'EPERM']);

/** Files of this machine. `beforeRename` is awaited when a file's new content lies complete beside it. */
export function createFiles(beforeRename?: () => Promise<void>): Files {
  return {
    read: (path) => readFile(path),
    stat: statOrNothing,
    write: (path, bytes) => writeAtomically(path, bytes, beforeRename),
    list: async (path) => (await readdir(path)).sort(),
    names(path) {
      try {
        return readdirSync(path);
      } catch {
        return [];
      }
    },
    real: (path) => realPath(resolve(path), MAX_LINKS),
  };
}

async function statOrNothing(path: string): Promise<FileStat | undefined> {
  try {
    const found = await stat(path);
    return { kind: kindOf(found), bytes: found.size, mtimeMs: found.mtimeMs, mode: found.mode & 0o7777 };
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}

function kindOf(found: Stats): FileStat['kind'] {
  if (found.isFile()) return 'file';
  return found.isDirectory() ? 'directory' : 'other';
}

async function writeAtomically(
  path: string,
  bytes: Uint8Array | string,
  beforeRename?: () => Promise<void>,
): Promise<void> {
  const target = realPath(resolve(path), MAX_LINKS);
  const dir = dirname(target);
  const firstMade = await mkdir(dir, { recursive: true });
  const before = await statOrNothing(target);
  // A rename would replace what may not be written, and turn a device or a pipe into a plain file.
  if (before !== undefined) await access(target, constants.W_OK);
  if (before !== undefined && before.kind !== 'file') throw notAFile(target, before.kind);
  await removeLeftovers(dir, basename(target));
  const temp = join(dir, tempName(basename(target)));
  try {
    const file = await open(temp, 'wx');
    try {
      await file.writeFile(bytes);
      if (before !== undefined) await keepOwnerAndMode(file, target);
      await file.sync();
    } finally {
      await file.close();
    }
    await beforeRename?.();
    await rename(temp, target);
  } catch (error) {
    await unlink(temp).catch(() => undefined);
    throw error;
  }
  // A new folder is on disk only when the one above it is.
  const top = firstMade === undefined ? dir : dirname(firstMade);
  for (let folder = dir; ; folder = dirname(folder)) {
    await syncFolder(folder);
    if (folder === top) break;
  }
}

async function keepOwnerAndMode(file: Awaited<ReturnType<typeof open>>, target: string): Promise<void> {
  const old = await stat(target);
  const made = await file.stat();
  if (old.uid !== made.uid || old.gid !== made.gid) {
    // Only root may give a file away; the content matters more than its owner.
    await file.chown(old.uid, old.gid).catch(() => undefined);
  }
  await file.chmod(old.mode & 0o7777);
}

let written = 0;

/** `.name.<pid>-<n>.nightshift`, short enough for a file system whose names end at 255 bytes. */
function tempName(name: string): string {
  written += 1;
  return `${tempPrefix(name)}${process.pid}-${written}.nightshift`;
}

function tempPrefix(name: string): string {
  return `.${Buffer.from(name)
    .subarray(0, 200)
    .toString('latin1')
    .replaceAll(/[^\w.-]/g, '_')}.`;
}

/** A process that died while it wrote this very file left its half behind; nobody else ever removes it. */
async function removeLeftovers(dir: string, name: string): Promise<void> {
  const prefix = tempPrefix(name);
  for (const entry of await readdir(dir)) {
    if (!entry.startsWith(prefix) || !entry.endsWith('.nightshift')) continue;
    const writer = /^(\d+)-\d+\.nightshift$/.exec(entry.slice(prefix.length));
    if (writer !== null && !isRunning(Number(writer[1]))) await unlink(join(dir, entry)).catch(() => undefined);
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) !== 'ESRCH';
  }
}

async function syncFolder(dir: string): Promise<void> {
  const folder = await open(dir, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/**
 * Where a path leads, with all links followed that are there. What can't be followed by anybody of this user (a circle, a
 * folder without the right to enter it, a name longer than any) is taken as it is written.
 * @throws ENAMETOOLONG for a path of existing folders that is longer than the system takes.
 */
function realPath(path: string, linksLeft: number): string {
  return lookUp(path, linksLeft).path;
}

/** `found`: something is there, or may be. */
type Place = { path: string; found: boolean };

function lookUp(path: string, linksLeft: number): Place {
  if (path.includes('\0')) return { path, found: false };
  if (path.length > SURE_CHARS) return lookUpLong(path, linksLeft);
  try {
    return { path: realpathSync.native(path), found: true };
  } catch (error) {
    if (!UNFOLLOWED.has(codeOf(error))) throw error;
    if (codeOf(error) === 'ELOOP') linksLeft = 0;
  }
  const parent = dirname(path);
  if (parent === path) return { path, found: false };
  const above = lookUp(parent, linksLeft);
  const here = join(above.path, basename(path));
  const target = above.found && linksLeft > 0 ? linkTarget(here) : undefined;
  if (target === undefined) return { path: here, found: false };
  return lookUp(resolve(dirname(here), target), linksLeft - 1);
}

/** The system takes no such path at once, and most of it is usually not there: its beginning tells. */
function lookUpLong(path: string, linksLeft: number): Place {
  const cut = path.lastIndexOf('/', SURE_CHARS);
  if (cut <= 0) return { path, found: false };
  const start = lookUp(path.slice(0, cut), linksLeft);
  const rest = path.slice(cut + 1);
  const whole = join(start.path, rest);
  const [name = ''] = rest.split('/', 1);
  if (!start.found || Buffer.byteLength(name) > MAX_NAME) return { path: whole, found: false };
  if (whole.length < path.length) return lookUp(whole, linksLeft);
  throw Object.assign(new Error(`ENAMETOOLONG: too long to be looked up, '${path.slice(0, 200)}…'`), {
    code: 'ENAMETOOLONG',
    path,
  });
}

/** Where a link that leads to nothing points. */
function linkTarget(path: string): string | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined;
  } catch (error) {
    const isTooDeep = codeOf(error) === 'ENAMETOOLONG' && Buffer.byteLength(basename(path)) <= MAX_NAME;
    if (UNFOLLOWED.has(codeOf(error)) && !isTooDeep) return undefined;
    throw error;
  }
}

function notAFile(path: string, kind: FileStat['kind']): Error {
  const code = kind === 'directory' ? 'EISDIR' : 'EINVAL';
  return Object.assign(new Error(`${code}: not a regular file, '${path}'`), { code });
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
