import type { JobState, JobWhy } from '../shapes/job.ts';
import type { Limits } from '../shapes/limits.ts';

const limits = ['turns', 'steps', 'usd', 'deadline'] as const;
type Limit = (typeof limits)[number];

/** Whether a job that ended for this reason ended at a limit, which a person may raise. */
export const isLimit = (why: JobWhy | undefined): why is Limit => limits.some((limit) => limit === why);

/** The limit that forbids the job to go on now; `now` in milliseconds since the epoch. */
export function limitOf(
  s: Pick<JobState, 'limits' | 'turn' | 'turnOpen' | 'steps' | 'spent'>,
  now: number,
): Limit | undefined {
  const { turns, steps, budget, deadline } = s.limits;
  if (turns !== undefined && !s.turnOpen && s.turn >= turns) return 'turns';
  if (steps !== undefined && s.steps >= steps) return 'steps';
  if (budget !== undefined && s.spent >= budget) return 'usd';
  if (deadline !== undefined && now >= deadline) return 'deadline';
  return undefined;
}

/** The limits of the next run of a turn whose state has `step` steps: its `steps` counts from the turn's first. */
export function remaining(s: Pick<JobState, 'limits' | 'steps'>, step: number): Limits {
  return s.limits.steps === undefined ? s.limits : { ...s.limits, steps: s.limits.steps - s.steps + step };
}
