import { apiError, scriptError, type ApiError } from './api-error.ts';
import { checkCountRequest, checkRequest, type CheckState } from './check-request.ts';
import { readConversation, type Conversation } from './conversation.ts';
import { offsetOf, outputTokens, replyBody, replyFrames, type Frame, type ReplyUsage } from './frames.ts';
import { chooseStep, planScript, troubleOf, type Pace, type PlannedStep, type Trouble } from './plan.ts';
import { buildReply } from './reply.ts';
import type { LoggedRequest } from './request-log.ts';
import type { MessagesRequest } from './request.ts';
import type { Script } from './script.ts';
import type { Sending } from './send.ts';
import { ownThinking } from './signature.ts';
import { createPromptCache, prefixHash, tokensOf, type Segment } from './tokens.ts';

/** What the log should know of a request, as far as it was understood. */
type Known = Partial<Pick<LoggedRequest, 'job' | 'step' | 'attempt' | 'prefixHash' | 'usage'>>;

/** What to do with a request for a message. */
export type Answer = Known &
  (
    | { kind: 'error'; error: ApiError }
    | { kind: 'fail'; fail: Extract<Trouble, { kind: 'fail' }> }
    | { kind: 'send'; sending: Pick<Sending, 'frames' | 'contentType' | 'pace' | 'trouble'>; usage: ReplyUsage }
  );

/** The scripted model: decides what each request gets; only attempts and the prompt cache are remembered. */
export function createModel(script: Script, now: () => number) {
  const plan = planScript(script);
  const own = ownThinking(plan);
  const cache = createPromptCache(now);
  const attempts = new Map<string, number>();
  const stateFor = (body: unknown, beta: boolean): CheckState => ({
    limits: script,
    beta,
    paused: isPaused(body),
    ...own,
  });

  /** Whether the last assistant message answers with a step that paused, and so may be sent back as it is. */
  function isPaused(body: unknown): boolean {
    if (!endsWithAssistant(body)) return false;
    const shaped = checkRequest(body, { limits: script, beta: true, paused: true, ...own });
    if ('error' in shaped) return false;
    const conversation = readConversation(shaped.request);
    const before = chooseStep(plan, { ...conversation, past: conversation.past.slice(1) });
    return 'planned' in before && before.planned.step.stop_reason === 'pause_turn';
  }

  function count(body: unknown, beta: boolean): { input_tokens: number } | { error: ApiError } {
    const checked = checkCountRequest(body, stateFor(body, beta));
    if ('error' in checked) return checked;
    return { input_tokens: tokensOf(checked.pieces.at(-1)?.bytes ?? 0) };
  }

  function answer(body: unknown, beta: boolean): Answer {
    const checked = checkRequest(body, stateFor(body, beta));
    if ('error' in checked) return { kind: 'error', error: checked.error };
    const { request, pieces } = checked;
    const conversation = readConversation(request);
    const choice = chooseStep(plan, conversation);
    const seed = prefixHash(pieces);
    const key = JSON.stringify([choice.job, conversation.key, choice.index]);
    const attempt = (attempts.get(key) ?? 0) + 1;
    attempts.set(key, attempt);
    const known: Known = { step: choice.index, attempt, prefixHash: seed, ...(choice.job && { job: choice.job }) };
    if ('problem' in choice) return { ...known, kind: 'error', error: scriptError(choice.problem) };
    const trouble = troubleOf(choice.planned.step, attempt);
    const unmet = unmetExpectation(choice.planned, conversation);
    if (unmet) {
      const where = `step ${choice.index} of job ${JSON.stringify(choice.job)}`;
      return { ...known, kind: 'error', error: scriptError(`${where} ${unmet}`) };
    }
    if (trouble?.kind === 'fail') return { ...known, kind: 'fail', fail: trouble };
    return { ...known, ...reply(request, pieces, choice.planned, conversation, trouble) };
  }

  function reply(
    request: MessagesRequest,
    pieces: readonly Segment[],
    planned: PlannedStep,
    conversation: Conversation,
    trouble: Exclude<Trouble, { kind: 'fail' }> | undefined,
  ): Answer {
    const built = buildReply(planned, conversation, prefixHash(pieces));
    if ('problem' in built) return { kind: 'error', error: scriptError(built.problem) };
    const usage = withOverride(
      { ...cache.charge(request.model, pieces), output_tokens: outputTokens(built.reply) },
      planned.step.usage,
    );
    const streamed = request.stream === true;
    const frames: Frame[] = streamed
      ? replyFrames(built.reply, request.model, usage, planned.pace.chunk)
      : [{ bytes: replyBody(built.reply, request.model, usage), output: usage.output_tokens * 4 }];
    const at = trouble && placeOf(trouble, frames, streamed);
    if (at !== undefined && typeof at !== 'number') return { kind: 'error', error: scriptError(at.problem), usage };
    return {
      kind: 'send',
      usage,
      sending: {
        frames,
        contentType: streamed ? 'text/event-stream; charset=utf-8' : 'application/json',
        pace: streamed ? planned.pace : unstreamed(planned.pace),
        ...(trouble && at !== undefined && { trouble: { at, what: trouble } }),
      },
    };
  }

  return { answer, count };
}

