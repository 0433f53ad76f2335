import { z } from 'zod';

/** What a job may use. `budget` in micro-dollars, `deadline` in milliseconds since the epoch; absent means unlimited. */
export const Limits = z.object({
  turns: z.int().positive().optional(),
  steps: z.int().positive().optional(),
  budget: z.int().positive().optional(),
  deadline: z.int().positive().optional(),
  /** Calls of one batch that run at once. */
  concurrency: z.int().positive(),
  /** Identical calls in a row before the turn is stopped; 0 means unlimited. */
  sameCall: z.int().nonnegative().optional(),
  /** History events of one workflow run before it rolls over; for tests and large payloads. */
  events: z.int().positive().optional(),
});
export type Limits = z.infer<typeof Limits>;
