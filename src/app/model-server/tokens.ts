import { hash } from 'node:crypto';
import type { CountRequest } from './request.ts';

/** One piece of a request in the order in which the API caches it: tools, system, messages. */
export interface Segment {
  /** Identifies this piece and everything before it. */
  prefix: string;
  /** Bytes from the start of the request to the end of this piece. */
  bytes: number;
  /** The lifetime asked for by a cache breakpoint on this piece. */
  ttl?: Ttl;
}

const IMAGE_BYTES = 6400;

/** Cuts a request into the pieces between which cache breakpoints may stand; cache_control itself is left out. */
export function segments(request: CountRequest): Segment[] {
  const found: Segment[] = [];
  let prefix = '';
  let bytes = 0;
  const add = (kind: string, piece: object, size?: number) => {
    const json = kind + JSON.stringify(withoutMarks(piece));
    prefix = hash('sha256', prefix + json);
    bytes += size ?? Buffer.byteLength(json);
    const ttl = markOf(piece);
    found.push({ prefix, bytes, ...(ttl && { ttl }) });
  };
  for (const tool of request.tools ?? []) add('tool', tool);
  for (const block of request.system ?? []) add('system', block);
  for (const message of request.messages) {
    for (const block of message.content) add(message.role, block, block.type === 'image' ? IMAGE_BYTES : undefined);
  }
  const last = found.at(-1);
  if (request.cache_control && last) last.ttl ??= request.cache_control.ttl ?? '5m';
  return found;
}

type Ttl = '5m' | '1h';

function withoutMarks(piece: object): object {
  const { cache_control: _, ...rest }: { cache_control?: unknown; content?: unknown } = piece;
  return Array.isArray(rest.content) ? { ...rest, content: rest.content.map(withoutMarks) } : rest;
}

/** The lifetime asked for on a piece itself or on the last marked block inside it. */
function markOf(piece: object): Ttl | undefined {
  const { cache_control: mark, content } = piece as { cache_control?: { ttl?: Ttl } | null; content?: unknown };
  if (mark) return mark.ttl ?? '5m';
  return Array.isArray(content) ? content.map(markOf).findLast((ttl) => ttl) : undefined;
}

/** Tokens by the rule of thumb of four bytes each. */
export function tokensOf(bytes: number): number {
  return Math.ceil(bytes / 4);
}

/** Identifies system, tools and messages of a request, cache_control left out. */
export function prefixHash(pieces: readonly Segment[]): string {
  return pieces.at(-1)?.prefix ?? hash('sha256', '');
}

/** The tokens that a request's input is billed as. */
export interface InputUsage {
  input_tokens: number;
  cache_read_input_tokens: number;
  cache_creation_input_tokens: number;
  cache_creation: { ephemeral_5m_input_tokens: number; ephemeral_1h_input_tokens: number };
}

const LIFETIME = { '5m': 5 * 60_000, '1h': 60 * 60_000 };

/** A prompt cache: what a breakpoint wrote is read by later requests with the same beginning until it expires. */
export function createPromptCache(now: () => number) {
  const entries = new Map<string, { ttl: Ttl; expires: number }>();
  return {
    /** Bills one request and keeps what its breakpoints write. */
    charge(model: string, pieces: readonly Segment[]): InputUsage {
      const at = now();
      const total = tokensOf(pieces.at(-1)?.bytes ?? 0);
      const end = pieces.findLastIndex((piece) => piece.ttl);
      const key = (piece: Segment) => `${model} ${piece.prefix}`;
      const hit = pieces.findLastIndex((piece, i) => i <= end && (entries.get(key(piece))?.expires ?? 0) > at);
      const upTo = (index: number) => (index < 0 ? 0 : tokensOf(pieces[index]!.bytes));
      const read = upTo(hit);
      const longLived = pieces.findLastIndex((piece) => piece.ttl === '1h');
      const long = Math.max(0, upTo(longLived) - read);
      const created = upTo(end) - read;
      const old = hit < 0 ? undefined : entries.get(key(pieces[hit]!));
      if (old) old.expires = at + LIFETIME[old.ttl];
      for (const piece of pieces) {
        if (piece.ttl) entries.set(key(piece), { ttl: piece.ttl, expires: at + LIFETIME[piece.ttl] });
      }
      return {
        input_tokens: total - upTo(end),
        cache_read_input_tokens: read,
        cache_creation_input_tokens: created,
        cache_creation: { ephemeral_5m_input_tokens: created - long, ephemeral_1h_input_tokens: long },
      };
    },
  };
}
