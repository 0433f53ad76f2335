import type { Block, ToolUseBlock, Usage } from '../shapes/message.ts';
import type { Reply } from '../shapes/model.ts';

/** An event of a reply's stream as it came over the wire; nothing about its shape is trusted. */
export type StreamEvent = Record<string, unknown>;

/** A content block that is coming or has come. `json`: raw text of its input so far. */
type Part = { index: number; block: Record<string, unknown>; json: string; closed: boolean };

/** What has come of a reply. `outputKnown`: the API has said how many tokens the output took. */
export type ReplyState = {
  model: string;
  usage?: Usage;
  outputKnown: boolean;
  parts: readonly Part[];
  stop: string | null;
  ended: boolean;
};
export const emptyReply: ReplyState = { model: '', outputKnown: false, parts: [], stop: null, ended: false };

/** The reply after one more event. Events of unknown kinds change nothing; blocks of unknown kinds are kept as they come. */
export function accumulate(state: ReplyState, event: StreamEvent): ReplyState {
  switch (event['type']) {
    case 'message_start': {
      const message = asRecord(event['message']);
      return { ...state, model: asText(message['model']), usage: mergeUsage(state.usage, message['usage']) };
    }
    case 'content_block_start':
      return withPart(state, {
        index: Number(event['index']),
        block: asRecord(event['content_block']),
        json: '',
        closed: false,
      });
    case 'content_block_delta':
      return changePart(state, event['index'], (part) => extend(part, asRecord(event['delta'])));
    case 'content_block_stop':
      return changePart(state, event['index'], (part) => ({ ...part, closed: true }));
    case 'message_delta': {
      const stop = asRecord(event['delta'])['stop_reason'];
      const outputKnown = typeof asRecord(event['usage'])['output_tokens'] === 'number';
      return {
        ...state,
        stop: typeof stop === 'string' ? stop : state.stop,
        usage: mergeUsage(state.usage, event['usage']),
        outputKnown: state.outputKnown || outputKnown,
      };
    }
    case 'message_stop':
      return { ...state, ended: true };
    default:
      return state;
  }
}

/** The fewest events from which `accumulate` makes this closed block again. */
export function eventsOfBlock(state: ReplyState, index: number): StreamEvent[] {
  const part = state.parts.find((part) => part.index === index);
  if (!part?.closed) return [];
  const start = { type: 'content_block_start', index, content_block: part.block };
  const delta = { type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: part.json } };
  return [start, ...(part.json === '' ? [] : [delta]), { type: 'content_block_stop', index }];
}

/**
 * What may be kept of a reply, in a form that the API takes back; undefined when that is nothing and the reply has to
 * be asked for again.
 *
 * - Ended (`message_stop` came): all of it, but calls that are not complete.
 * - Cut: up to its last complete call; without one, nothing. The same goes for an ended reply that stopped to call
 *   tools and holds a broken call.
 * - Ended at a limit with nothing but thinking: nothing.
 *
 * A call is complete when its block was closed and its raw JSON parses to an object; no JSON at all counts as `{}` only
 * when the reply stopped to call tools. Thinking stays byte for byte, but unsigned thinking, blank text and what a
 * message may not end with are left out, and a reply that would be empty says that it is.
 */
export function keepable(state: ReplyState): Reply | undefined {
  const { stop } = state;
  const parts = state.parts.map((part) => ({ ...part, block: settle(part, stop) }));
  const broken = stop === 'tool_use' && parts.some(({ block }) => block === undefined);
  const cut = !state.ended || broken;
  const kept = cut ? parts.slice(0, parts.findLastIndex(({ block }) => block?.type === 'tool_use') + 1) : parts;
  const content = tidy(kept.flatMap(({ block }) => (block && isKept(block) ? [block] : [])));
  const reply = { stop, usage: state.usage ?? NO_USAGE, model: state.model };
  if (cut) return content.length > 0 ? { content, ...reply, cut: true } : undefined;
  if (content.some(({ type }) => type !== 'thinking' && type !== 'redacted_thinking')) return { content, ...reply };
  if (stop === 'max_tokens' || stop === 'model_context_window_exceeded') return undefined;
  return { content: [...content, { type: 'text', text: '(no content)' }], ...reply };
}

const NO_USAGE: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };

