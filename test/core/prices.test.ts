import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadPrices } from '../../src/app/load-prices.ts';
import { cost, priceOf } from '../../src/core/prices.ts';
import { PriceOverride, PriceTable } from '../../src/shapes/price.ts';

const table = loadPrices();
const at = Date.parse('2026-11-30T12:00:00Z');
const none = { input: 0, output: 0, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };
const million = 1_000_000;

describe('the price of a model', () => {
  it('is known for every model in the table, under its dated and latest names too', () => {
    const ids = Object.keys(table.models).flatMap((model) =>
      ['', '-20261007', '@20261007', '-latest', '[1m]'].map((end) => model + end),
    );
    expect(ids.filter((id) => priceOf(id, at, table) === undefined)).toEqual([]);
  });

  it.each(['claude-opus-5-5-large', 'claude', '', 'gpt-5', 'constructor', '__proto__', 'claude-sonnet-5-5-2026'])(
    'is unknown for %s',
    (model) => expect(priceOf(model, at, table)).toBeUndefined(),
  );

  it('changes at midnight UTC of the day it says', () => {
    const read = { ...none, cacheRead: million };
    const before = priceOf('claude-sonnet-5-5', Date.parse('2026-10-06T23:59:59.999Z'), table)!;
    const after = priceOf('claude-sonnet-5-5', Date.parse('2026-10-07T00:00:00Z'), table)!;
    expect([cost(read, before), cost(read, after)]).toEqual([200_000, 100_000]);
  });

  it('is the one a user gives, before the table', () => {
    const override = PriceOverride.parse({
      'claude-opus-5-5': { input: 1, output: 2 },
      mine: [{ bands: [{ input: 9, output: 9 }] }, { from: '2030-01-01', bands: [{ input: 1, output: 1 }] }],
    });
    const all = { input: million, output: million, cacheRead: million, cacheWrite5m: million, cacheWrite1h: million };
    expect(cost(all, priceOf('claude-opus-5-5', at, table, override)!)).toBe((1 + 2 + 0.1 + 1.25 + 2) * million);
    expect(cost({ ...none, input: 1 }, priceOf('mine', at, table, override)!)).toBe(9);
    expect(priceOf('mine', Date.parse('2031-01-01'), table, override)?.from).toBe('2030-01-01');
  });

  it('is not known before the first day of its first entry', () => {
    const override = PriceOverride.parse({ mine: [{ from: '2030-01-01', bands: [{ input: 1, output: 1 }] }] });
    expect(priceOf('mine', at, table, override)).toBeUndefined();
  });
});

describe('the cost of tokens', () => {
  it('counts each kind at its rate', () => {
    const opus = priceOf('claude-opus-5-5', at, table)!;
    expect(cost({ input: 1, output: 10, cacheRead: 100, cacheWrite5m: 1_000, cacheWrite1h: 10_000 }, opus)).toBe(
      4 + 200 + 20 + 5_000 + 80_000,
    );
  });

  it('takes the band of the whole prompt for everything', () => {
    const haiku = priceOf('claude-haiku-5-5', at, table)!;
    const prompt = { ...none, input: 1, cacheRead: 99_999, output: 1_000 };
    expect(cost(prompt, haiku)).toBe(Math.ceil(0.1 + 999.99 + 500));
    expect(cost({ ...prompt, input: 2 }, haiku)).toBe(Math.ceil(1 + 4_999.95 + 2_500));
  });

  it('is whole, rounded up, and never a float of nothing more', () => {
    const haiku = priceOf('claude-haiku-5-5', at, table)!;
    expect(cost({ ...none, input: 30 }, haiku)).toBe(3);
    expect(cost({ ...none, input: 31 }, haiku)).toBe(4);
    const tokens = fc.nat(100_000);
    const usages = fc.record({
      input: tokens,
      output: tokens,
      cacheRead: tokens,
      cacheWrite5m: tokens,
      cacheWrite1h: tokens,
    });
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(table.models)), usages, (model, usage) => {
        const price = priceOf(model, at, table)!;
        const more = { ...usage, output: usage.output + 1 };
        expect(Number.isInteger(cost(usage, price))).toBe(true);
        expect(cost(more, price)).toBeGreaterThanOrEqual(cost(usage, price));
      }),
    );
  });
});

describe('a price table', () => {
  it('says when it was made and from what', () => {
    expect(table.asOf).toBe('2026-11-30');
    expect(table.source).toContain('Second-hand');
  });

  it.each([
    [
      'a band after the last',
      [
        { input: 1, output: 1 },
        { input: 1, output: 1 },
      ],
    ],
    ['a last band with an end', [{ upTo: 5, input: 1, output: 1 }]],
    [
      'falling bands',
      [
        { upTo: 9, input: 1, output: 1 },
        { upTo: 5, input: 1, output: 1 },
        { input: 1, output: 1 },
      ],
    ],
    ['a negative rate', [{ input: -1, output: 1 }]],
    ['an unknown rate', [{ input: 1, output: 1, cachedRead: 1 }]],
  ])('refuses %s', (_, bands) => {
    expect(PriceTable.safeParse({ asOf: '2026-11-30', source: 'x', models: { m: [{ bands }] } }).success).toBe(false);
  });
});
