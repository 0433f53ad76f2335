import { z } from 'zod';

const Rate = z.number().nonnegative();
const Day = z.string().regex(/^\d{4}-\d{2}-\d{2}$/, 'expected a date such as 2026-10-07');

/**
 * US dollars per million tokens, which is the same number as micro-dollars per token. Cache rates that are not given
 * follow from `input`: a read costs a tenth of it, a write 1.25 times (kept 5 minutes) or twice (kept an hour).
 */
export const Rates = z.strictObject({
  input: Rate,
  output: Rate,
  cacheRead: Rate.optional(),
  cacheWrite5m: Rate.optional(),
  cacheWrite1h: Rate.optional(),
});
export type Rates = z.infer<typeof Rates>;

/** Rates for prompts of at most `upTo` tokens, cache reads and writes included; they hold for the whole request. */
export const Band = Rates.extend({ upTo: z.int().positive().optional() });
export type Band = z.infer<typeof Band>;

/** What a model costs from a day on (UTC, inclusive); without `from`, since ever. */
export const Price = z
  .strictObject({ from: Day.optional(), bands: z.array(Band).min(1) })
  .refine(
    ({ bands }) =>
      bands.every(({ upTo }, i) =>
        i === bands.length - 1 ? upTo === undefined : upTo !== undefined && upTo > (bands[i - 1]?.upTo ?? 0),
      ),
    'every band but the last needs upTo, in rising order, and the last has none',
  );
export type Price = z.infer<typeof Price>;

/** Prices that a user gives, by model: the rates of one band, or dated prices as in the table. */
export const PriceOverride = z.record(z.string().min(1), z.union([Rates, z.array(Price).min(1)]));
export type PriceOverride = z.infer<typeof PriceOverride>;

/** The prices that come with the program. `models` by id without a date suffix. */
export const PriceTable = z.strictObject({
  asOf: Day,
  source: z.string().min(1),
  models: z.record(z.string().min(1), z.array(Price).min(1)),
});
export type PriceTable = z.infer<typeof PriceTable>;
