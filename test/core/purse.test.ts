import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  costOfAttempt,
  fitMaxTokens,
  isLimited,
  LEAST_OUTPUT,
  shareOf,
  UNLIMITED,
  worstCase,
} from '../../src/core/purse.ts';
import { cost } from '../../src/core/prices.ts';
import type { Price } from '../../src/shapes/price.ts';

const price: Price = { bands: [{ input: 2, output: 10, cacheRead: 0.1, cacheWrite5m: 2.5, cacheWrite1h: 4 }] };
const sized = { requestBytes: 8_000, maxTokens: 32_000 };

describe('the worst case of a request', () => {
  it('is a prompt of two bytes a token, all new, and all its output', () => {
    expect(worstCase(sized, price)).toBe((4_000 + 1_000) * 2.5 + 32_000 * 10);
  });

  it('takes the dearer of sending and keeping', () => {
    const odd: Price = { bands: [{ input: 9, output: 0, cacheWrite5m: 1 }] };
    expect(worstCase(sized, odd)).toBe(5_000 * 9);
  });
});

describe('fitting a request into a purse', () => {
  it('leaves the output limit alone when it fits', () => {
    expect(fitMaxTokens(UNLIMITED, sized, price)).toEqual({ kind: 'fits', maxTokens: 32_000, worst: 332_500 });
  });

  it('lowers it to the last token that fits, never below the least useful one', () => {
    const bytes = fc.nat(100_000);
    const tokens = fc.integer({ min: 1, max: 64_000 });
    fc.assert(
      fc.property(fc.nat(400_000), bytes, tokens, (purse, requestBytes, maxTokens) => {
        const worstAt = (maxTokens: number): number => worstCase({ requestBytes, maxTokens }, price);
        const affordable =
          Array.from({ length: maxTokens }, (_, i) => i + 1).findLast((some) => worstAt(some) <= purse) ?? 0;
        const least = Math.min(LEAST_OUTPUT, maxTokens);
        expect(fitMaxTokens(purse, { requestBytes, maxTokens }, price)).toEqual(
          affordable < least
            ? { kind: 'over', need: worstAt(least) }
            : { kind: 'fits', maxTokens: affordable, worst: worstAt(affordable) },
        );
      }),
      { numRuns: 30 },
    );
  });

  it('lets everything pass without a price', () => {
    expect(fitMaxTokens(0, sized, undefined)).toEqual({ kind: 'fits', maxTokens: 32_000, worst: 0 });
  });

  it('tells a limited purse from one without a limit that has been spent from', () => {
    expect([isLimited(UNLIMITED - 10 ** 12), isLimited(10 ** 12)]).toEqual([false, true]);
  });
});

describe('the cost of an attempt', () => {
  const usage = { input: 1_000, output: 1, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };

  it('is nothing when it was refused', () => {
    expect(costOfAttempt({ end: 'refused', outputKnown: false }, sized, price)).toBe(0);
  });
  it('is all it could be when nobody saw its end', () => {
    expect(costOfAttempt({ outputKnown: false }, sized, price)).toBe(332_500);
  });
  it('is the prompt at most when no answer had begun', () => {
    expect(costOfAttempt({ end: 'unanswered', outputKnown: false }, sized, price)).toBe(12_500);
  });
  it('is the counted prompt and all output when it was cut', () => {
    expect(costOfAttempt({ usage, outputKnown: false }, sized, price)).toBe(2_000 + 320_000);
  });
  it('is what had come and a little more when that is known, and never more than was allowed', () => {
    expect(costOfAttempt({ usage, outputKnown: false, streamed: 3_000 }, sized, price)).toBe(2_000 + 3_500 * 10);
    expect(costOfAttempt({ usage, outputKnown: false, streamed: 900_000 }, sized, price)).toBe(2_000 + 320_000);
  });
  it('is exact when the API told the output', () => {
    expect(costOfAttempt({ usage: { ...usage, output: 7 }, outputKnown: true }, sized, price)).toBe(
      cost({ ...usage, output: 7 }, price),
    );
  });
});

describe('a purse that several spend from at once', () => {
  it('is never overspent by their shares', () => {
    fc.assert(
      fc.property(fc.nat(1_000_000), fc.integer({ min: 1, max: 50 }), (purse, sharers) => {
        expect(shareOf(purse, sharers) * sharers).toBeLessThanOrEqual(purse);
      }),
    );
    expect(shareOf(-5, 2)).toBe(0);
  });

  it('without a limit has none for each', () => {
    expect(isLimited(shareOf(UNLIMITED, 10))).toBe(false);
  });
});
