import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { ModelClient, ModelIo, ModelOutcome } from '../core/ports.ts';
import { cost, priceOf } from '../core/prices.ts';
import { fitMaxTokens, isLimited, worstCase } from '../core/purse.ts';
import { keepable } from '../core/reply.ts';
import type { ModelRequest, Reply } from '../shapes/model.ts';
import { PriceOverride, type PriceTable } from '../shapes/price.ts';
import { createSdkClient, readAccess, type ModelAccess } from './model-access.ts';
import { retryAt, scrub, troubleOf, type Trouble } from './model-errors.ts';
import { modelRequestBody } from './model-request.ts';
import { readStream, type StreamEnd } from './model-stream.ts';
import { openSpool, type Spool } from './spool.ts';

export type ModelClientOptions = {
  /** Where `ANTHROPIC_API_KEY`, `ANTHROPIC_AUTH_TOKEN` and `ANTHROPIC_BASE_URL` are read, anew for each request. */
  env(): Record<string, string | undefined>;
  prices: PriceTable;
  /** Silence of the API after which a request is given up. */
  stallMs?: number;
  /** Milliseconds since the epoch. */
  now?: () => number;
  fetch?: typeof fetch;
};

/** An outcome whose cost is not counted yet. */
type Uncounted<O = ModelOutcome> = O extends unknown ? Omit<O, 'spent'> : never;

/**
 * The Messages API through its SDK, with a spool on disk so that a reply is never paid twice.
 *
 * One call of `request` sends one request at most and repeats nothing: trouble comes back as `wait`. It sends none when
 * the spool holds a reply to the very same request, or the blocks of a dead attempt at it with a complete call in them.
 * A reply that reached the output limit before it said anything comes back with no content.
 *
 * What counts as spent: each attempt of a spool once, over all its outcomes. An outcome reports what those attempts cost
 * that no earlier asking has reported; a repeat of the same asking, whose completion was lost, reports the same again.
 * Askings are told apart by `io.asking`. Without it a repeat can't be told from the next asking, so `wait` reports
 * nothing and leaves it to the outcome that ends the spool, after which that spool must not be asked again.
 *
 * @throws StoreError when an attempt can't be written down; no request was sent then.
 */
export function createModelClient(options: ModelClientOptions): ModelClient {
  const running = new Map<string, Promise<ModelOutcome>>();
  return {
    async request(request, io) {
      // An attempt that was given up for dead may still be reading in this process: it ends first, and its reply counts.
      for (let other = running.get(io.spool); other && !io.signal.aborted; other = running.get(io.spool)) {
        await settledOrAborted(other, io.signal);
      }
      const mine = requestOnce(request, io, options);
      running.set(io.spool, mine);
      try {
        return await mine;
      } finally {
        if (running.get(io.spool) === mine) running.delete(io.spool);
      }
    },
    async costOfLost(spool, asking) {
      return (await openSpool(spool)).tell(asking);
    },
    cost(model, usage, at, prices) {
      const price = priceOf(model, at, options.prices, PriceOverride.safeParse(prices ?? {}).data);
      return price && cost(usage, price);
    },
  };
}

async function requestOnce(request: ModelRequest, io: ModelIo, options: ModelClientOptions): Promise<ModelOutcome> {
  const spool = await openSpool(io.spool);
  const body = JSON.stringify(modelRequestBody(request));
  const asked = createHash('sha256').update(body).digest('hex');
  const kept = await spool.kept(asked);
  const outcome: Uncounted = kept
    ? { kind: 'reply', reply: kept, fromSpool: true }
    : await ask({ spool, request, asked, requestBytes: Buffer.byteLength(body) }, io, options);
  const later = outcome.kind === 'wait' && io.asking === undefined;
  return { ...outcome, spent: later ? 0 : await spool.tell(io.asking) };
}

type Asking = { spool: Spool; request: ModelRequest; asked: string; requestBytes: number };

