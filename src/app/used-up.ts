import type { limitOf } from '../core/limits.ts';
import { dollars, many } from './text.ts';

/** What a job has used of its limits. Money in micro-dollars. */
export type Used = { turn: number; steps: number; spent: number };

/** What of a job is used up when it can't go on because of this limit. */
export function usedUp(limit: NonNullable<ReturnType<typeof limitOf>>, { turn, steps, spent }: Used): string {
  switch (limit) {
    case 'turns':
      return `it has used ${many(turn, 'turn')}`;
    case 'steps':
      return `it has used ${many(steps, 'step')}`;
    case 'usd':
      return `it has spent ${dollars(spent)}`;
    case 'deadline':
      return 'its deadline has passed';
  }
}
