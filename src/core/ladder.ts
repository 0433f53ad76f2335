import type { LadderStep } from '../shapes/ladder.ts';

/** A question as the ladder sees it. `rungs`: so many of its steps are done. */
type Waiting = { since: number; rungs?: number };

/** A step of the ladder for one question; `at` in milliseconds since the epoch, `n` counts from 0. */
export type Rung<P extends Waiting> = { prompt: P; n: number; step: LadderStep; at: number };

/** The step that comes first of all questions that wait; it may be due already. It depends on nothing but their age. */
export function nextRung<P extends Waiting>(ladder: readonly LadderStep[], prompts: readonly P[]): Rung<P> | undefined {
  let first: Rung<P> | undefined;
  for (const prompt of prompts) {
    const n = prompt.rungs ?? 0;
    const step = ladder[n];
    if (!step) continue;
    const at = prompt.since + step.afterMs;
    if (!first || at < first.at) first = { prompt, n, step, at };
  }
  return first;
}

/** When a question that nobody answers is over, in milliseconds since the epoch; `undefined`: never. */
export function endOfWait(ladder: readonly LadderStep[], prompt: Waiting): number | undefined {
  const last = ladder.find((step) => step.then !== undefined);
  return last && prompt.since + last.afterMs;
}
