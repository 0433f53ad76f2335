import type Anthropic from '@anthropic-ai/sdk';
import type { MessageCreateParamsStreaming } from '@anthropic-ai/sdk/resources/messages/messages';
import { accumulate, emptyReply, eventsOfBlock, type ReplyState, type StreamEvent } from '../core/reply.ts';

/** How reading a reply went. `fault`: why it stopped before its end. `answered`: the API had begun to answer. */
export type StreamEnd = { state: ReplyState; answered: boolean; fault?: StreamFault };
export type StreamFault =
  | { kind: 'cancelled' }
  | { kind: 'stalled' }
  /** The stream ended, or broke, without the end of the message. */
  | { kind: 'cut'; detail: string }
  /** The API said no, before the reply or in the middle of it, or could not be reached. */
  | { kind: 'error'; error: unknown };

export type StreamIo = {
  signal: AbortSignal;
  /** Silence after which the API is given up. Pings are a sign of life too, but not for ever: see `PATIENCE`. */
  stallMs: number;
  onActivity(): void;
  onText(text: string, thinking: boolean): void;
  /** Bytes of output that have come so far, now and then; `undefined` once there is output that is not shown. */
  onProgress(bytes: number | undefined): void;
  /** What is worth keeping of the reply so far: its head, each finished block, its end. */
  onRecord(events: StreamEvent[]): void;
};

/** So many times the silence that is allowed may pass with nothing but pings. */
const PATIENCE = 10;
/** After the end of the message only the end of the connection is waited for, and that not for long. */
const DRAIN_MS = 1_000;
/** The longest that a timer can wait: the SDK's own time limit is out of the way, silence is ours to judge. */
const NEVER_MS = 2 ** 31 - 1;

/** Sends one request, once, and reads its stream. Never throws for what the API or the network does. */
export async function readStream(
  client: Anthropic,
  body: MessageCreateParamsStreaming,
  io: StreamIo,
): Promise<StreamEnd> {
  const { Stream } = await import('@anthropic-ai/sdk/core/streaming');
  const abort = new AbortController();
  const watch = watchSilence(io, abort);
  let state = emptyReply;
  let answered = false;
  const measure = measureOutput(io);
  const stopped = (fault: StreamFault): StreamEnd => ({ state, answered, fault: watch.verdict() ?? fault });
  try {
    const options = { signal: abort.signal, timeout: NEVER_MS, maxRetries: 0 };
    const response = await client.messages.create(body, options).asResponse();
    if (!/^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')) {
      return stopped(await noStream(response));
    }
    watch.alive(false);
    for await (const { event, data } of Stream.rawEvents(response, abort)) {
      if (state.ended) continue;
      const isPing = event === 'ping' || data === '';
      watch.alive(isPing);
      if (isPing) continue;
      const parsed = parseEvent(data);
      if (!parsed) return stopped({ kind: 'cut', detail: 'the reply holds what is no JSON' });
      if (event === 'error' || parsed['type'] === 'error') {
        return stopped({ kind: 'error', error: { error: parsed, headers: response.headers } });
      }
      answered = true;
      state = accumulate(state, parsed);
      measure(parsed);
      take(state, parsed, io);
      if (state.ended) watch.drain();
    }
  } catch (error) {
    if (state.ended) return { state, answered };
    return stopped(
      answered ? { kind: 'cut', detail: `the connection broke (${messageOf(error)})` } : { kind: 'error', error },
    );
  } finally {
    watch.end();
  }
  return state.ended ? { state, answered } : stopped({ kind: 'cut', detail: 'the connection was closed' });
}

/** How often the record hears how much has come, in ms. */
const MEASURE_MS = 250;

/** Counts the output as it comes. Thinking may be billed for more than is shown of it. */
function measureOutput(io: StreamIo): (event: StreamEvent) => void {
  let bytes: number | undefined = 0;
  let told = -MEASURE_MS;
  return ({ type, delta, content_block: block }) => {
    const isThinking = isRecord(block) && String(block['type']).includes('thinking');
    if (isThinking) bytes = undefined;
    if (type === 'content_block_delta' && isRecord(delta) && bytes !== undefined) {
      const text = delta['text'] ?? delta['partial_json'];
      if (typeof text === 'string') bytes += Buffer.byteLength(text);
    }
    if (!isThinking && performance.now() - told < MEASURE_MS) return;
    told = performance.now();
    io.onProgress(bytes);
  };
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** Tells watchers and the record what an event brought. */
function take(state: ReplyState, event: StreamEvent, io: StreamIo): void {
  const { type, delta } = event;
  if (type === 'content_block_delta' && typeof delta === 'object' && delta !== null) {
    if ('text' in delta && typeof delta.text === 'string') io.onText(delta.text, false);
    if ('thinking' in delta && typeof delta.thinking === 'string') io.onText(delta.thinking, true);
  }
  if (type === 'content_block_stop') io.onRecord(eventsOfBlock(state, Number(event['index'])));
  else if (type === 'message_start' || type === 'message_delta' || type === 'message_stop') io.onRecord([event]);
}

/** Aborts the request when it is cancelled, or when nothing came for too long. */
function watchSilence(io: StreamIo, abort: AbortController) {
  let verdict: StreamFault | undefined;
  let timer: NodeJS.Timeout | undefined;
  let beats = 0;
  let lastContent = performance.now();

  const stop = (why: StreamFault): void => {
    verdict ??= why;
    abort.abort();
  };
  const cancel = (): void => stop({ kind: 'cancelled' });
  const listen = (ms: number): void => {
    clearTimeout(timer);
    // After a pause of this process the timer is due before what has come meanwhile is read: look once more.
    timer = setTimeout(() => {
      const seen = beats;
      setImmediate(() => setImmediate(() => seen === beats && stop({ kind: 'stalled' })));
    }, ms);
  };
  io.signal.addEventListener('abort', cancel, { once: true });
  if (io.signal.aborted) cancel();
  listen(io.stallMs);
  return {
    verdict: () => verdict,
    alive(isPing: boolean) {
      beats += 1;
      io.onActivity();
      listen(io.stallMs);
      const now = performance.now();
      if (!isPing) lastContent = now;
      else if (now - lastContent > PATIENCE * io.stallMs) stop({ kind: 'stalled' });
    },
    drain() {
      beats += 1;
      listen(DRAIN_MS);
    },
    end() {
      beats += 1;
      clearTimeout(timer);
      io.signal.removeEventListener('abort', cancel);
      abort.abort();
    },
  };
}

/** A 200 that is no stream: an error that lost its status on the way, or a page of something in between. */
async function noStream(response: Response): Promise<StreamFault> {
  const type = response.headers.get('content-type') ?? 'nothing';
  const body = parseEvent(await response.text());
  if (body?.['type'] === 'error') return { kind: 'error', error: { error: body, headers: response.headers } };
  const message = `200 with ${type} and no event stream; is ANTHROPIC_BASE_URL the address of a model API?`;
  return { kind: 'error', error: new Error(message) };
}

function parseEvent(data: string): StreamEvent | undefined {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as StreamEvent) : undefined;
  } catch {
    return undefined;
  }
}

function messageOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}
