import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { currentTranscript } from '../../src/app/current-transcript.ts';
import { taskDir, taskWorkflowId } from '../../src/core/paths.ts';
import { hasEnded, statOf } from '../../src/host/identity.ts';
import type { JobConfig } from '../../src/shapes/job.ts';
import type { ToolResultBlock } from '../../src/shapes/message.ts';
import type { TaskEnd } from '../../src/shapes/task.ts';
import { appears, tellPid } from '../support/appears.ts';
import { type Rig, rig, RULES } from '../support/rig.ts';

/** A command that tells its pid and goes on until its file is there. */
const until = (name: string, then = 'echo done') =>
  `${tellPid(`${name}.pid`)}; until [ -e ${name}.go ]; do sleep 0.05; done; ${then}`;
const background = (command: string, description?: string) => ({
  name: 'Bash',
  input: { command, run_in_background: true, ...(description && { description }) },
});
const foreground = (command: string, more: object = {}) => ({ name: 'Bash', input: { command, ...more } });
const said = (n: number) => Array.from({ length: n }, (_, i) => ({ text: `answer ${i + 1}` }));

const RACES = 16;
const ID = 'shell-1-1-0';
const ask = { task_id: ID };
let r: Rig;

beforeAll(async () => {
  r = await rig({
    jobs: [
      { match: 'survive', steps: [{ calls: [background(until('survive'), 'Wait for it')] }, ...said(2)] },
      { match: 'nobody', steps: [{ calls: [background(until('nobody', 'exit 3'))] }, ...said(2)] },
      {
        match: 'into the turn',
        steps: [
          { calls: [background(until('into'))] },
          { calls: [foreground(until('hold'))] },
          {
            calls: [
              { name: 'Read', input: { file_path: '{{step.1.result.0 | match /written to: (\\S+)/}}' } },
              { name: 'TaskOutput', input: ask },
            ],
          },
          { text: 'seen' },
        ],
      },
      {
        match: 'stop it',
        steps: [{ calls: [background(until('stop'))] }, { calls: [{ name: 'TaskStop', input: ask }] }, ...said(2)],
      },
      {
        match: 'wait for it',
        steps: [
          { calls: [background(until('asked'))] },
          { calls: [{ name: 'TaskOutput', input: { ...ask, timeout: 60_000 } }] },
          ...said(2),
        ],
      },
      {
        match: 'news that come late',
        steps: [
          { calls: [background(until('late'))] },
          { calls: [{ name: 'TaskOutput', input: { ...ask, timeout: 60_000 } }] },
          ...said(2),
        ],
      },
      {
        match: 'between the two',
        steps: [
          { calls: [background(until('between'))] },
          { calls: [{ name: 'TaskOutput', input: { ...ask, timeout: 60_000 } }, foreground(until('step'))] },
          ...said(2),
        ],
      },
      {
        match: 'too slow',
        steps: [{ calls: [foreground(until('slow'), { timeout: 500 })] }, ...said(2)],
      },
      {
        match: 'orphaned slow',
        steps: [{ calls: [foreground(until('orphan'), { timeout: 1000 })] }, ...said(2)],
      },
      {
        match: 'end of the job',
        steps: [{ calls: [background(`setsid sleep 1000 & ${until('end')}`, 'Serve')] }, ...said(2)],
      },
      { match: 'cancel me', steps: [{ calls: [background(until('cancel'))] }, { calls: [foreground(until('held'))] }] },
      { match: 'unwatched', steps: [{ calls: [background(until('unwatched'))] }, ...said(1)] },
      { match: 'orphan of a job', steps: [{ calls: [background(until('jobless'))] }, ...said(1)] },
      { match: 'supervisor', steps: [{ calls: [background(until('supervised'))] }, ...said(2)] },
      { match: 'cancel alone', steps: [{ calls: [background(until('alone'))] }, ...said(1)] },
      {
        match: 'both at once',
        steps: [{ calls: [background(until('both', 'exit 1'), 'One'), background(until('both'), 'Two')] }, ...said(3)],
      },
      {
        match: 'last words',
        steps: [{ calls: [background(until('last'))] }, { delay: '1500ms', text: 'too early' }, { text: 'now I know' }],
      },
      { match: 'roll over', steps: [{ calls: [background(until('roll'))] }, ...said(40)] },
      ...Array.from({ length: RACES }, (_, n) => ({
        match: `race ${n},`,
        steps: [
          { calls: [background(until(`race-${n}`))] },
          { delay: `${n * 150}ms`, text: 'last words' },
          { text: 'I see' },
        ],
      })),
    ],
  });
});
afterAll(() => r.close());

