/** One line of the table. Times in milliseconds unless the unit says otherwise. */
export type Figure = { name: string; value: string; target: string; n: number; values?: number[] };

export const quantile = (numbers: readonly number[], q: number): number => {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
};
export const median = (numbers: readonly number[]): number => quantile(numbers, 0.5);
export const mean = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0) / numbers.length;

/** A number for people: as many digits as mean something. */
export const round = (value: number): string =>
  value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : value.toFixed(0);

/** `min / median / max`, as most figures are given. */
export function spread(name: string, values: readonly number[], target: string, unit = 'ms'): Figure {
  const [min, middle, max] = [Math.min(...values), median(values), Math.max(...values)];
  return {
    name,
    value: `${round(min)} / ${round(middle)} / ${round(max)} ${unit}`,
    target,
    n: values.length,
    values: [...values],
  };
}

/** p50 and p95, for recoveries. */
export function tail(name: string, values: readonly number[], target: string): Figure {
  const value = `p50 ${round(quantile(values, 0.5))}, p95 ${round(quantile(values, 0.95))}, max ${round(Math.max(...values))} ms`;
  return { name, value, target, n: values.length, values: [...values] };
}
