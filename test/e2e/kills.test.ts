import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CELLS } from '../chaos/cells.ts';
import { playCell } from '../chaos/round.ts';
import { openStage, type Stage, type Victim } from '../chaos/stage.ts';
import { faults } from '../chaos/verdict.ts';

// The short form of the chaos suite: each moment once, two at a time. `npm run chaos` plays all victims, and random times.

/** Rounds wait for a free stage, too. */
const LIMIT_MS = 240_000;
const STAGES = 2;
const SHORT: Record<string, readonly Victim[]> = {
  'model call: before the first byte': ['worker', 'server'],
  'model call: in its first words': ['worker', 'both'],
  'model call: one of two calls complete': ['worker'],
  'model call: model.after-reply': ['worker'],
  'model call: reply.after-append': ['server'],
  'Read: tool.before-result': ['worker'],
  'Bash: tool.owned': ['worker'],
  'Bash: tool.claimed': ['worker'],
  'Bash: running': ['server', 'both'],
  'Bash: such children, ended while dead': ['worker'],
  'Bash: tool.before-result': ['worker'],
  'Write: file.before-rename': ['worker'],
  'Write: tool.result-written': ['both'],
  'Edit: file.before-write': ['worker'],
  'Edit: file.after-write': ['worker'],
  'git commit: in its hook': ['worker'],
  'background: task.published': ['worker'],
  'background: ended while dead': ['both'],
  'question: answered while dead': ['both'],
  'question: tool.given-back': ['worker'],
  'between steps: seal.after-append': ['worker'],
  'roll-over: after a step': ['worker', 'server'],
  'cancel: shell.before-kill': ['worker'],
  'cancel: model.after-cancel': ['worker'],
  'cancel: asked while dead': ['both'],
  'end: close.before-record': ['worker'],
};

const free: Stage[] = [];
const waiting: ((stage: Stage) => void)[] = [];
const take = async (): Promise<Stage> => free.pop() ?? new Promise((resolve) => waiting.push(resolve));
const giveBack = (stage: Stage): void => {
  const next = waiting.shift();
  if (next) next(stage);
  else free.push(stage);
};

let stages: Stage[];
beforeAll(async () => {
  stages = await Promise.all(Array.from({ length: STAGES }, () => openStage()));
  free.push(...stages);
});
afterAll(() => Promise.all(stages.map((stage) => stage.close())));

describe.concurrent('a job that is killed', () => {
  const chosen = CELLS.flatMap((cell) => (SHORT[cell.name] ?? []).map((victim) => ({ cell, victim, at: cell.name })));

  it('is killed at every chosen moment', ({ expect }) => {
    expect(new Set(chosen.map(({ at }) => at))).toEqual(new Set(Object.keys(SHORT)));
  });

  it.each(chosen)(
    'by kill -9 of the $victim, $at, ends right with each effect once',
    { timeout: LIMIT_MS },
    async ({ cell, victim }) => {
      const stage = await take();
      try {
        expect(faults(await playCell(stage, cell, victim))).toEqual([]);
      } finally {
        giveBack(stage);
      }
    },
  );
});
