import type { ApiError } from './api-error.ts';
import { apiError } from './api-error.ts';
import { checkImage, checkText } from './check-blocks.ts';
import { checkPairs } from './check-pairs.ts';
import { checkTools } from './check-tools.ts';
import { findModel, type ModelLimits } from './models.ts';
import { BETA_FIELDS, CountRequest, describeShapeFault, MessagesRequest } from './request.ts';
import { segments, tokensOf, type Segment } from './tokens.ts';

/** What the checks need to know besides the request. */
export interface CheckState {
  limits: ModelLimits;
  /** The request carries an `anthropic-beta` header. */
  beta: boolean;
  /** The last assistant message is a paused turn that may be continued. */
  paused: boolean;
  /** Whether a thinking block is one that this server sent. */
  isOwnThinking(text: string, signature: string): boolean;
  isOwnRedacted(data: string): boolean;
}

type Rule = (
  request: CountRequest & Partial<MessagesRequest>,
  state: CheckState,
  pieces: readonly Segment[],
) => ApiError | string | undefined;

/** A request in normal form, cut into the pieces that are counted and cached. */
export interface Checked<T> {
  request: T;
  pieces: readonly Segment[];
}

/** Each rule answers with the API's complaint; a plain string is an invalid_request_error. */
const RULES: readonly Rule[] = [
  (request, { limits }) => (findModel(request.model, limits) ? undefined : apiError(404, `model: ${request.model}`)),
  (request, { limits }) => {
    const most = findModel(request.model, limits)?.max_tokens ?? Infinity;
    if ((request.max_tokens ?? 0) <= most) return undefined;
    return `max_tokens: ${request.max_tokens} > ${most}, which is the maximum allowed number of output tokens for ${request.model}`;
  },
  ({ messages }) => (messages.length === 0 ? 'messages: at least one message is required' : undefined),
  ({ messages }) => (messages[0]?.role === 'user' ? undefined : 'messages: first message must use the "user" role'),
  ({ messages }) => {
    const empty = messages.findIndex((message) => message.content.length === 0);
    const mayBeEmpty = empty === messages.length - 1 && messages[empty]?.role === 'assistant';
    if (empty < 0 || mayBeEmpty) return undefined;
    return `messages.${empty}: all messages must have non-empty content except for the optional final assistant message`;
  },
  (request) => checkText(request),
  ({ messages }) => {
    const last = messages.at(-1);
    const end = last?.role === 'assistant' ? last.content.at(-1) : undefined;
    if (end?.type !== 'text' || end.text === end.text.trimEnd()) return undefined;
    return 'messages: final assistant content cannot end with trailing whitespace';
  },
  ({ messages }) => checkPairs(messages),
  ({ messages }, { paused }) => {
    if (messages.at(-1)?.role !== 'assistant' || paused) return undefined;
    return 'This model does not support assistant message prefill. The conversation must end with a user message.';
  },
  ({ messages }, state) => {
    for (const [i, message] of messages.entries()) {
      for (const [k, block] of message.content.entries()) {
        if (block.type === 'thinking' && !state.isOwnThinking(block.thinking, block.signature)) {
          return `messages.${i}.content.${k}: Invalid \`signature\` in \`thinking\` block`;
        }
        if (block.type === 'redacted_thinking' && !state.isOwnRedacted(block.data)) {
          return `messages.${i}.content.${k}: Invalid \`data\` in \`redacted_thinking\` block`;
        }
      }
    }
    return undefined;
  },
  ({ messages }) => checkImage(messages),
  (request) => checkTools(request),
  (request) => checkBreakpoints(request),
  ({ thinking, max_tokens: most, tool_choice: choice }) => {
    if (thinking?.type !== 'enabled') return undefined;
    if (most !== undefined && thinking.budget_tokens >= most) {
      return '`max_tokens` must be greater than `thinking.budget_tokens`';
    }
    if (choice?.type !== 'any' && choice?.type !== 'tool') return undefined;
    return 'Thinking may not be enabled when tool_choice forces tool use.';
  },
  (request, { limits }, pieces) => {
    const window = findModel(request.model, limits)?.max_input_tokens ?? Infinity;
    const input = tokensOf(pieces.at(-1)?.bytes ?? 0);
    const output = request.max_tokens ?? 0;
    if (input > window) return tooLong(`prompt is too long: ${input} tokens > ${window} maximum`);
    if (input + output <= window) return undefined;
    return tooLong(
      `input length and \`max_tokens\` exceed context limit: ${input} + ${output} > ${window}, decrease input length or \`max_tokens\` and try again`,
    );
  },
];

/** What the API would complain about in a parsed JSON body, or the request in normal form. */
export function checkRequest(body: unknown, state: CheckState): Checked<MessagesRequest> | { error: ApiError } {
  const shaped = MessagesRequest.safeParse(withoutBetaFields(body, state.beta));
  if (!shaped.success) return { error: apiError(400, describeShapeFault(shaped.error, body)) };
  return applyRules(shaped.data, state);
}

/** The same for a token count. */
export function checkCountRequest(body: unknown, state: CheckState): Checked<CountRequest> | { error: ApiError } {
  const shaped = CountRequest.safeParse(withoutBetaFields(body, state.beta));
  if (!shaped.success) return { error: apiError(400, describeShapeFault(shaped.error, body)) };
  return applyRules(shaped.data, state);
}

function applyRules<T extends CountRequest>(request: T, state: CheckState): Checked<T> | { error: ApiError } {
  const pieces = segments(request);
  for (const rule of RULES) {
    const fault = rule(request, state, pieces);
    if (fault !== undefined) return { error: typeof fault === 'string' ? apiError(400, fault) : fault };
  }
  return { request, pieces };
}

function withoutBetaFields(body: unknown, beta: boolean): unknown {
  if (!beta || typeof body !== 'object' || body === null) return body;
  return Object.fromEntries(Object.entries(body).filter(([key]) => !BETA_FIELDS.includes(key)));
}

function tooLong(message: string): ApiError {
  return { ...apiError(400, message), details: { error_code: 'prompt_too_long' } };
}

function checkBreakpoints(request: CountRequest): string | undefined {
  const marks: Array<'5m' | '1h'> = [];
  const collect = (pieces: ReadonlyArray<object>) => {
    for (const piece of pieces) {
      const { cache_control: mark, content } = piece as {
        cache_control?: { ttl?: '5m' | '1h' } | null;
        content?: unknown;
      };
      if (Array.isArray(content)) collect(content);
      if (mark) marks.push(mark.ttl ?? '5m');
    }
  };
  collect(request.tools ?? []);
  collect(request.system ?? []);
  collect(request.messages);
  if (request.cache_control) marks.push(request.cache_control.ttl ?? '5m');
  if (marks.length > 4) return `A maximum of 4 blocks with cache_control may be provided. Found ${marks.length}.`;
  const short = marks.indexOf('5m');
  if (short < 0 || marks.lastIndexOf('1h') < short) return undefined;
  return "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.";
}
