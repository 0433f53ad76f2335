import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { leftovers, processesOf } from '../chaos/processes.ts';
import type { CrashWindow } from '../../src/host/crash-windows.ts';
import type { ToolResultBlock } from '../../src/shapes/message.ts';
import { openPauses } from '../support/pauses.ts';
import { type Rig, rig, RULES } from '../support/rig.ts';

// A worker that dies between the cause of a cancel and its effect on the other calls: the next one comes to the same results.

const LIMIT_MS = 150_000;
const bash = (command: string, description: string) => ({ name: 'Bash', input: { command, description } });
const KILLED = 'The command was killed because the call was cancelled; it may have acted. It had printed nothing.';
const UNSEEN = 'This Bash call has no result: if it had begun, check what it did before you do it again.';
const pauses = openPauses();
let r: Rig;

beforeAll(async () => {
  const waits = [bash('cat fifo-1', 'Wait for one'), bash('cat fifo-2', 'Wait for two')] as const;
  const script = {
    jobs: [
      {
        match: 'siblings',
        steps: [{ calls: [waits[0], bash('cat missing.txt', 'Show it'), waits[1]] }, { text: 'on' }],
      },
      { match: 'interrupted', steps: [{ calls: [...waits] }, { text: 'awake again' }] },
      { match: 'denied', steps: [{ calls: [waits[0], bash('cat /etc/hostname', 'Look outside')] }, { text: 'never' }] },
    ],
  };
  r = await rig(script, { workers: 0, env: pauses.env });
  for (const name of ['fifo-1', 'fifo-2']) execFileSync('mkfifo', [join(r.dir, name)]);
});
beforeEach(async () => {
  pauses.disarm();
  await r.killWorkers();
  await r.startWorker();
});
afterAll(async () => {
  await r.close();
  pauses.close();
});

/** Kills the worker that stays at the window, and starts another one. */
async function dieAt(window: CrashWindow): Promise<void> {
  await pauses.held(window);
  await r.killWorkers();
  pauses.disarm();
  await r.startWorker();
}
/** Resolves when so many commands of a job run. */
const running = (id: string, n: number): Promise<void> =>
  expect.poll(() => processesOf(id).filter((line) => /^\d+ cat fifo/.test(line)).length, { timeout: 60_000 }).toBe(n);
async function results(id: string): Promise<Pick<ToolResultBlock, 'content' | 'is_error'>[]> {
  const blocks = (await r.messages(id)).flatMap(({ content }) => content);
  return blocks.flatMap((block) =>
    block.type === 'tool_result' ? [{ content: block.content, is_error: block.is_error ?? false }] : [],
  );
}
/** Another message after an interrupt: with it the results of the step go to the model. */
async function wake(id: string): Promise<void> {
  await r.client.send(id, 'go on');
  await r.event(id, 'model.ended', ({ turn }) => turn === 2);
  await expect.poll(async () => (await r.client.describe(id)).status, { timeout: 60_000 }).toBe('done');
}
const error = (content: string) => ({ content, is_error: true });

describe('a worker that dies', { timeout: LIMIT_MS }, () => {
  const SIBLING = 'Cancelled: a parallel call failed: Bash(Show it)';
  const failed = error('Exit code 1\ncat: missing.txt: No such file or directory');

  it('when a shell has failed, before the server knows it: its neighbours are cancelled by the next', async () => {
    pauses.arm('tool.result-written');
    const id = await r.start('siblings');
    await running(id, 2);
    await dieAt('tool.result-written');
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(await leftovers(id)).toEqual([]);
    expect(await results(id)).toEqual([error(`${SIBLING}\n${KILLED}`), failed, error(`${SIBLING}\n${KILLED}`)]);
    expect(r.refused()).toEqual([]);
  });

  it('when its neighbours were cancelled, before one of them is killed', async () => {
    pauses.arm('shell.before-kill');
    const id = await r.start('siblings');
    await dieAt('shell.before-kill');
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(await leftovers(id)).toEqual([]);
    const [first, second, third] = await results(id);
    expect(second).toEqual(failed);
    for (const other of [first, third]) expect([error(SIBLING), error(`${SIBLING}\n${KILLED}`)]).toContainEqual(other);
    expect([first, third]).toContainEqual(error(SIBLING));
    expect(r.refused()).toEqual([]);
  });

  const INTERRUPT = 'Cancelled: a person interrupted this turn.';

  it('when a person has interrupted, before a shell is killed', async () => {
    const id = await r.start('interrupted');
    await running(id, 2);
    pauses.arm('shell.before-kill');
    await r.client.signal(id, 'interrupt', { now: true });
    await dieAt('shell.before-kill');
    expect(await r.settled(id)).toMatchObject({ status: 'idle' });
    expect(await leftovers(id)).toEqual([]);
    await wake(id);
    for (const one of await results(id)) {
      expect([error(`${INTERRUPT} ${UNSEEN}`), error(`${INTERRUPT} ${KILLED}`)]).toContainEqual(one);
    }
    expect(await results(id)).toContainEqual(error(`${INTERRUPT} ${UNSEEN}`));
  });

  it('before a person interrupts: the next one hears of it', async () => {
    const id = await r.start('interrupted');
    await running(id, 2);
    await r.killWorkers();
    await r.client.signal(id, 'interrupt', { now: true });
    await r.startWorker();
    expect(await r.settled(id)).toMatchObject({ status: 'idle' });
    expect(await leftovers(id)).toEqual([]);
    await wake(id);
    const all = await results(id);
    expect(all).toHaveLength(2);
    for (const one of all) {
      expect([error(`${INTERRUPT} ${UNSEEN}`), error(`${INTERRUPT} ${KILLED}`)]).toContainEqual(one);
    }
  });

  it('when a person has denied a call and ended the turn, before the server knows it', async () => {
    const id = await r.start('denied', { rules: { ...RULES, mode: 'default' } });
    await r.event(id, 'prompt.opened');
    await running(id, 1);
    pauses.arm('tool.result-written');
    const said = { behavior: 'deny', message: 'stay inside', interrupt: true } as const;
    await r.client.signal(id, 'answerPermission', { id: `${id}:1`, ...said });
    await dieAt('tool.result-written');
    expect(await r.settled(id)).toMatchObject({ status: 'stopped', why: 'denied' });
    expect(await leftovers(id)).toEqual([]);
    const [first, second] = await results(id);
    expect(first).toEqual(error(`Cancelled: a person denied another call of this step and ended the turn. ${KILLED}`));
    expect(second).toMatchObject({ is_error: true, content: expect.stringContaining('stay inside') });
  });
});