const rules = {
  ...RULES,
  allow: [{ text: 'Bash', tool: 'Bash', source: { kind: 'cli' as const, base: '/' } }],
};
const start = (prompt: string, over: Partial<JobConfig> = {}) => r.start(prompt, { rules, ...over });
const go = (name: string) => writeFileSync(join(r.dir, `${name}.go`), '');
const pidOf = async (name: string) => Number(await appears(join(r.dir, `${name}.pid`)));
const isDead = (pid: number) => hasEnded(statOf(pid));
const outputOf = (job: string, task = ID) => join(r.home.jobs, job, 'tool-results', `${task}.txt`);
const conversation = async (id: string) => currentTranscript(r.client, await r.client.describe(id));
const notes = async (id: string) =>
  (await conversation(id)).flatMap(({ content }) =>
    content.flatMap((block) =>
      block.type === 'text' && block.text.includes('<task-notification>') ? [block.text] : [],
    ),
  );
const results = async (id: string) =>
  (await conversation(id)).flatMap(({ content }) =>
    content.filter((block): block is ToolResultBlock => block.type === 'tool_result').map((block) => block.content),
  );
/** Resolves when that turn has answered and the job has nothing more to do. */
async function idleAfter(id: string, turn: number) {
  await r.event(id, 'model.ended', (event) => event.turn === turn && event.calls.length === 0);
  expect(await r.settled(id)).toMatchObject({ status: 'idle' });
}
/** The job has heard of the end and begins no turn for it; in the next one there is no word of it but the result. Ends the job. */
async function isToldOnce(id: string, status: string, result: string) {
  await r.event(id, 'model.ended', (event) => event.calls.length === 0);
  await expect.poll(async () => (await r.client.view(id, 30_000))?.tasks).toMatchObject([{ id: ID, status }]);
  await r.client.send(id, 'and now?');
  await idleAfter(id, 2);
  expect((await results(id)).at(-1)).toBe(result);
  expect(await notes(id)).toEqual([]);
  expect(r.events(id).filter((event) => event.kind === 'model.ended')).toHaveLength(4);
  expect((await conversation(id)).at(-1)).toMatchObject({ content: [{ text: 'answer 2' }] });
  await end(id);
}
/** Resolves when a job that was cancelled has closed. */
async function closed(id: string) {
  await r.event(id, 'job.closed');
  expect(await r.record(id)).toMatchObject({ status: 'cancelled' });
}
/** Ends a job that stays open. */
async function end(id: string) {
  await r.client.cancel(id);
  await closed(id);
}
const note = (job: string, status: string, summary: string, task = ID) => `<system-reminder>
<task-notification>
<task-id>${task}</task-id>
<status>${status}</status>
<summary>${summary}</summary>
<output-file>${outputOf(job, task)}</output-file>
</task-notification>
</system-reminder>`;

