/** Calls that may run together, or one call alone. */
export type Batch<C> = { safe: boolean; calls: C[] };

/** Groups calls in their order: neighbours that are all safe form one batch, any other call is a batch of its own. */
export function partition<C extends { safe: boolean }>(calls: readonly C[]): Batch<C>[] {
  const batches: Batch<C>[] = [];
  for (const call of calls) {
    const last = batches.at(-1);
    if (call.safe && last?.safe) last.calls.push(call);
    else batches.push({ safe: call.safe, calls: [call] });
  }
  return batches;
}
