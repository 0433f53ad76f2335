import { priceOf } from '../core/prices.ts';
import { loadPrices } from './load-prices.ts';

/** Whether the price of a model is known today, which a budget in dollars needs. */
export function isPriced(model: string): boolean {
  return priceOf(model, Date.now(), loadPrices()) !== undefined;
}
