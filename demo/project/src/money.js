/** Splits an amount in cents into `n` parts that differ by at most one cent and add up to it. */
export function split(cents, n) {
  const part = Math.floor(cents / n);
  return Array.from({ length: n }, () => part);
}

/** 1234 -> "12.34" */
export function format(cents) {
  return `${Math.floor(cents / 100)}.${cents % 100}`;
}
