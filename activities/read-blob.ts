import type { Blobs } from '../src/core/ports.ts';
import type { Sha } from '../src/shapes/ids.ts';

const decoder = new TextDecoder();
/** Parsed blobs that every step needs; a blob never changes, so neither does its entry. */
const cache = new Map<Sha, unknown>();
const CACHED = 200;

/** A blob of JSON that our own side wrote. */
export async function readJson<T>(blobs: Blobs, sha: Sha): Promise<T> {
  return JSON.parse(decoder.decode(await blobs.get(sha))) as T;
}

/** The same, kept for the next step: for what every step reads. The value must not be changed. */
export async function readShared<T>(blobs: Blobs, sha: Sha): Promise<T> {
  if (cache.has(sha)) return cache.get(sha) as T;
  const value = await readJson<T>(blobs, sha);
  if (cache.size >= CACHED) cache.delete(cache.keys().next().value!);
  cache.set(sha, value);
  return value;
}

export async function readText(blobs: Blobs, sha: Sha): Promise<string> {
  return decoder.decode(await blobs.get(sha));
}
