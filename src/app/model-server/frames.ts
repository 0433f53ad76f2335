import type { Point } from './notation.ts';
import type { Reply, ReplyBlock } from './reply.ts';
import { tokensOf, type InputUsage } from './tokens.ts';

/** One server-sent event of a streamed reply. */
export interface Frame {
  bytes: Buffer;
  /** Pings are no content and are not counted as events. */
  isPing?: boolean;
  /** The index of the content block that this event closes. */
  closes?: number;
  /** Bytes of model output up to and including this event. */
  output: number;
}

/** Usage of a whole reply as the API reports it. */
export interface ReplyUsage extends InputUsage {
  output_tokens: number;
}

const NOTHING_USED = { server_tool_use: null, output_tokens_details: null };

/** An event as it goes over the wire. */
export function event(type: string, data: Record<string, unknown>): Buffer {
  return Buffer.from(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
}

/** The events of a reply in the order in which the API sends them; `chunk` is the number of characters per delta. */
export function replyFrames(reply: Reply, model: string, usage: ReplyUsage, chunk: number): Frame[] {
  const frames: Frame[] = [];
  let output = 0;
  const push = (type: string, data: Record<string, unknown>, more: Partial<Frame> = {}) =>
    frames.push({ bytes: event(type, data), output, ...more });
  const message = { ...messageHead(reply, model), content: [], stop_reason: null, stop_sequence: null };
  push('message_start', { message: { ...message, usage: { ...wholeUsage(usage), output_tokens: 1 } } });
  for (const [index, block] of reply.blocks.entries()) {
    push('content_block_start', { index, content_block: emptied(block) });
    if (index === 0) push('ping', {}, { isPing: true });
    for (const delta of deltas(block, chunk)) {
      output += Buffer.byteLength(delta.text);
      push('content_block_delta', { index, delta: delta.event });
    }
    push('content_block_stop', { index }, { closes: index });
  }
  push('message_delta', {
    delta: {
      stop_reason: reply.stopReason,
      stop_sequence: reply.stopSequence,
      stop_details: stopDetails(reply),
      container: null,
    },
    usage: {
      input_tokens: usage.input_tokens,
      cache_creation_input_tokens: usage.cache_creation_input_tokens,
      cache_read_input_tokens: usage.cache_read_input_tokens,
      output_tokens: usage.output_tokens,
      ...NOTHING_USED,
    },
  });
  push('message_stop', {});
  return frames;
}

/** The same reply as one JSON body. */
export function replyBody(reply: Reply, model: string, usage: ReplyUsage): Buffer {
  return Buffer.from(
    JSON.stringify({
      ...messageHead(reply, model),
      content: reply.blocks.map(whole),
      stop_reason: reply.stopReason,
      stop_sequence: reply.stopSequence,
      stop_details: stopDetails(reply),
      usage: wholeUsage(usage),
    }),
  );
}

/** Output tokens of a reply by the byte estimate, at least 1. */
export function outputTokens(reply: Reply): number {
  const bytes = reply.blocks.flatMap((block) => deltas(block, Infinity)).map(({ text }) => Buffer.byteLength(text));
  return Math.max(1, tokensOf(bytes.reduce((sum, size) => sum + size, 0)));
}

/** The byte offset of a point in a stream, or undefined when the reply ends before it. */
export function offsetOf(point: Point, frames: readonly Frame[]): number | undefined {
  const total = frames.reduce((sum, { bytes }) => sum + bytes.length, 0);
  if (point.at === 'start') return 0;
  if (point.at === 'first_byte') return 1;
  if (point.at === 'end') return total;
  if (point.at === 'bytes') return point.count <= total ? point.count : undefined;
  let offset = 0;
  let count = 0;
  for (const frame of frames) {
    if (point.at === 'events' && count === point.count) return offset;
    offset += frame.bytes.length;
    if (!frame.isPing) count++;
    if (point.at === 'block' && frame.closes === point.index) return offset;
  }
  return point.at === 'events' && count === point.count ? offset : undefined;
}

function messageHead(reply: Reply, model: string) {
  const fixed = { container: null, diagnostics: null, stop_details: null };
  return { id: reply.id, type: 'message', role: 'assistant', model, ...fixed };
}

function wholeUsage(usage: ReplyUsage) {
  return { ...usage, ...NOTHING_USED, inference_geo: null, service_tier: 'standard', speed: 'standard' };
}

function stopDetails(reply: Reply) {
  return reply.stopReason === 'refusal' ? { type: 'refusal', category: null, explanation: null } : null;
}

function whole(block: ReplyBlock): Record<string, unknown> {
  if (block.type === 'text') return { type: 'text', text: block.text, citations: null };
  if (block.type === 'call') return { ...block.head, input: parseInput(block.json) };
  return block.type === 'whole' ? block.block : { ...block };
}

/** Broken JSON can't stand in a JSON body: the input is then empty. */
function parseInput(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return {};
  }
}

function emptied(block: ReplyBlock): Record<string, unknown> {
  if (block.type === 'text') return { type: 'text', text: '', citations: null };
  if (block.type === 'thinking') return { type: 'thinking', thinking: '', signature: '' };
  return block.type === 'call' ? block.head : block.block;
}

function deltas(block: ReplyBlock, chunk: number): Array<{ text: string; event: Record<string, unknown> }> {
  if (block.type === 'whole') return [];
  if (block.type === 'text') {
    return pieces(block.text, chunk).map((text) => ({ text, event: { type: 'text_delta', text } }));
  }
  if (block.type === 'thinking') {
    return [
      ...pieces(block.thinking, chunk).map((text) => ({ text, event: { type: 'thinking_delta', thinking: text } })),
      { text: '', event: { type: 'signature_delta', signature: block.signature } },
    ];
  }
  // An empty input streams as nothing but the empty first piece.
  const json = block.json === '{}' ? [] : pieces(block.json, chunk);
  return ['', ...json].map((text) => ({ text, event: { type: 'input_json_delta', partial_json: text } }));
}

/** Cuts a text between characters, never inside one. */
function pieces(text: string, chunk: number): string[] {
  if (text.length <= chunk) return text === '' ? [] : [text];
  const found: string[] = [];
  for (let at = 0; at < text.length;) {
    let end = Math.min(at + chunk, text.length);
    const next = text.charCodeAt(end);
    if (next >= 0xdc00 && next <= 0xdfff) end++;
    found.push(text.slice(at, end));
    at = end;
  }
  return found;
}