describe('a background command', () => {
  it('survives kill -9 of its worker, and its end is told exactly once', async () => {
    const id = await start('survive, please', { stay: true });
    expect(await r.settled(id)).toMatchObject({ status: 'idle' });
    const pid = await pidOf('survive');
    for (let round = 0; round < 2; round++) {
      await r.killWorkers();
      await r.startWorker();
    }
    await r.client.view(id, 30_000); // a worker answers again
    expect(isDead(pid)).toBe(false);
    expect(await results(id)).toEqual([
      `Command running in background with ID: ${ID}. Output is being written to: ${outputOf(id)}`,
    ]);
    go('survive');
    await idleAfter(id, 2);
    expect(await notes(id)).toEqual([
      note(id, 'completed', 'Background command "Wait for it" completed (exit code 0)'),
    ]);
    expect(readFileSync(outputOf(id), 'utf8')).toBe('done\n');
    expect((await r.client.view(id))?.tasks).toMatchObject([{ id: ID, status: 'completed', brief: 'Wait for it' }]);
    await end(id);
  });

  it('that ends while no worker lives is told of when one is back', async () => {
    const id = await start('nobody, please', { stay: true });
    await r.settled(id);
    // A worker that is asked to end lets go of the command too.
    await r.workers[0]!.stop();
    expect(isDead(await pidOf('nobody'))).toBe(false);
    go('nobody');
    await appears(join(r.home.jobs, id, taskDir(ID)!, 'exit'));
    await r.startWorker();
    await idleAfter(id, 2);
    const [first, ...more] = await notes(id);
    expect(first).toMatch(/<status>failed<\/status>\n<summary>Background command ".*" failed with exit code 3</);
    expect(more).toEqual([]);
    await end(id);
  });

  it('is told of in the running turn at its next step, and TaskOutput shows what it printed', async () => {
    const id = await start('into the turn, please');
    await pidOf('hold');
    go('into');
    await r.event(id, 'task.ended');
    // The job has the note beside its prompt, and has passed it on.
    await expect.poll(async () => (await r.client.view(id))?.queue).toBe(2);
    go('hold');
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    const messages = await conversation(id);
    const at = messages.findIndex(({ content }) => JSON.stringify(content).includes('<task-notification>'));
    // In the message that holds the result of the call that ran meanwhile.
    expect(messages[at]!.content.map((block) => block.type)).toEqual(['tool_result', 'text']);
    // Its output may be read without a question.
    expect((await results(id)).slice(-2)).toEqual([
      expect.stringMatching(/^\s*1\s+done$/),
      `${ID} completed (exit code 0).\n\ndone`,
    ]);
    expect(await notes(id)).toHaveLength(1);
    expect((await r.record(id)).state.turn).toBe(1);
  });

  it('is told of by TaskOutput alone when that was asked for it', async () => {
    const id = await start('wait for it, please', { stay: true });
    await r.event(id, 'call.started', ({ name }) => name === 'TaskOutput');
    go('asked');
    expect(await r.event(id, 'task.ended')).toMatchObject({ status: 'completed' });
    await isToldOnce(id, 'completed', `${ID} completed (exit code 0).\n\ndone`);
  });

  it('begins no turn when the news come after the turn that was told by TaskOutput', async () => {
    const id = await start('news that come late, please', { stay: true });
    await r.event(id, 'call.started', ({ name }) => name === 'TaskOutput');
    await r.temporal.workflow.getHandle(taskWorkflowId(id, ID)).terminate('its news come by hand');
    go('late');
    expect(await r.settled(id)).toMatchObject({ status: 'idle' });
    expect((await r.client.view(id))?.tasks).toMatchObject([{ id: ID, status: 'running', told: true }]);
    const body = await r.client.store.blobs(id).put(note(id, 'completed', 'it ended'));
    const end: TaskEnd = { id: ID, status: 'completed', note: { id: ID, kind: 'task', body } };
    await r.temporal.workflow.getHandle(id).signal('taskEnded', end);
    await isToldOnce(id, 'completed', `${ID} completed (exit code 0).\n\ndone`);
  });

  it('is told of once by a step that kill -9 interrupts between the result of TaskOutput and its seal', async () => {
    const id = await start('between the two, please', { stay: true });
    await r.event(id, 'call.started', ({ name }) => name === 'TaskOutput');
    go('between');
    await pidOf('step');
    await r.event(id, 'task.ended');
    // The note lies in the turn, whose step is open.
    await expect.poll(async () => (await r.client.view(id))?.queue).toBe(2);
    await r.killWorkers();
    await r.startWorker();
    go('step');
    await isToldOnce(id, 'completed', 'done');
    expect(await results(id)).toContain(`${ID} completed (exit code 0).\n\ndone`);
  });

  it('is killed as a tree by TaskStop, which is all that is told of its end', async () => {
    const id = await start('stop it, please', { stay: true });
    const pid = await pidOf('stop');
    await r.event(id, 'task.ended');
    expect(isDead(pid)).toBe(true);
    await isToldOnce(id, 'stopped', `Stopped ${ID}.`);
  });

  it('that ends while its turn speaks its last words is told of in that turn', async () => {
    const id = await start('last words, please');
    await r.event(id, 'model.started', ({ step }) => step === 2);
    go('last');
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(await notes(id)).toHaveLength(1);
    expect(await r.record(id)).toMatchObject({ result: 'now I know', state: { turn: 1 } });
  });

  it('and another that ends at the same time are both told of, once each', async () => {
    const id = await start('both at once, please', { stay: true });
    await r.settled(id);
    go('both');
    await expect.poll(async () => (await notes(id)).length).toBe(2);
    await r.settled(id);
    expect((await notes(id)).toSorted()).toEqual([
      note(id, 'failed', 'Background command "One" failed with exit code 1'),
      note(id, 'completed', 'Background command "Two" completed (exit code 0)', 'shell-1-1-1'),
    ]);
    await end(id);
  });

  it('goes on over continue-as-new of its job', async () => {
    const id = await start('roll over, please', { stay: true, limits: { concurrency: 10, events: 30 } });
    await r.settled(id);
    const handle = r.temporal.workflow.getHandle(id);
    const { runId } = await handle.describe();
    for (let turn = 2; (await handle.describe()).runId === runId; turn++) {
      await r.client.send(id, 'go on');
      await idleAfter(id, turn);
    }
    go('roll');
    await expect.poll(async () => (await notes(id)).length).toBe(1);
    await r.settled(id);
    expect((await r.client.view(id))?.tasks).toMatchObject([{ id: ID, status: 'completed' }]);
    await end(id);
  });

  it('that ends in the very moment in which its turn ends is told of once, and answered', async () => {
    const ids = await Promise.all(Array.from({ length: RACES }, (_, n) => start(`race ${n}, please`, { stay: true })));
    await Promise.all(
      ids.map(async (id, n) => {
        await r.event(id, 'model.started', ({ step }) => step === 2);
        go(`race-${n}`);
      }),
    );
    const turns: number[] = [];
    for (const id of ids) {
      await r.event(id, 'task.ended');
      await expect.poll(() => notes(id), { timeout: 20_000 }).toHaveLength(1);
      await r.settled(id);
      expect((await conversation(id)).at(-1)?.role).toBe('assistant');
      expect(await notes(id)).toHaveLength(1);
      turns.push(r.events(id).findLast((event) => event.kind === 'model.ended')!.turn);
    }
    // The ends lay on both sides of that moment.
    expect(new Set(turns)).toEqual(new Set([1, 2]));
    expect(r.refused()).toEqual([]);
    await Promise.all(ids.map(end));
  });
});