/** The block as it goes into a message; undefined for a call that is not complete. */
function settle(part: Part, stop: string | null): Block | undefined {
  const { block, json, closed } = part;
  if (block['type'] === 'thinking' || block['type'] === 'redacted_thinking') return block as Block;
  if (json === '' && block['type'] !== 'tool_use') return mend(block) as Block;
  const given = asRecord(block['input']);
  const bare = json === '' && (stop === 'tool_use' || Object.keys(given).length > 0);
  const input = bare ? given : parseObject(json);
  const named = typeof block['id'] === 'string' && typeof block['name'] === 'string';
  return closed && named && input ? (mend({ ...block, input }) as ToolUseBlock) : undefined;
}

/** Thinking without its signature is refused by the API, and so is blank text. */
function isKept(block: Block): boolean {
  if (block.type === 'thinking') return Boolean(block.signature);
  return block.type !== 'text' || block.text.trim() !== '';
}

/** The API refuses a message that ends with thinking, and text that ends with blanks where it is last. */
function tidy(content: Block[]): Block[] {
  const spoken = content.findLastIndex(({ type }) => type !== 'thinking' && type !== 'redacted_thinking');
  if (spoken < 0) return content;
  const last = content[spoken]!;
  return [...content.slice(0, spoken), last.type === 'text' ? { ...last, text: last.text.trimEnd() } : last];
}

/** JSON can name half a surrogate pair and the null character, which the API refuses to take back. */
const LONE_SURROGATE = /\p{Surrogate}/gu;
const mendText = (text: string): string => text.replace(LONE_SURROGATE, '\uFFFD').replaceAll('\0', '\uFFFD');

function mend(value: unknown): unknown {
  if (typeof value === 'string') return mendText(value);
  if (Array.isArray(value)) return value.map(mend);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [mendText(key), mend(entry)]));
}

function withPart(state: ReplyState, part: Part): ReplyState {
  const others = state.parts.filter(({ index }) => index !== part.index);
  return { ...state, parts: [...others, part].sort((a, b) => a.index - b.index) };
}

function changePart(state: ReplyState, index: unknown, change: (part: Part) => Part): ReplyState {
  const at = state.parts.findLastIndex((part) => part.index === index);
  return at < 0 ? state : { ...state, parts: state.parts.with(at, change(state.parts[at]!)) };
}

function extend(part: Part, delta: Record<string, unknown>): Part {
  const { block } = part;
  const grow = (key: string): Part => ({
    ...part,
    block: { ...block, [key]: asText(block[key]) + asText(delta[key]) },
  });
  switch (delta['type']) {
    case 'text_delta':
      return grow('text');
    case 'thinking_delta':
      return grow('thinking');
    case 'signature_delta':
      return { ...part, block: { ...block, signature: asText(delta['signature']) } };
    case 'input_json_delta':
      return { ...part, json: part.json + asText(delta['partial_json']) };
    case 'citations_delta': {
      const citations = Array.isArray(block['citations']) ? block['citations'] : [];
      return { ...part, block: { ...block, citations: [...citations, delta['citation']] } };
    }
    default:
      return part;
  }
}

/** Counts that come later replace earlier ones; a later total keeps the split by cache lifetime that came with an equal one. */
function mergeUsage(before: Usage | undefined, value: unknown): Usage {
  const usage = asRecord(value);
  const old = before ?? NO_USAGE;
  const count = (key: string, otherwise: number): number => {
    const given = usage[key];
    return typeof given === 'number' && given >= 0 ? Math.ceil(given) : otherwise;
  };
  const split = asRecord(usage['cache_creation']);
  const hour = split['ephemeral_1h_input_tokens'];
  const written = count('cache_creation_input_tokens', old.cacheWrite5m + old.cacheWrite1h);
  const cacheWrite1h = Math.min(written, typeof hour === 'number' && hour >= 0 ? hour : old.cacheWrite1h);
  return {
    input: count('input_tokens', old.input),
    output: count('output_tokens', old.output),
    cacheRead: count('cache_read_input_tokens', old.cacheRead),
    cacheWrite5m: written - cacheWrite1h,
    cacheWrite1h,
  };
}

/** Nesting past which a call counts as broken: what walks a value by recursion must not run out of stack. */
const DEEPEST = 500;

function parseObject(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject && depthWithin(value, DEEPEST) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function depthWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((entry) => depthWithin(entry, levels - 1));
}

const asRecord = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
const asText = (value: unknown): string => (typeof value === 'string' ? value : '');
