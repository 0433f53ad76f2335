import { z } from 'zod';
import { defineTool } from './define.ts';
import { numberText } from './text.ts';

const MAX_SECONDS = 28 * 24 * 60 * 60;

const SleepInput = z.strictObject({
  seconds: z.number().positive().max(MAX_SECONDS).describe(`How long to wait, at most ${MAX_SECONDS} (28 days).`),
});
type SleepInput = z.infer<typeof SleepInput>;

const description = `Waits for a number of seconds, then goes on.
- Use it instead of \`sleep\` in Bash to wait for something outside: it holds no process, costs nothing, and survives a restart.
- After it, look again at what you waited for: time alone proves nothing.`;

/** Waits on a durable timer. */
export const sleep = defineTool<SleepInput>({
  name: 'Sleep',
  description,
  input: SleepInput,
  interrupt: 'cancel',
  runs: 'anywhere',
  brief: (input) => secondsText(input.seconds),
  access: () => ({ kind: 'none' }),
  effect: (input) => ({ kind: 'sleep', ms: Math.max(1, Math.round(input.seconds * 1000)) }),
  afterEffect: (input, outcome) =>
    outcome.ok
      ? { content: `Waited ${secondsText(input.seconds)}.` }
      : {
          content: `The wait of ${secondsText(input.seconds)} ended early: ${outcome.text ?? 'no reason was given'}.`,
          isError: true,
        },
});

function secondsText(seconds: number): string {
  return `${numberText(seconds)} s`;
}
