import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Script } from '../../src/app/model-server/script.ts';
import type { JobConfig } from '../../src/shapes/job.ts';
import { type Rig, RULES } from '../support/rig.ts';

/** A kind of job whose histories are kept: its script, and what is done to it from outside. Its name is the job's id. */
export type Scenario = {
  steps: NonNullable<Script['steps']>;
  config?: (dir: string) => Partial<JobConfig>;
  drive?: (r: Rig, id: string) => Promise<unknown>;
};

const bash = (command: string, more: object = {}) => ({ name: 'Bash', input: { command, ...more } });
const read = (file: string) => ({ name: 'Read', input: { file_path: `{{prompt | match /in (\\S+)/}}/${file}` } });
const free = (dir: string): Partial<JobConfig> => ({
  rules: { ...RULES, allow: [{ text: 'Bash', tool: 'Bash', source: { kind: 'cli', base: dir } }] },
});
const begun = (r: Rig, id: string): Promise<unknown> => r.event(id, 'call.decided');
const idle = async (r: Rig, id: string): Promise<void> => {
  for (;;) if ((await r.client.settle(id, AbortSignal.timeout(60_000))).status === 'idle') return;
};

/** Files that the scenarios read. */
export function furnish(dir: string): void {
  for (const n of [1, 2, 3]) writeFileSync(join(dir, `${n}.txt`), `the text of file ${n}\n`);
  for (const name of ['fifo-1', 'fifo-2']) execFileSync('mkfifo', [join(dir, name)]);
}

export const scenarios: Record<string, Scenario> = {
  'one-tool': { steps: [{ calls: [bash('echo one')] }, { text: 'one' }], config: free },
  'parallel-batch': {
    steps: [{ calls: [read('1.txt'), read('2.txt'), read('3.txt'), bash('echo four')] }, { text: 'four' }],
    config: free,
  },
  'sibling-abort': {
    steps: [
      { calls: [bash('cat fifo-1'), bash('cat missing.txt'), bash('cat fifo-2')] },
      { text: 'one of them failed' },
    ],
    config: free,
  },
  question: {
    steps: [{ calls: [bash('touch asked')] }, { calls: [bash('touch asked')] }, { text: 'asked once' }],
    async drive(r, id) {
      const { id: prompt } = await r.event(id, 'prompt.opened');
      await r.client.signal(id, 'answerPermission', { id: prompt, behavior: 'allow-always', by: 'somebody' });
    },
  },
  'roll-over': {
    steps: [{ repeat: 12, calls: [bash('echo {{n}} >> rolled.txt')] }, { text: 'rolled over' }],
    config: (dir) => ({ ...free(dir), limits: { concurrency: 10, events: 60 } }),
  },
  cancel: {
    steps: [{ calls: [bash('sleep 1000')] }, { text: 'never' }],
    config: free,
    async drive(r, id) {
      await begun(r, id);
      await r.client.cancel(id);
    },
  },
  wait: {
    steps: [{ fail: [{ status: 429, retry_after: 3 }], text: 'after a wait' }],
  },
  sleep: { steps: [{ calls: [{ name: 'Sleep', input: { seconds: 1 } }] }, { text: 'awake' }] },
  interrupt: {
    steps: [{ calls: [bash('sleep 1000')] }, { text: 'on again' }],
    config: free,
    async drive(r, id) {
      await begun(r, id);
      await r.client.signal(id, 'interrupt', { now: true });
      await idle(r, id);
      await r.client.send(id, 'go on');
      await r.event(id, 'job.closed');
    },
  },
  background: {
    steps: [
      { calls: [bash('until [ -e told ]; do sleep 0.1; done', { run_in_background: true })] },
      { calls: [bash('touch told; echo told')] },
      { calls: [{ name: 'Sleep', input: { seconds: 2 } }] },
      { text: 'both ended' },
    ],
    config: free,
  },
};
