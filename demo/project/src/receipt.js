import { format, split } from './money.js';

/** One line per guest, for a bill in cents. */
export function receipt(cents, guests) {
  return split(cents, guests.length).map((part, i) => `${guests[i]}: ${format(part)}`);
}
