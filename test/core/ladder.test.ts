import { describe, expect, it } from 'vitest';
import { endOfWait, nextRung } from '../../src/core/ladder.ts';

const ladder = [
  { afterMs: 0, notify: [{ command: 'a' }] },
  { afterMs: 1_800 },
  { afterMs: 14_400, then: 'deny' as const },
];

describe('the ladder', () => {
  it('gives the step that comes first of all questions', () => {
    const old = { id: 'old', since: 1_000, rungs: 1 };
    const young = { id: 'young', since: 2_500 };
    expect(nextRung(ladder, [old, young])).toMatchObject({ prompt: young, n: 0, at: 2_500 });
    expect(nextRung(ladder, [old, { ...young, rungs: 1 }])).toMatchObject({ prompt: old, n: 1, at: 2_800 });
  });

  it('goes on by the age of a question, however long nobody looked', () => {
    const week = { since: 0, rungs: 0 };
    const fired = [0, 1, 2].map((rungs) => nextRung(ladder, [{ ...week, rungs }])?.n);
    expect(fired).toEqual([0, 1, 2]);
    expect(nextRung(ladder, [{ ...week, rungs: 3 }])).toBeUndefined();
  });

  it('of two steps due at once takes the older question first', () => {
    expect(nextRung(ladder, [{ since: 5 }, { since: 5, rungs: 0 }])?.prompt).toEqual({ since: 5 });
  });

  it('ends a question where it says so, and else never', () => {
    expect(endOfWait(ladder, { since: 1_000 })).toBe(15_400);
    expect(endOfWait(ladder.slice(0, 2), { since: 1_000 })).toBeUndefined();
    expect(nextRung([], [{ since: 1 }])).toBeUndefined();
  });
});
