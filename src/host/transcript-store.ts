import { createLru } from '../core/lru.ts';
import type { Blobs, Transcript } from '../core/ports.ts';
import { StoreError } from '../core/store-error.ts';
import type { Sha } from '../shapes/ids.ts';
import type { TranscriptNode } from '../shapes/message.ts';

/**
 * Nodes that were read or written lately, of all jobs of this process: a hash says all of a node, so no job can be given
 * another's. 128 MiB of JSON is far more than the context of a model, so the usual step reads from disk only what is new.
 */
const recent = createLru<TranscriptNode>(128 * 1024 * 1024);

/** A transcript whose nodes are blobs. Nodes are frozen: they are shared by everybody who loads them. */
export function createTranscript(blobs: Blobs): Transcript {
  async function read(sha: Sha): Promise<TranscriptNode> {
    const known = recent.get(sha);
    if (known) return known;
    const bytes = await blobs.get(sha);
    return remember(sha, parse(sha, Buffer.from(bytes).toString('utf8')), bytes.byteLength);
  }

  async function readAt(sha: Sha, fromEnd: number, head: Sha | null): Promise<TranscriptNode> {
    try {
      return await read(sha);
    } catch (error) {
      throw error instanceof StoreError ? atNode(error, sha, fromEnd, head) : error;
    }
  }

  return {
    read,

    async append(parent, message, meta) {
      if (parent !== null && !recent.get(parent) && !(await blobs.has(parent))) {
        throw new StoreError('missing', parent, 'Cannot append to the transcript: its last node is not in the store');
      }
      const text = serialise({ parent, message, meta });
      const sha = await blobs.put(text);
      // Parsed again, so that a node is the same to this process as to one that starts later.
      remember(sha, parse(sha, text), text.length);
      return sha;
    },

    async load(head) {
      const nodes: TranscriptNode[] = [];
      for (let next = head; next !== null; next = nodes.at(-1)!.parent) {
        nodes.push(await readAt(next, nodes.length, head));
      }
      return nodes.toReversed();
    },
  };
}

/**
 * The bytes of a node. The order of a block's own keys does not count, so that a reply from the stream and the same reply
 * from the spool are one node; the model's input of a call stays in the order in which the model wrote it.
 */
function serialise({ parent, message, meta }: TranscriptNode): string {
  const content = message.content.map(sorted);
  return JSON.stringify({ parent, message: { role: message.role, content }, meta: sorted(meta) });
}

function sorted(value: object): object {
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function parse(sha: Sha, text: string): TranscriptNode {
  const node: unknown = jsonOf(text);
  if (isNode(node)) return node;
  throw new StoreError('corrupt', sha, 'This blob is not a node of a transcript');
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The hash was right, so these are the bytes that an append wrote, or those of some other kind of blob. */
function isNode(value: unknown): value is TranscriptNode {
  if (typeof value !== 'object' || value === null) return false;
  if (!('parent' in value && 'message' in value && 'meta' in value)) return false;
  const { message, meta } = value;
  if (typeof message !== 'object' || message === null || typeof meta !== 'object' || meta === null) return false;
  return 'role' in message && 'content' in message && Array.isArray(message.content);
}

function remember(sha: Sha, node: TranscriptNode, weight: number): TranscriptNode {
  freeze(node);
  recent.set(sha, node, weight);
  return node;
}

function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  for (const part of Object.values(value)) freeze(part);
  Object.freeze(value);
}

function atNode(error: StoreError, sha: Sha, fromEnd: number, head: Sha | null): StoreError {
  const where = fromEnd === 0 ? 'its last node' : `the node ${fromEnd} before its end`;
  const state = error.code === 'missing' || error.code === 'corrupt' ? error.code : 'unreadable';
  const what = `The transcript that ends in ${head} cannot be read: ${where} (${sha}) is ${state}`;
  return new StoreError(error.code, error.path, what, error);
}
