/** After this long without a crash the next one counts as the first, in ms: about as long as the longest pause. */
export const HEALTHY_AFTER = 5_000;
const FIRST = 100;
const LONGEST = 5000;

/** How long to wait before the start that follows the nth crash in a row (from 1): 100 ms, doubling up to 5 s. */
export function backoff(crashes: number): number {
  return Math.min(FIRST * 2 ** Math.min(crashes - 1, 16), LONGEST);
}
