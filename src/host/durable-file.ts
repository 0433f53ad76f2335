import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { StoreError } from '../core/store-error.ts';

/** Makes a folder and its parents, readable by their owner only; resolves when the new ones would survive a power cut. */
export async function makeFolder(path: string): Promise<void> {
  try {
    const first = await mkdir(path, { recursive: true, mode: 0o700 });
    if (first === undefined) return;
    for (let made = path; ; made = dirname(made)) {
      await syncFolder(dirname(made));
      if (made === first || dirname(made) === made) return;
    }
  } catch (error) {
    throw writeError(path, error);
  }
}

/**
 * Writes a file whole or not at all: temp file beside it, fsync, rename, fsync of the folder.
 * With `folders` missing ones are made.
 * @throws StoreError `full` or `unwritable`; the old file is then as it was and no temp file is left.
 */
export async function writeDurably(
  path: string,
  bytes: Uint8Array | string,
  { folders = false }: { folders?: boolean } = {},
): Promise<void> {
  const temp = join(dirname(path), `.${basename(path)}.${randomUUID()}.tmp`);
  try {
    const file = await openNew(temp, folders);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temp, path);
    await syncFolder(dirname(path));
  } catch (error) {
    await unlink(temp).catch(() => {});
    throw writeError(path, error);
  }
}

/** The folder is there nearly always, so it is made only when it turns out to be missing. */
async function openNew(path: string, folders: boolean): Promise<FileHandle> {
  try {
    return await open(path, 'wx', 0o600);
  } catch (error) {
    if (!folders || errorCode(error) !== 'ENOENT') throw error;
    await makeFolder(dirname(path));
    return open(path, 'wx', 0o600);
  }
}

/** Makes renames in a folder durable. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** The `code` of a Node error. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** What a failed write means for a store. */
export function writeError(path: string, error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const code = errorCode(error);
  return code === 'ENOSPC' || code === 'EDQUOT'
    ? new StoreError('full', path, 'Cannot write, no space left', error)
    : new StoreError('unwritable', path, `Cannot write (${code ?? String(error)})`, error);
}

/** What a failed read of a file that has to be there means. */
export function readError(path: string, what: string, error: unknown): StoreError {
  const code = errorCode(error);
  return code === 'ENOENT' || code === 'ENOTDIR'
    ? new StoreError('missing', path, `${what} is missing`, error)
    : new StoreError('unwritable', path, `${what} cannot be read (${code ?? String(error)})`, error);
}
