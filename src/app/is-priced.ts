import { priceOf } from '../core/prices.ts';
import type { PriceOverride } from '../shapes/price.ts';
import { loadPrices } from './load-prices.ts';

/** Whether the price of a model is known today, from the table or from the user, which a budget in dollars needs. */
export function isPriced(model: string, own?: PriceOverride): boolean {
  return priceOf(model, Date.now(), loadPrices(), own) !== undefined;
}
