import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { homeKey } from '../../src/app/service/home-key.ts';
import { listWorkers } from '../../src/app/service/worker-folder.ts';
import {
  callDir,
  callMark,
  hooksDir,
  hooksMark,
  jobDir,
  taskId,
  taskWorkflowId,
  turnId,
} from '../../src/core/paths.ts';
import { membersOf } from '../../src/host/kill-tree.ts';
import type { Hook } from '../../src/shapes/hook.ts';
import { type Rig, rig, RULES } from '../support/rig.ts';

const bash = (command: string, more: object = {}) => ({ name: 'Bash', input: { command, ...more } });
/** Says in the journal that it began, goes on until its file is there, and says that it ended. */
const held = (name: string) =>
  `echo ${name} begun >> journal.txt; until [ -e go-${name} ]; do sleep 0.05; done; echo ${name} ended >> journal.txt`;
/** In ms. A worker that waits for what only waits takes its grace time, which is ten seconds. */
const AT_ONCE = 3_000;
let r: Rig;

beforeAll(async () => {
  r = await rig(
    {
      jobs: [
        { match: 'one command', steps: [{ calls: [bash(held('one'))] }, { text: '{{result.0}}' }] },
        {
          match: 'four stops',
          steps: [{ calls: [bash(`${held('four')}; echo the end`)] }, { text: '{{result.0}}' }],
        },
        {
          match: 'in the background',
          steps: [
            { calls: [bash(held('back'), { run_in_background: true })] },
            { calls: [{ name: 'TaskOutput', input: { task_id: taskId(1, 1, 0), timeout: 600_000 } }] },
            { text: 'waited: {{result.0}}' },
            { text: 'and told of it' },
          ],
        },
        { match: 'terminated', steps: [{ calls: [bash('sleep 400 & sleep 401; wait')] }, { text: 'it ended' }] },
        {
          match: 'behind',
          steps: [{ calls: [bash('sleep 402 & sleep 403; wait', { run_in_background: true })] }, { text: 'the end' }],
        },
        { match: 'hooked', steps: [{ calls: [bash('echo hooked')] }, { text: 'it ended' }] },
      ],
    },
    { workers: 0 },
  );
});
afterEach(() => r.killWorkers());
afterAll(() => r.close());

const free = () => ({
  ...RULES,
  allow: [{ text: 'Bash', tool: 'Bash', source: { kind: 'cli' as const, base: r.dir } }],
});
const journal = (): string[] => {
  const path = join(r.dir, 'journal.txt');
  return existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n') : [];
};
const go = (name: string): void => writeFileSync(join(r.dir, `go-${name}`), '');
const ofJournal = (name: string): string[] => journal().filter((line) => line.startsWith(`${name} `));
const begun = (name: string): Promise<void> =>
  expect.poll(() => ofJournal(name), { timeout: 20_000 }).toEqual([`${name} begun`]);
/** Resolves when the worker polls and nothing of its start is under way. */
async function worker(): Promise<void> {
  const before = listWorkers(r.home.workers).length;
  await r.startWorker();
  await expect.poll(() => listWorkers(r.home.workers).length, { timeout: 20_000 }).toBe(before + 1);
}
/** Stops the only worker with SIGTERM; how long it took, in ms. */
async function stop(): Promise<number> {
  const began = performance.now();
  await r.workers.pop()!.stop();
  return performance.now() - began;
}
const owners = (id: string, tool: string): number[] =>
  r.events(id).flatMap((event) => (event.kind === 'call.started' && event.name === tool ? [event.owner] : []));
const terminate = (id: string) => r.temporal.workflow.getHandle(id).terminate('by an operator');
const mark = (id: string): string => callMark(homeKey(r.home), id, 1, 1, 0);
const members = (id: string): Promise<number[]> => membersOf({ mark: mark(id) });

