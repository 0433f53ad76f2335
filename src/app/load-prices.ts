import { readFileSync } from 'node:fs';
import { PriceTable } from '../shapes/price.ts';

/** The price table that comes with the program. */
export function loadPrices(): PriceTable {
  return PriceTable.parse(JSON.parse(readFileSync(new URL('./prices.json', import.meta.url), 'utf8')));
}