/** Sends the request if there is a key, a price and enough money for it. */
async function ask(asking: Asking, io: ModelIo, options: ModelClientOptions): Promise<Uncounted> {
  const { spool, request, asked, requestBytes } = asking;
  const { now = Date.now, stallMs = 90_000 } = options;
  if (io.signal.aborted) return { kind: 'cancelled' };
  const access = readAccess(options.env());
  if ('problem' in access) return { kind: 'wait', why: 'credentials', until: null, text: access.problem };
  const override = PriceOverride.safeParse(io.prices ?? {});
  if (!override.success) return { kind: 'failed', error: wrongPrices(override.error.issues[0]) };
  const at = now();
  const price = priceOf(request.model, at, options.prices, override.data);
  if (!price && isLimited(io.purse)) return { kind: 'failed', error: noPrice(request.model) };

  const wanted = { requestBytes, maxTokens: request.maxTokens };
  const owed = await spool.owed(io.asking);
  const fit = fitMaxTokens(io.purse - owed, wanted, price);
  if (fit.kind === 'over') return { kind: 'over_budget', need: owed + fit.need };

  const { maxTokens, worst } = fit;
  const client = await createSdkClient(access, options.fetch);
  const attempt = await spool.begin({ requestBytes, maxTokens, at, model: request.model, asked, worst, price });
  io.onAttempt(spool.attempts);
  const ended = await readStream(client, modelRequestBody({ ...request, maxTokens }), {
    signal: io.signal,
    stallMs,
    onActivity: () => io.onActivity(),
    onText: (text, thinking) => io.onText(text, thinking),
    onRecord: (events) => attempt.record(events),
    onProgress: (bytes) => attempt.progress(bytes),
  });
  const lowered = maxTokens < request.maxTokens;
  const reply = keepable(ended.state) ?? (lowered ? undefined : thoughtOnly(ended));
  if (reply) {
    const sealed = await attempt.seal(reply);
    return { kind: 'reply', reply: sealed, fromSpool: sealed !== reply };
  }
  const trouble = troubleOfEnd(ended, { access, stallMs, now: now() });
  attempt.end(howItEnded(ended, trouble));
  if (ended.fault?.kind === 'cancelled') return { kind: 'cancelled' };
  if (lowered && price && thoughtOnly(ended)) {
    return { kind: 'over_budget', need: (await spool.owed(io.asking)) + worstCase(wanted, price) };
  }
  switch (trouble.kind) {
    case 'failed':
      return { kind: 'failed', error: trouble.error };
    case 'too_long':
      return { kind: 'too_long', text: trouble.text };
    case 'wait': {
      const until = retryAt(trouble, spool.attempts, diceOf(attempt.nonce), now());
      return { kind: 'wait', why: trouble.why, until, text: trouble.text };
    }
  }
}

/** A reply that reached the output limit before it said anything: nothing of it can be kept, and it is paid. */
function thoughtOnly({ state }: StreamEnd): Reply | undefined {
  const { ended, stop, usage, model } = state;
  return ended && usage && stop === 'max_tokens' ? { content: [], stop, usage, model } : undefined;
}

/** What it means that a request left no reply. */
function troubleOfEnd({ state, fault }: StreamEnd, at: { access: ModelAccess; stallMs: number; now: number }): Trouble {
  const { baseUrl, secrets } = at.access;
  const again = (text: string): Trouble => ({ refused: false, kind: 'wait', why: 'api', text: scrub(text, secrets) });
  switch (fault?.kind) {
    case 'error':
      return troubleOf(fault.error, { now: at.now, baseUrl, secrets });
    case 'stalled':
      return again(`the model API has said nothing for ${at.stallMs / 1000} s, or nothing but pings for long`);
    case 'cut':
      return again(`the reply broke off: ${fault.detail}`);
    case 'cancelled':
      return again('cancelled');
    case undefined:
      break;
  }
  if (state.stop === 'model_context_window_exceeded') {
    return {
      refused: false,
      kind: 'too_long',
      text: 'the conversation left no room for a reply in the context window',
    };
  }
  return again('the reply holds a call whose input is no JSON object');
}

/** How an attempt ended, as far as it matters for its cost. */
function howItEnded({ state, answered }: StreamEnd, { refused }: Trouble): 'refused' | 'unanswered' | undefined {
  if (state.usage) return undefined;
  if (refused) return 'refused';
  return answered ? undefined : 'unanswered';
}

function noPrice(model: string): string {
  return `no price is known for ${model}, so a money limit can't be kept; give its price in the settings, or leave out the limit`;
}

function wrongPrices(issue: { path: PropertyKey[]; message: string } | undefined): string {
  return `the job's prices can't be read at ${issue?.path.map(String).join('.') ?? '?'}: ${issue?.message ?? '?'}`;
}

/** 0 to 1, always the same for the same text. */
function diceOf(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0) / 2 ** 32;
}

async function settledOrAborted(promise: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const done = new AbortController();
  const aborted = once(signal, 'abort', { signal: done.signal }).catch(() => {});
  await Promise.race([promise.catch(() => {}), aborted]);
  done.abort();
}
