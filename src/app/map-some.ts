/** Like `Promise.all` over a map, with at most `width` at once. */
export async function mapSome<T, R>(list: readonly T[], width: number, map: (entry: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const entries = list.entries();
  const lane = async (): Promise<void> => {
    for (const [n, entry] of entries) results[n] = await map(entry);
  };
  await Promise.all(Array.from({ length: width }, lane));
  return results;
}
