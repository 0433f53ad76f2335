import { z } from 'zod';

/** Somebody to be told of a question: a shell command gets it as JSON on stdin, a webhook as its body. */
export const Notify = z.union([z.strictObject({ command: z.string().min(1) }), z.strictObject({ webhook: z.url() })]);
export type Notify = z.infer<typeof Notify>;

/** What becomes of a question that nobody answered: no, the job fails, or the model goes on without an answer. */
export const LadderEnd = z.enum(['deny', 'fail', 'continue-without']);
export type LadderEnd = z.infer<typeof LadderEnd>;

/** One step of what happens while a question waits; `afterMs` counts from the question. */
export const LadderStep = z.object({
  afterMs: z.int().nonnegative(),
  notify: z.array(Notify).optional(),
  then: LadderEnd.optional(),
});
export type LadderStep = z.infer<typeof LadderStep>;
