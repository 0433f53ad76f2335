import type { Usage } from '../shapes/message.ts';
import type { Micros } from '../shapes/ids.ts';
import type { Price } from '../shapes/price.ts';
import { cost } from './prices.ts';

/** Output tokens below which a request is not worth sending: a reply cut that short can't hold a call. */
export const LEAST_OUTPUT = 1_024;

/** The purse of a job without a money limit; what a turn spends is taken from it, so anything near it is unlimited too. */
export const UNLIMITED: Micros = Number.MAX_SAFE_INTEGER;
export const isLimited = (purse: Micros): boolean => purse < UNLIMITED / 2;

/** What each of so many may spend who spend at once. */
export const shareOf = (purse: Micros, sharers: number): Micros =>
  isLimited(purse) ? Math.max(0, Math.floor(purse / sharers)) : purse;

/** Prompt tokens that the API adds by itself, such as its own instructions for tool use. */
const HIDDEN_TOKENS = 1_000;
/** Bytes of a request behind one token at least; prose and code have 3 to 4, hex and base64 about 2. */
const BYTES_PER_TOKEN = 2;

/** A request as far as its price goes: bytes of its JSON body, output tokens at most. */
export type Sized = { requestBytes: number; maxTokens: number };

/** The usage that costs most for a request of that size: nothing read from the cache, all of it written, all output used. */
export function worstUsage({ requestBytes, maxTokens }: Sized): Usage {
  const prompt = Math.ceil(requestBytes / BYTES_PER_TOKEN) + HIDDEN_TOKENS;
  return { input: 0, output: maxTokens, cacheRead: 0, cacheWrite5m: prompt, cacheWrite1h: 0 };
}

/** What a request may cost at most: as if its whole prompt were new, whichever is dearer to send or to keep. */
export function worstCase(sized: Sized, price: Price): Micros {
  const written = worstUsage(sized);
  const sent = { ...written, input: written.cacheWrite5m, cacheWrite5m: 0 };
  return Math.max(cost(written, price), cost(sent, price));
}

/**
 * Lowers the output limit of a request until its worst case fits the purse. `over`: it does not fit even with the least
 * useful output; `need` is what that would take. Without a price everything fits.
 */
export function fitMaxTokens(
  purse: Micros,
  sized: Sized,
  price: Price | undefined,
): { kind: 'fits'; maxTokens: number; worst: Micros } | { kind: 'over'; need: Micros } {
  if (!price) return { kind: 'fits', maxTokens: sized.maxTokens, worst: 0 };
  const worstAt = (maxTokens: number): Micros => worstCase({ ...sized, maxTokens }, price);
  const least = Math.min(LEAST_OUTPUT, sized.maxTokens);
  if (worstAt(least) > purse) return { kind: 'over', need: worstAt(least) };
  let fits = least;
  for (let above = sized.maxTokens + 1; above - fits > 1;) {
    const middle = Math.floor((fits + above) / 2);
    if (worstAt(middle) <= purse) fits = middle;
    else above = middle;
  }
  return { kind: 'fits', maxTokens: fits, worst: worstAt(fits) };
}

/**
 * How far an attempt is known to have got. `end`: it was seen to end without a reply, because the API turned it down or
 * never had it (`refused`), or before any answer had begun (`unanswered`). Absent: nobody saw its end, or it was answered.
 */
export type Progress = {
  end?: 'refused' | 'unanswered' | undefined;
  usage?: Usage | undefined;
  outputKnown: boolean;
  /** Bytes of output that had come; absent: nobody can tell how much there was. */
  streamed?: number | undefined;
};

/** Output tokens that the API may have made of a reply after the last that was seen to come. */
const UNSEEN_TOKENS = 2_000;

/**
 * What an attempt costs, never less than what the API can have counted: nothing when it was refused; else the prompt as
 * the API counted it, or its worst case; and all output that was allowed, unless the API told how much there was, or it
 * is known how far the stream had come.
 */
export function costOfAttempt(
  { end, usage, outputKnown, streamed }: Progress,
  sized: Sized,
  price: Price | undefined,
): Micros {
  if (end === 'refused' || !price) return 0;
  if (usage) {
    const come = streamed === undefined ? Infinity : Math.ceil(streamed / BYTES_PER_TOKEN) + UNSEEN_TOKENS;
    const output = outputKnown ? usage.output : Math.max(usage.output, Math.min(sized.maxTokens, come));
    return cost({ ...usage, output }, price);
  }
  return worstCase(end === 'unanswered' ? { ...sized, maxTokens: 0 } : sized, price);
}
