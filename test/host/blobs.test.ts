import { createHash, randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isLost, StoreError } from '../../src/core/store-error.ts';
import { createBlobs, shaOf } from '../../src/host/blobs.ts';
import { createSmallDisk } from '../support/small-disk.ts';

let root: string;
let n = 0;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'blobs-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

/** Bytes that no other test has put, so that nothing is served from memory unless this test put it. */
const fresh = (): Buffer => Buffer.concat([Buffer.from(`${process.pid}.${n++}.`), randomBytes(64)]);
const fileOf = (dir: string, sha: string): string => join(dir, sha.slice(0, 2), sha.slice(2));
/** A blob that is on disk and not in the memory of this process. */
async function stored(content: Buffer): Promise<{ sha: string; path: string }> {
  const sha = shaOf(content);
  const path = fileOf(root, sha);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
  return { sha, path };
}
const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'no error',
    (error: unknown) => error,
  );

describe('blobs', () => {
  it('gives back what was put, by the hash of its bytes', async () => {
    const blobs = createBlobs(root);
    const bytes = fresh();
    const sha = await blobs.put(bytes);
    expect(sha).toBe(createHash('sha256').update(bytes).digest('hex'));
    expect(Buffer.from(await blobs.get(sha)).equals(bytes)).toBe(true);
    expect((await readFile(fileOf(root, sha))).equals(bytes)).toBe(true);
    expect(await blobs.has(sha)).toBe(true);
    expect(await blobs.has(shaOf('never put'))).toBe(false);
    expect((await stat(fileOf(root, sha))).mode & 0o777).toBe(0o600);
  });

  it('keeps text as UTF-8 and the empty blob', async () => {
    const blobs = createBlobs(root);
    expect(new TextDecoder().decode(await blobs.get(await blobs.put('日本\n')))).toBe('日本\n');
    expect(await blobs.get(await blobs.put(''))).toHaveLength(0);
  });

  it('does not write a second time what is there', async () => {
    const bytes = fresh();
    const { sha, path } = await stored(bytes);
    const before = await stat(path);
    expect(await createBlobs(root).put(bytes)).toBe(sha);
    expect(await createBlobs(root).put(bytes)).toBe(sha);
    const after = await stat(path);
    expect([after.ino, after.mtimeMs]).toEqual([before.ino, before.mtimeMs]);
  });

  it('leaves one whole file when many put the same at once', async () => {
    const bytes = fresh();
    const shas = await Promise.all(Array.from({ length: 20 }, () => createBlobs(root).put(bytes)));
    expect(new Set(shas).size).toBe(1);
    expect(await readdir(join(root, shas[0]!.slice(0, 2)))).toEqual([shas[0]!.slice(2)]);
  });

  it('is not changed by what callers do to their bytes', async () => {
    const blobs = createBlobs(root);
    const bytes = fresh();
    const copy = Buffer.from(bytes);
    const sha = await blobs.put(bytes);
    bytes.fill(0);
    (await blobs.get(sha)).fill(1);
    expect(Buffer.from(await blobs.get(sha)).equals(copy)).toBe(true);
  });

  it('notices a missing blob, a flipped bit and a torn file, each with path and remedy', async () => {
    const blobs = createBlobs(root);
    const flip = await stored(fresh());
    const bytes = await readFile(flip.path);
    bytes[10]! ^= 1;
    await writeFile(flip.path, bytes);
    const torn = await stored(fresh());
    await truncate(torn.path, 5);
    const gone = await stored(fresh());
    await unlink(gone.path);

    const errors = await Promise.all([flip, torn, gone].map(({ sha }) => failure(blobs.get(sha))));
    expect(errors.map((error) => error instanceof StoreError && [error.code, error.path])).toEqual([
      ['corrupt', flip.path],
      ['corrupt', torn.path],
      ['missing', gone.path],
    ]);
    expect(errors.every(isLost)).toBe(true);
    expect(String(errors[0])).toBe(
      `StoreError: A blob does not have its hash any more: ${flip.path}. Its bytes changed after they were written: ` +
        'restore this one file from a backup of the home, or start the job again under a new name; other jobs are not affected.',
    );
  });

  it('mends a damaged blob when the right bytes are put again', async () => {
    const content = fresh();
    const { sha, path } = await stored(content);
    const flipped = Buffer.from(content);
    flipped[0]! ^= 1;
    await writeFile(path, flipped);
    await createBlobs(root).put(content);
    expect((await readFile(path)).equals(content)).toBe(true);
    await unlink(path);
    await createBlobs(root).put(content);
    expect(shaOf(await readFile(path))).toBe(sha);
  });

  it('refuses an id that is none, so that no path can be made of it', async () => {
    const error = await failure(createBlobs(root).get('../../etc/passwd'));
    expect(error).toMatchObject({ code: 'missing', message: expect.stringContaining('Not the id of a blob') });
  });

  it('says where it may not write', async () => {
    const file = join(root, 'file');
    await writeFile(file, '');
    await chmod(file, 0o400);
    const error = await failure(createBlobs(join(file, 'blobs')).put(fresh()));
    expect(error).toMatchObject({
      code: 'unwritable',
      message: expect.stringContaining('Check owner, rights and mount'),
    });
    expect(isLost(error)).toBe(false);
  });
});

describe('blobs on a full disk', () => {
  it('leaves no half file, says so, keeps what it has, and goes on when there is room', async () => {
    const disk = await createSmallDisk(256 * 1024);
    try {
      const blobs = createBlobs(join(disk.path, 'blobs'));
      const small = fresh();
      const kept = await blobs.put(small);
      const filler = join(disk.path, 'filler');
      await writeFile(filler, Buffer.alloc(64 * 1024));
      const large = randomBytes(230 * 1024);

      const error = await failure(blobs.put(large));
      expect(error).toMatchObject({ code: 'full', path: fileOf(join(disk.path, 'blobs'), shaOf(large)) });
      expect(String(error)).toContain('free some space there; nothing was lost');
      expect(await blobs.has(shaOf(large))).toBe(false);
      const files = (await readdir(join(disk.path, 'blobs'), { recursive: true, withFileTypes: true })).filter(
        (entry) => entry.isFile(),
      );
      expect(files.map(({ name }) => name)).toEqual([kept.slice(2)]);
      expect(Buffer.from(await blobs.get(kept)).equals(small)).toBe(true);

      await unlink(filler);
      expect(shaOf(await blobs.get(await blobs.put(large)))).toBe(shaOf(large));
    } finally {
      await disk.close();
    }
  });
});
