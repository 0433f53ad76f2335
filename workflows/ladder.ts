import { condition, isCancellation, log } from '@temporalio/workflow';
import { nextRung, type Rung } from '../src/core/ladder.ts';
import type { JobState } from '../src/shapes/job.ts';
import type { LadderEnd } from '../src/shapes/ladder.ts';
import type { OpenPrompt } from '../src/shapes/prompt.ts';
import { tellPeople } from './steps.ts';

/**
 * Takes each question that waits up the ladder, step by step: people are told of it, at last it is over. All is computed
 * from the age of the questions, with one timer for the step that comes first. Ends with the job.
 */
export async function climb(
  s: JobState,
  { changes, over }: { changes: () => number; over: (prompt: OpenPrompt, then: LadderEnd) => void },
): Promise<void> {
  const { ladder = [] } = s;
  if (ladder.length === 0) return;
  try {
    while (true) {
      const before = changes();
      const changed = (): boolean => changes() !== before;
      const rung = nextRung(ladder, s.prompts);
      const ms = rung && rung.at - Date.now();
      if (ms === undefined) await condition(changed);
      else if (ms > 0) await condition(changed, ms);
      else take(rung!);
    }
  } catch (error) {
    if (!isCancellation(error)) throw error;
  }

  function take({ prompt, n, step }: Rung<OpenPrompt>): void {
    prompt.rungs = n + 1;
    if (step.notify && step.notify.length > 0) {
      tellPeople({ agent: s.agent, prompt, rung: n, notify: step.notify }).catch((error: unknown) =>
        log.warn('people were not told', { error: String(error) }),
      );
    }
    if (step.then) over(prompt, step.then);
  }
}
