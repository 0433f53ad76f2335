import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Script } from '../../src/app/model-server/script.ts';
import type { Hook, HookEvent } from '../../src/shapes/hook.ts';
import type { JobConfig } from '../../src/shapes/job.ts';
import type { Answer } from '../../src/shapes/prompt.ts';
import { type Rig, RULES } from '../support/rig.ts';

/** A kind of job whose histories are kept: its script, and what is done to it from outside. Its name is the job's id. */
export type Scenario = {
  steps: NonNullable<Script['steps']>;
  config?: (dir: string) => Partial<JobConfig>;
  drive?: (r: Rig, id: string) => Promise<unknown>;
  /** It is meant to fail. */
  fails?: true;
};

const bash = (command: string, more: object = {}) => ({ name: 'Bash', input: { command, ...more } });
const read = (file: string) => ({ name: 'Read', input: { file_path: `{{prompt | match /in (\\S+)/}}/${file}` } });
const free = (dir: string): Partial<JobConfig> => ({
  rules: { ...RULES, allow: [{ text: 'Bash', tool: 'Bash', source: { kind: 'cli', base: dir } }] },
});
const hook = (event: HookEvent, command: string): Hook => ({ type: 'command', event, command, origin: 'recorded' });
const says = (event: HookEvent, fields: object): string =>
  `echo '${JSON.stringify({ hookSpecificOutput: { hookEventName: event, ...fields } })}'`;
