import { z } from 'zod';
import type { CallId } from './ids.ts';
import { Sha } from './ids.ts';

/** A permission request as the call's pass makes it. `key` names call and input, so that telling it twice is telling it once. */
export type Prompt = {
  key: string;
  call: CallId;
  /** Workflow id of the turn that waits. */
  asker: string;
  inputHash: Sha;
  tool: string;
  brief: string;
  /** Blob: `PromptBody`. */
  body: Sha;
  /** Milliseconds since the epoch. */
  since: number;
};

/** What a person needs to decide. */
export type PromptBody = {
  tool: string;
  input: unknown;
  reason: string;
  suggestions: string[];
  cwd: string;
  /** The job's start folder, which the paths of suggested rules are anchored to. */
  root: string;
};

/** A prompt in the job's hands; `id` is `<job>:<n>`, n in the order of asking. */
/** `rungs`: steps of the ladder that it has behind it. */
export type OpenPrompt = Prompt & { id: string; rungs?: number };

/** A person's answer. */
export const Answer = z.object({
  id: z.string(),
  behavior: z.enum(['allow', 'deny', 'allow-always']),
  /** Told to the model. */
  message: z.string().optional(),
  /** Blob of an edited input. */
  input: Sha.optional(),
  /** With deny: end the turn. */
  interrupt: z.boolean().optional(),
  save: z.boolean().optional(),
  by: z.string().optional(),
  /** Nobody answered in time, and this is what the ladder says to it. */
  unanswered: z.enum(['deny', 'continue-without']).optional(),
  /** Rules that `allow-always` adds; the prompt's suggestions when absent. */
  rules: z.array(z.string()).optional(),
});
export type Answer = z.infer<typeof Answer>;

/** What became of an answer. `used: false` means somebody had answered before. */
export type AnswerRecord = { id: string; behavior: Answer['behavior']; used: boolean; by?: string; at: number };
