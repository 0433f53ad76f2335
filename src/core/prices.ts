import type { Usage } from '../shapes/message.ts';
import type { Micros } from '../shapes/ids.ts';
import type { Band, Price, PriceOverride, PriceTable } from '../shapes/price.ts';

/**
 * The price of a model at a time (ms since the epoch): the user's own first, then the table's; undefined when nobody
 * knows it. An id that ends in a date (`-20261007`, `@20261007`) or in `-latest` has the price of the id before that.
 */
export function priceOf(model: string, at: number, table: PriceTable, override?: PriceOverride): Price | undefined {
  const day = new Date(at).toISOString().slice(0, 10);
  const plain = model.replace(/\[1m\]$/, '').replace(/[-@](\d{8}|latest)$/, '');
  for (const prices of [
    own(override, model),
    own(override, plain),
    own(table.models, model),
    own(table.models, plain),
  ]) {
    if (prices === undefined) continue;
    if (!Array.isArray(prices)) return { bands: [prices] };
    const price = latest(prices, day);
    if (price) return price;
  }
  return undefined;
}

/** What tokens cost, rounded up to a whole micro-dollar. */
export function cost(usage: Usage, price: Price): Micros {
  const prompt = usage.input + usage.cacheRead + usage.cacheWrite5m + usage.cacheWrite1h;
  const band = price.bands.find(({ upTo }) => upTo === undefined || prompt <= upTo) ?? price.bands.at(-1)!;
  const { input, output, cacheRead, cacheWrite5m, cacheWrite1h } = scaled(band);
  const sum =
    usage.input * input +
    usage.output * output +
    usage.cacheRead * cacheRead +
    usage.cacheWrite5m * cacheWrite5m +
    usage.cacheWrite1h * cacheWrite1h;
  return Math.ceil(sum / SCALE);
}

/** Rates as integers, so that sums of them are exact and rounding up never adds a micro-dollar out of nothing. */
const SCALE = 1_000_000;
function scaled(band: Band): Required<Omit<Band, 'upTo'>> {
  const { input, output } = band;
  const whole = (rate: number): number => Math.round(rate * SCALE);
  return {
    input: whole(input),
    output: whole(output),
    cacheRead: whole(band.cacheRead ?? input * 0.1),
    cacheWrite5m: whole(band.cacheWrite5m ?? input * 1.25),
    cacheWrite1h: whole(band.cacheWrite1h ?? input * 2),
  };
}

/** A model may be called `constructor`: only what was written down counts. */
function own<T>(record: Record<string, T> | undefined, key: string): T | undefined {
  return record && Object.hasOwn(record, key) ? record[key] : undefined;
}

function latest(prices: readonly Price[], day: string): Price | undefined {
  const begun = prices.filter(({ from }) => from === undefined || from <= day);
  return begun.sort((a, b) => ((a.from ?? '') < (b.from ?? '') ? 1 : -1))[0];
}