describe('a worker that is told to stop', () => {
  it('leaves a running command to the next worker at once', async () => {
    await worker();
    const id = await r.start('one command', { rules: free() });
    await begun('one');
    expect(await stop()).toBeLessThan(AT_ONCE);
    await worker();
    const at = performance.now();
    await expect.poll(() => owners(id, 'Bash'), { timeout: 20_000 }).toEqual([1, 1]);
    expect(performance.now() - at).toBeLessThan(AT_ONCE);
    go('one');
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(ofJournal('one')).toEqual(['one begun', 'one ended']);
    expect(r.events(id).find((event) => event.kind === 'call.ended')).toMatchObject({ outcome: 'adopted' });
  });

  it('is no dead owner of the call, however often that happens', async () => {
    await worker();
    const id = await r.start('four stops', { rules: free() });
    await begun('four');
    for (let stops = 1; stops <= 4; stops++) {
      expect(await stop()).toBeLessThan(AT_ONCE);
      await worker();
      await expect.poll(() => owners(id, 'Bash').length, { timeout: 20_000 }).toBe(stops + 1);
    }
    go('four');
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(owners(id, 'Bash')).toEqual([1, 1, 1, 1, 1]);
    expect(ofJournal('four')).toEqual(['four begun', 'four ended']);
    expect((await r.record(id)).result).toContain('the end');
  });

  it('leaves background commands, and calls that wait for them', async () => {
    await worker();
    const id = await r.start('in the background', { rules: free() });
    await begun('back');
    await r.event(id, 'call.started', (event) => event.name === 'TaskOutput');
    expect(await stop()).toBeLessThan(AT_ONCE);
    await worker();
    await expect.poll(() => owners(id, 'TaskOutput'), { timeout: 20_000 }).toEqual([1, 1]);
    go('back');
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(r.events(id).filter((event) => event.kind === 'task.ended')).toMatchObject([{ status: 'completed' }]);
    expect(JSON.stringify(await r.messages(id))).toContain('completed (exit code 0)');
    expect(ofJournal('back')).toEqual(['back begun', 'back ended']);
  });
});

describe('a job that an operator terminates', () => {
  const limit = { timeout: 8_000, interval: 50 };

  it('has its commands killed within seconds, by the worker that follows them', async () => {
    await worker();
    const id = await r.start('terminated', { rules: free() });
    await expect.poll(() => members(id).then((pids) => pids.length), { timeout: 20_000 }).toBe(3);
    await terminate(id);
    await expect.poll(() => members(id), limit).toEqual([]);
  });

  it('has its background commands killed within seconds', async () => {
    await worker();
    const id = await r.start('behind', { rules: free(), stay: true });
    await r.settled(id);
    expect(await members(id)).toHaveLength(3);
    await terminate(id);
    await expect.poll(() => members(id), limit).toEqual([]);
    await r.temporal.workflow.getHandle(taskWorkflowId(id, taskId(1, 1, 0))).result();
  });

  const hook: Hook = {
    event: 'PreToolUse',
    matcher: 'Bash',
    type: 'command',
    command: 'sleep 404 & sleep 405; wait',
    origin: 'test',
  };
  const hookOf = (id: string) => {
    const dir = `${hooksDir(callDir(1, 1, 0), 'PreToolUse')}/0`;
    return membersOf({ mark: hooksMark(homeKey(r.home), id, `${dir}.`) });
  };

  it('has its hooks killed within seconds', async () => {
    await worker();
    const id = await r.start('hooked', { rules: free(), hooks: [hook] });
    await expect.poll(() => hookOf(id).then((pids) => pids.length), { timeout: 20_000 }).toBe(3);
    await terminate(id);
    await expect.poll(() => hookOf(id), limit).toEqual([]);
  });

  it('has hooks whose worker died killed by the next one', async () => {
    await worker();
    const id = await r.start('hooked', { rules: free(), hooks: [hook] });
    await expect.poll(() => hookOf(id).then((pids) => pids.length), { timeout: 20_000 }).toBe(3);
    await r.killWorkers();
    await terminate(id);
    expect(await hookOf(id)).toHaveLength(3);
    await worker();
    await expect.poll(() => hookOf(id), limit).toEqual([]);
    expect(existsSync(join(r.home.home, jobDir(id), callDir(1, 1, 0), 'result'))).toBe(false);
    expect((await r.temporal.workflow.getHandle(turnId(id, 1)).describe()).status.name).toBe('TERMINATED');
  });
});
