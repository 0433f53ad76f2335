import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createLru } from '../core/lru.ts';
import type { Blobs } from '../core/ports.ts';
import { StoreError } from '../core/store-error.ts';
import { Sha } from '../shapes/ids.ts';
import { readError, syncFolder, writeDurably } from './durable-file.ts';

/** Bytes of blobs that were read or written lately, of all jobs of this process; only bytes whose hash was checked get in. */
const recent = createLru<Buffer>(32 * 1024 * 1024);

/** Hash of bytes (or of a text's UTF-8), lower-case hex. */
export const shaOf = (bytes: Uint8Array | string): Sha => createHash('sha256').update(bytes).digest('hex');

/** Blobs as files below `dir`, made when the first one is put; each blob is its own file, named by its hash. */
export function createBlobs(dir: string): Blobs {
  const pathOf = (sha: Sha): string => join(dir, sha.slice(0, 2), sha.slice(2));

  return {
    async put(bytes) {
      // A copy: what is cached must not change with the caller's buffer.
      const content = typeof bytes === 'string' ? Buffer.from(bytes) : Buffer.from(bytes);
      const sha = shaOf(content);
      const path = pathOf(sha);
      if (!(await isSafe(path, content))) await writeDurably(path, content, { folders: true });
      recent.set(path, content, content.length);
      return sha;
    },

    async get(sha) {
      const path = pathOf(valid(sha, dir));
      const known = recent.get(path);
      if (known) return Buffer.from(known);
      const content = await readFile(path).catch((error: unknown) => {
        throw readError(path, 'A blob', error);
      });
      if (shaOf(content) !== sha) throw new StoreError('corrupt', path, 'A blob does not have its hash any more');
      recent.set(path, Buffer.from(content), content.length);
      return content;
    },

    async has(sha) {
      return (await sizeOf(pathOf(valid(sha, dir)))) !== undefined;
    },
  };
}

/** Whether these very bytes are already on disk and stay there. A damaged file is not: writing it again mends it. */
async function isSafe(path: string, content: Buffer): Promise<boolean> {
  if ((await sizeOf(path)) !== content.length) return false;
  if (recent.get(path)) return true;
  const found = await readFile(path).catch(() => undefined);
  if (!found?.equals(content)) return false;
  // Whoever renamed it may have died before this.
  await syncFolder(dirname(path));
  return true;
}

async function sizeOf(path: string): Promise<number | undefined> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() ? found.size : undefined;
}

function valid(sha: Sha, dir: string): Sha {
  if (Sha.safeParse(sha).success) return sha;
  throw new StoreError('missing', dir, `Not the id of a blob (${JSON.stringify(sha).slice(0, 80)}), looked for in`);
}