const plan = (text: string) => ({ name: 'ExitPlanMode', input: { plan: text } });
const notify = [{ command: 'true' }];
/** Answers the n-th question of a job once it is asked. */
async function answer(r: Rig, id: string, n: number, more: Partial<Answer> & { with?: object } = {}): Promise<void> {
  await r.event(id, 'prompt.opened', (event) => event.id === `${id}:${n}`);
  const { with: given, ...rest } = more;
  const input = given && { input: await r.client.store.blobs(id).put(JSON.stringify(given)) };
  await r.client.signal(id, 'answerPermission', {
    id: `${id}:${n}`,
    behavior: 'allow',
    by: 'somebody',
    ...rest,
    ...input,
  });
}
/** Answers every question and gives a rule and a mode with it. */
const generous = hook(
  'PermissionRequest',
  says('PermissionRequest', {
    decision: {
      behavior: 'allow',
      updatedPermissions: [
        { type: 'addRules', rules: [{ toolName: 'Edit' }], behavior: 'allow', destination: 'session' },
        { type: 'setMode', mode: 'acceptEdits', destination: 'session' },
      ],
    },
  }),
);
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
  // Two at once: their changes of the rules follow one another.
  'rules-of-a-hook': {
    steps: [{ calls: ['/etc/hostname', '/etc/hosts'].map((path) => bash(`cat ${path}`)) }, { text: 'both read' }],
    config: () => ({ rules: RULES, hooks: [generous] }),
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
  'interrupt-twice': {
    steps: [{ calls: [bash('sleep 1000')] }, { text: 'on again' }],
    config: free,
    async drive(r, id) {
      await begun(r, id);
      await r.client.signal(id, 'interrupt', {});
      await r.client.signal(id, 'interrupt', { now: true });
      await idle(r, id);
      await r.client.send(id, 'go on');
      await r.event(id, 'job.closed');
    },
  },
  hooks: {
    steps: [
      { calls: [bash('echo one'), bash('exit 3'), bash('echo no')] },
      { text: 'one' },
      { text: 'one, and said again' },
    ],
    config: (dir) => ({
      ...free(dir),
      hooks: [
        hook('SessionStart', says('SessionStart', { additionalContext: 'A session begins.' })),
        hook('UserPromptSubmit', says('UserPromptSubmit', { additionalContext: 'A prompt came.' })),
        hook('PreToolUse', `grep -q "echo no" && { echo "not this one" >&2; exit 2; } || exit 0`),
        hook('PostToolUse', says('PostToolUse', { additionalContext: 'It ran.' })),
        hook('PostToolUseFailure', says('PostToolUseFailure', { additionalContext: 'It failed.' })),
        hook('Stop', 'mkdir stopped 2>/dev/null && { echo "say it again" >&2; exit 2; } || exit 0'),
        hook('SessionEnd', 'true'),
      ],
    }),
  },
  'hook-asks': {
    steps: [{ calls: [bash('echo asked')] }, { text: 'asked' }],
    config: (dir) => ({
      ...free(dir),
      hooks: [
        hook(
          'PreToolUse',
          says('PreToolUse', { permissionDecision: 'ask', permissionDecisionReason: 'a person knows' }),
        ),
        hook('PermissionRequest', 'true'),
        hook('Notification', 'true'),
      ],
    }),
    drive: (r, id) => answer(r, id, 1),
  },
  'hook-ends-turn': {
    steps: [{ calls: [bash('echo one'), bash('echo two')] }, { text: 'never' }],
    config: (dir) => ({
      ...free(dir),
      hooks: [hook('PostToolUse', `echo '{"continue":false,"stopReason":"that is enough"}'`)],
    }),
  },
  'stop-failure': {
    steps: [{ fail: [{ status: 400, message: 'no such thing', times: 'forever' }], text: 'never' }],
    config: () => ({ hooks: [hook('StopFailure', 'true')] }),
    fails: true,
  },
  questions: {
    steps: [
      { calls: ['/etc/hostname', '/etc/hosts', '/etc/passwd'].map((path) => bash(`cat ${path}`)) },
      { calls: [bash('touch denied')] },
      { text: 'looked' },
    ],
    async drive(r, id) {
      await r.event(id, 'prompt.opened', (event) => event.id === `${id}:3`);
      await answer(r, id, 2, { behavior: 'allow-always', rules: ['Bash(cat:*)'] });
      await answer(r, id, 4, { behavior: 'deny', message: 'leave it', interrupt: true });
    },
  },
  ladder: {
    steps: [{ calls: [bash('touch asked')] }, { text: 'nobody came' }],
    config: () => ({
      ladder: [
        { afterMs: 0, notify },
        { afterMs: 500, notify },
        { afterMs: 1_000, then: 'continue-without' },
      ],
    }),
  },
  'ladder-fails': {
    steps: [{ calls: [bash('touch asked')] }, { text: 'never' }],
    config: () => ({ ladder: [{ afterMs: 500, notify, then: 'fail' }] }),
    fails: true,
  },
  plan: {
    steps: [
      { calls: [plan('1. touch it')] },
      { calls: [plan('1. echo it')] },
      { calls: [bash('echo it')] },
      { text: 'it' },
    ],
    config: () => ({ rules: { ...RULES, mode: 'plan' } }),
    async drive(r, id) {
      await answer(r, id, 1, { behavior: 'deny', message: 'touch nothing' });
      await answer(r, id, 2, { with: { plan: '1. echo it, 2. stop' } });
    },
  },
  'ask-user': {
    steps: [
      {
        calls: [
          {
            name: 'AskUserQuestion',
            input: {
              questions: [{ question: 'Which one?', header: 'One', options: [{ label: 'A' }, { label: 'B' }] }],
            },
          },
        ],
      },
      { text: 'got it' },
    ],
    drive: (r, id) => answer(r, id, 1, { with: { answers: { 'Which one?': 'B' } } }),
  },
  'task-stop': {
    steps: [
      { calls: [bash('sleep 1000', { run_in_background: true })] },
      { calls: [{ name: 'TaskStop', input: { task_id: '{{result.0 | match /(shell-[-\\d]+)/}}' } }] },
      { calls: [{ name: 'Sleep', input: { seconds: 2 } }] },
      { text: 'stopped' },
      { text: 'told of it' },
    ],
    config: free,
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
  'task-output': {
    steps: [
      { calls: [bash('until [ -e shown ]; do sleep 0.1; done', { run_in_background: true })] },
      { calls: [bash('touch shown'), { name: 'TaskOutput', input: { task_id: 'shell-1-1-0' } }] },
      { text: 'shown' },
    ],
    config: free,
  },
  // The news of its end come when a result has told of it and the turn is over.
  'late-news': {
    steps: [
      { calls: [bash('until [ -e heard ]; do sleep 0.1; done', { run_in_background: true })] },
      { calls: [{ name: 'TaskOutput', input: { task_id: 'shell-1-1-0', timeout: 60_000 } }] },
      { text: 'heard' },
    ],
    config: (dir) => ({ ...free(dir), stay: true }),
    async drive(r, id) {
      await r.event(id, 'call.started', ({ name }) => name === 'TaskOutput');
      await r.temporal.workflow.getHandle(`${id}/shell-1-1-0`).terminate('its news come by hand');
      writeFileSync(join(r.dir, 'heard'), '');
      await idle(r, id);
      const note = { id: 'shell-1-1-0', kind: 'task', body: await r.client.store.blobs(id).put('it ended') };
      const job = r.temporal.workflow.getHandle(id);
      await job.signal('taskEnded', { id: 'shell-1-1-0', status: 'completed', note });
      while ((await r.client.view(id))?.tasks[0]?.status !== 'completed');
      await r.client.cancel(id);
    },
  },
  'idle-host': {
    steps: [{ calls: [bash('sleep 1000', { run_in_background: true })] }, { text: 'it runs' }],
    config: (dir) => ({ ...free(dir), stay: true }),
    async drive(r, id) {
      await idle(r, id);
      const job = r.temporal.workflow.getHandle(id);
      const shown = async (): Promise<string | undefined> => (await r.client.describe(id)).why;
      await job.signal('waiting', { why: 'host', until: null, text: 'its host is away' });
      while ((await shown()) !== 'host');
      await job.signal('waiting', null);
      while ((await shown()) !== undefined);
      await r.client.cancel(id);
    },
  },
};
