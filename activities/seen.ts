import type { Blobs } from '../src/core/ports.ts';
import type { Seen } from '../src/core/tool.ts';
import type { Ctx } from '../src/shapes/call.ts';
import type { Sha } from '../src/shapes/ids.ts';
import { readShared } from './read-blob.ts';

type Delta = Record<string, Seen>;
/** What was read, oldest layer first. Each layer is at least twice the next: a step writes about what it read, however long the job. */
type Layers = { sha: Sha; n: number }[];

/** What the model has read so far, by real path. */
export async function loadSeen(blobs: Blobs, ctx: Ctx): Promise<Map<string, Seen>> {
  const layers = ctx.files ? await readShared<Layers>(blobs, ctx.files) : [];
  const deltas = [...layers.map((layer) => layer.sha), ...(ctx.fresh ?? [])];
  const read = await Promise.all(deltas.map((sha) => readShared<Delta>(blobs, sha)));
  return new Map(read.flatMap((delta) => Object.entries(delta)));
}

/** Folds what the calls of the open step have read into the list. */
export async function foldSeen(blobs: Blobs, ctx: Ctx): Promise<Ctx> {
  const { fresh = [], ...rest } = ctx;
  if (fresh.length === 0) return rest;
  const layers = rest.files ? [...(await readShared<Layers>(blobs, rest.files))] : [];
  const deltas = await Promise.all(fresh.map((sha) => readShared<Delta>(blobs, sha)));
  let top: Delta = Object.assign({}, ...deltas) as Delta;
  while (layers.length > 0 && layers.at(-1)!.n < 2 * Object.keys(top).length) {
    top = { ...(await readShared<Delta>(blobs, layers.pop()!.sha)), ...top };
  }
  layers.push({ sha: await blobs.put(JSON.stringify(top)), n: Object.keys(top).length });
  return { ...rest, files: await blobs.put(JSON.stringify(layers)) };
}