describe('a command that reaches its time limit', () => {
  it('goes on in the background', async () => {
    const id = await start('too slow, please', { stay: true });
    await r.settled(id);
    const pid = await pidOf('slow');
    expect(isDead(pid)).toBe(false);
    const [result] = await results(id);
    expect(result).toContain(
      `Command running in background with ID: ${ID}. Output is being written to: ${outputOf(id)}\n`,
    );
    expect(result).toContain(`The working directory is still ${r.dir}`);
    go('slow');
    await idleAfter(id, 2);
    expect(await notes(id)).toHaveLength(1);
    await end(id);
  });

  it('while no worker lives goes on all the same, and is moved by the next one', async () => {
    const id = await start('orphaned slow, please', { stay: true });
    const pid = await pidOf('orphan');
    await r.killWorkers();
    await r.startWorker();
    await r.event(id, 'task.started');
    await r.settled(id);
    expect(isDead(pid)).toBe(false);
    expect((await results(id))[0]).toContain(`Command running in background with ID: ${ID}.`);
    go('orphan');
    await idleAfter(id, 2);
    expect(await notes(id)).toHaveLength(1);
    await end(id);
  });
});

describe('the end of a job', () => {
  it('ends its background commands, and tells of them when it is opened again', async () => {
    const id = await start('end of the job, please');
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(isDead(await pidOf('end'))).toBe(true);
    expect(await notes(id)).toEqual([]);
    expect((await r.record(id)).state.tasks[ID]).toMatchObject({ status: 'stopped' });
    await r.client.send(id, 'what became of it?');
    const closings = new Set<number>();
    await r.event(id, 'job.closed', ({ at }) => closings.add(at).size === 2);
    expect(await notes(id)).toEqual([note(id, 'stopped', 'Background command "Serve" was stopped')]);
    expect(JSON.stringify((await conversation(id)).at(-2))).toContain('what became of it?');
  });

  it('by cancel ends them too', async () => {
    const id = await start('cancel me, please');
    const pids = [await pidOf('cancel'), await pidOf('held')];
    await r.client.cancel(id);
    expect(await r.settled(id)).toMatchObject({ status: 'cancelled' });
    expect(pids.map(isDead)).toEqual([true, true]);
    expect((await r.record(id)).state.tasks[ID]).toMatchObject({ status: 'stopped' });
  });

  it('by cancel while no worker lives ends them when one is back', async () => {
    const id = await start('cancel alone, please', { stay: true });
    await r.settled(id);
    const pid = await pidOf('alone');
    await r.killWorkers();
    await r.client.cancel(id);
    expect(isDead(pid)).toBe(false);
    await r.startWorker();
    await closed(id);
    expect(isDead(pid)).toBe(true);
    expect((await r.record(id)).state.tasks[ID]).toMatchObject({ status: 'stopped' });
  });

  it('does not hang when nobody watches a command any more', async () => {
    const id = await start('unwatched, please', { stay: true });
    await r.settled(id);
    await pidOf('unwatched');
    await r.temporal.workflow.getHandle(taskWorkflowId(id, ID)).terminate('by hand');
    await end(id);
    expect((await r.record(id)).state.tasks[ID]).toMatchObject({ status: 'lost' });
    go('unwatched');
  });

  it('by hand leaves no task behind when its command ends', async () => {
    const id = await start('orphan of a job, please', { stay: true });
    await r.settled(id);
    await pidOf('jobless');
    await r.temporal.workflow.getHandle(id).terminate('by hand');
    go('jobless');
    await r.temporal.workflow.getHandle(taskWorkflowId(id, ID)).result();
    expect(await r.event(id, 'task.ended')).toMatchObject({ id: ID });
  });
});

describe('a background command whose supervisor is killed', () => {
  it('is reported as lost, with nothing left of it', async () => {
    const id = await start('supervisor, please', { stay: true });
    await r.settled(id);
    const pid = await pidOf('supervised');
    const record = readFileSync(join(r.home.jobs, id, taskDir(ID)!, 'process'), 'utf8');
    process.kill((JSON.parse(record) as { pid: number }).pid, 'SIGKILL');
    const { status } = await r.event(id, 'task.ended');
    // Its watchdog may have ended it and said so, or nobody did.
    expect(['lost', 'stopped']).toContain(status);
    expect(isDead(pid)).toBe(true);
    await idleAfter(id, 2);
    expect(await notes(id)).toHaveLength(1);
    await end(id);
  });
});