function endsWithAssistant(body: unknown): boolean {
  const messages: unknown = typeof body === 'object' && body !== null && 'messages' in body ? body.messages : undefined;
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined;
  return typeof last === 'object' && last !== null && 'role' in last && last.role === 'assistant';
}

function unmetExpectation({ expect }: PlannedStep, { newest }: Conversation): string | undefined {
  const text = newest.join('\n');
  const unmet = expect.find(({ fits }) => !fits(text));
  if (!unmet) return undefined;
  return `expected ${unmet.written} in the newest results, but they are ${JSON.stringify(text.slice(0, 500))}`;
}

/** An unstreamed reply takes the whole time before its first byte. */
function unstreamed(pace: Pace): Pace {
  return { delay: pace.delay + pace.duration, duration: 0, chunk: pace.chunk };
}

function placeOf(
  trouble: Exclude<Trouble, { kind: 'fail' }>,
  frames: readonly Frame[],
  streamed: boolean,
): number | { problem: string } {
  const { after } = trouble;
  const count = after.at === 'block' ? after.index : 'count' in after ? after.count : '';
  const written = `${trouble.kind} after ${after.at} ${count}`.trim();
  if (!streamed && (after.at === 'events' || after.at === 'block' || trouble.kind === 'error')) {
    return { problem: `${written} needs a streamed reply, but the request has no "stream": true` };
  }
  return offsetOf(after, frames) ?? { problem: `${written} is never reached: the reply ends before it` };
}

function withOverride(usage: ReplyUsage, override: PlannedStep['step']['usage']): ReplyUsage {
  const created = override?.cache_creation_input_tokens;
  const split =
    created === undefined
      ? {}
      : { cache_creation: { ephemeral_5m_input_tokens: created, ephemeral_1h_input_tokens: 0 } };
  const given = Object.fromEntries(Object.entries(override ?? {}).filter(([, value]) => value !== undefined));
  return { ...usage, ...split, ...given };
}

/** The answer to a body that is not JSON or holds broken characters, or the parsed value. */
export function parseBody(bytes: Uint8Array): { body: object } | { error: ApiError } {
  const invalid = (why: string) => ({ error: apiError(400, `The request body is not valid JSON: ${why}`) });
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return invalid('it is not valid UTF-8');
  }
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    return invalid(error instanceof Error ? error.message : String(error));
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return invalid('it is not an object');
  // A lone surrogate can only come in as an escape, so that most bodies need no walk.
  if (/\\ud[89a-f]/i.test(text) && hasLoneSurrogate(body)) return invalid('a string holds half of a surrogate pair');
  return { body };
}

function hasLoneSurrogate(value: unknown): boolean {
  if (typeof value === 'string') return /\p{Surrogate}/u.test(value);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, entry]) => hasLoneSurrogate(key) || hasLoneSurrogate(entry));
}
