import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { homeKey } from '../../src/app/service/home-key.ts';
import { callMark, taskId, taskWorkflowId, turnId } from '../../src/core/paths.ts';
import { membersOf } from '../../src/host/kill-tree.ts';
import { type Rig, rig, RULES } from '../support/rig.ts';

const LONG = 'echo begun; setsid sleep 400 & sleep 401 & wait';
const bash = (command: string, more: object = {}) => ({ name: 'Bash', input: { command, ...more } });
let r: Rig;

beforeAll(async () => {
  r = await rig({
    jobs: [
      { match: 'long', steps: [{ calls: [bash(LONG)] }, { text: 'it ended' }] },
      {
        match: 'goes on',
        steps: [
          { calls: [bash('echo begun; while [ ! -e go ]; do sleep 0.1; done; echo went >> journal.txt')] },
          { text: 'it ended: {{result.0}}' },
        ],
      },
      {
        match: 'background',
        steps: [
          { calls: [bash(LONG, { run_in_background: true }), bash('until [ -e stop ]; do sleep 0.1; done')] },
          { text: 'the end' },
        ],
      },
    ],
  });
});
afterAll(() => r.close());
beforeEach(async () => {
  if (r.workers.length === 0) await r.startWorker();
});

const free = () => ({
  ...RULES,
  allow: [{ text: 'Bash', tool: 'Bash', source: { kind: 'cli' as const, base: r.dir } }],
});
const mark = (id: string, index = 0): string => callMark(homeKey(r.home), id, 1, 1, index);
const processes = (id: string): Promise<number[]> => membersOf({ mark: mark(id) });
/** The processes of a job's first command once there are none any more; throws when 15 s do not suffice. */
async function left(id: string): Promise<number[]> {
  return vi.waitFor(
    async () => {
      const pids = await processes(id);
      if (pids.length > 0) throw new Error(`still there: ${pids.join(' ')}`);
      return pids;
    },
    { timeout: 15_000, interval: 50 },
  );
}

async function begin(prompt: string): Promise<string> {
  const id = await r.start(prompt, { rules: free() });
  await expect.poll(() => processes(id).then((pids) => pids.length), { timeout: 20_000 }).toBeGreaterThanOrEqual(2);
  return id;
}

describe('a command that nobody wants any more', () => {
  it('is ended when its job is cancelled while no worker lives and a worker comes', async () => {
    const id = await begin('long, cancelled');
    await r.killWorkers();
    await r.client.cancel(id);
    expect(await processes(id)).toHaveLength(3);
    await r.startWorker();
    expect(await left(id)).toEqual([]);
    expect(await r.settled(id)).toMatchObject({ status: 'cancelled' });
  });

  it('is ended when an operator terminated its job, by the first sweep of the next worker', async () => {
    const id = await begin('long, terminated');
    await r.killWorkers();
    await r.temporal.workflow.getHandle(id).terminate('by an operator');
    await r.startWorker();
    expect(await left(id)).toEqual([]);
  });

  it('is ended when its job is gone from disk and server', async () => {
    const id = await begin('long, deleted');
    await r.killWorkers();
    await r.temporal.workflow.getHandle(id).terminate('by an operator');
    for (const workflowId of [turnId(id, 1), id]) {
      const workflowExecution = { workflowId };
      await r.temporal.workflowService.deleteWorkflowExecution({ namespace: 'default', workflowExecution });
      const there = () =>
        r.temporal.workflow
          .getHandle(workflowId)
          .describe()
          .then(Boolean, () => false);
      await expect.poll(there, { timeout: 60_000 }).toBe(false); // the server takes its time
    }
    rmSync(join(r.home.jobs, id), { recursive: true });
    await r.startWorker();
    expect(await left(id)).toEqual([]);
    expect(existsSync(join(r.home.jobs, id))).toBe(false);
  }, 150_000);

  it('is ended by a new worker also when the old one still follows it', async () => {
    const id = await begin('long, followed');
    await r.temporal.workflow.getHandle(id).terminate('by an operator');
    await r.startWorker();
    expect(await left(id)).toEqual([]);
    await r.killWorkers();
  });

  it('is ended when it went on in the background of a job that was terminated', async () => {
    const id = await begin('background, terminated');
    await r.event(id, 'task.started');
    const task = taskWorkflowId(id, taskId(1, 1, 0));
    await expect
      .poll(() =>
        r.temporal.workflow
          .getHandle(task)
          .describe()
          .then((d) => d.status.name),
      )
      .toBe('RUNNING');
    await r.killWorkers();
    await r.temporal.workflow.getHandle(id).terminate('by an operator');
    await r.startWorker();
    expect(await left(id)).toEqual([]);
  });
});

describe('a command that is wanted', () => {
  it('is not touched, however often workers die', async () => {
    const id = await begin('it goes on');
    const [pid] = await processes(id);
    for (let death = 1; death <= 2; death++) {
      await r.killWorkers();
      await r.startWorker();
      await r.event(id, 'call.started', (event) => event.owner === death + 1);
    }
    expect(await processes(id)).toContain(pid);
    writeFileSync(join(r.dir, 'go'), '');
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(readFileSync(join(r.dir, 'journal.txt'), 'utf8')).toBe('went\n');
    expect((await r.record(id)).result).toContain('begun');
  });

  it('is not touched in the background, until its job ends', async () => {
    const id = await begin('background, and on');
    await r.event(id, 'call.started', (event) => event.index === 1);
    const before = await processes(id);
    expect(before).toHaveLength(3);
    await r.killWorkers();
    await r.startWorker();
    await r.event(id, 'call.started', (event) => event.index === 1 && event.owner === 2);
    expect(await processes(id)).toEqual(before);
    writeFileSync(join(r.dir, 'stop'), '');
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(await left(id)).toEqual([]);
  });
});
