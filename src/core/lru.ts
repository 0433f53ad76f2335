/** A map that forgets what was not used for longest once its entries weigh more than `limit`. */
export interface Lru<V> {
  get(key: string): V | undefined;
  /** An entry heavier than an eighth of the limit is not kept, so that one giant never empties the rest. */
  set(key: string, value: V, weight: number): void;
  delete(key: string): void;
}

export function createLru<V>(limit: number): Lru<V> {
  const entries = new Map<string, { value: V; weight: number }>();
  let total = 0;

  const remove = (key: string): void => {
    total -= entries.get(key)?.weight ?? 0;
    entries.delete(key);
  };
  return {
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      entries.set(key, entry);
      return entry.value;
    },
    set(key, value, weight) {
      remove(key);
      if (weight > limit / 8) return;
      entries.set(key, { value, weight });
      total += weight;
      for (const oldest of entries.keys()) {
        if (total <= limit) break;
        remove(oldest);
      }
    },
    delete: remove,
  };
}
