import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { turnId } from '../../src/core/paths.ts';
import type { JobInfo } from '../../src/app/job-info.ts';
import { listWorkers } from '../../src/app/service/worker-folder.ts';
import { type Rig, rig, RULES } from '../support/rig.ts';

const bash = (command: string) => ({ name: 'Bash', input: { command } });
/** Says who runs it, waits to be let go, and says so in the journal. */
const held = (name: string) =>
  bash(`echo begun; until [ -e go-${name} ]; do sleep 0.05; done; echo ${name} >> journal.txt`);
const away = 'until [ -e go-away ]; do sleep 0.05; done; echo away >> journal.txt';
const PATIENCE_MS = 1_000;

let r: Rig;
beforeAll(async () => {
  r = await rig(
    {
      jobs: [
        { match: 'pinned', steps: [{ calls: [held('pinned')] }, { calls: [bash('echo after')] }, { text: 'pinned' }] },
        {
          match: 'background',
          steps: [
            {
              calls: [
                {
                  name: 'Bash',
                  input: { command: 'until [ -e go-back ]; do sleep 0.05; done', run_in_background: true },
                },
              ],
            },
            { calls: [bash('touch go-back')] },
            { calls: [{ name: 'TaskOutput', input: { task_id: 'shell-1-1-0' } }] },
            { text: 'back' },
          ],
        },
        {
          match: 'out of sight',
          steps: [
            { calls: [{ name: 'Bash', input: { command: away, run_in_background: true } }] },
            { text: 'it runs' },
            { text: 'it ended' },
          ],
        },
        { match: 'shared', steps: [{ calls: [held('shared')] }, { text: 'shared' }] },
      ],
    },
    { workers: 0 },
  );
});
afterEach(() => r.killWorkers());
afterAll(() => r.close());

/** A worker of a machine of that name, on a server of the user's own. */
const onHost = (name: string) =>
  r.startWorker({
    NIGHTSHIFT_LOCAL_SERVER: '',
    TEMPORAL_ADDRESS: r.server.address,
    NIGHTSHIFT_HOST: name,
    NIGHTSHIFT_HOST_PATIENCE_MS: String(PATIENCE_MS),
    NIGHTSHIFT_HOST_LOST_MS: String(PATIENCE_MS),
  });
const free = () => ({
  ...RULES,
  allow: [{ text: 'Bash', tool: 'Bash', source: { kind: 'cli' as const, base: r.dir } }],
});
const journal = (): string => readFileSync(join(r.dir, 'journal.txt'), 'utf8');
/** How often a job was told that it waits, or waits no more. */
async function waitings(id: string): Promise<number> {
  const { events } = await r.temporal.workflow.getHandle(id).fetchHistory();
  return events!.filter((event) => event.workflowExecutionSignaledEventAttributes?.signalName === 'waiting').length;
}
const until = (id: string, fits: (info: JobInfo) => boolean): Promise<JobInfo> =>
  vi.waitFor(
    async () => {
      const info = await r.client.describe(id);
      if (!fits(info)) throw new Error(`${id} is ${info.status} ${info.why}`);
      return info;
    },
    { timeout: 30_000, interval: 100 },
  );

describe('a job on a server of the user’s own', () => {
  it('waits for its host, visibly and at no cost, and goes on when that is back', async () => {
    await onHost('one');
    const id = await r.start('pinned', { rules: free() });
    await r.event(id, 'call.decided');
    await onHost('two');
    await r.workers[0]!.kill();
    const info = await until(id, ({ why }) => why === 'host');
    expect(info).toMatchObject({
      status: 'waiting',
      text: expect.stringMatching(/^waiting for host one: .*NIGHTSHIFT_HOST=one/),
    });

    writeFileSync(join(r.dir, 'go-pinned'), '');
    await onHost('one');
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(journal()).toBe('pinned\n');
    expect((await r.record(id)).state.host).toMatchObject({ name: 'one' });
    // Many looks were taken meanwhile; the job heard of it once, and of its end from each of the two workers at most.
    expect([2, 3]).toContain(await waitings(id));
    const { events } = await r.temporal.workflow.getHandle(turnId(id, 1)).fetchHistory();
    const scheduled = events!.filter((event) => event.activityTaskScheduledEventAttributes).length;
    expect(events!.length).toBeLessThanOrEqual(6 * scheduled + 6);
    const owners = r.events(id).flatMap((event) => (event.kind === 'call.started' ? [event.owner] : []));
    expect(owners).toEqual([1, 2, 1]);
  });

  it('has its background commands watched on its host', async () => {
    await onHost('one');
    const id = await r.start('background', { rules: free() });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(r.events(id).find((event) => event.kind === 'task.ended')).toMatchObject({ status: 'completed' });
    const { events: history } = await r.temporal.workflow.getHandle(`${id}/shell-1-1-0`).fetchHistory();
    const queues = history!.flatMap((event) => event.activityTaskScheduledEventAttributes?.taskQueue?.name ?? []);
    expect(queues.length).toBeGreaterThan(0);
    expect(queues.every((queue) => queue.endsWith('@one'))).toBe(true);
  });
});

describe('a background command of a job that is idle', () => {
  it('whose host is away is told of, watched again when that is back, and its end is told once', async () => {
    await onHost('one');
    const id = await r.start('out of sight', { rules: free(), stay: true });
    expect(await r.settled(id)).toMatchObject({ status: 'idle' });
    await onHost('two');
    await r.workers[0]!.kill();
    expect(await until(id, ({ why }) => why === 'host')).toMatchObject({
      status: 'idle',
      text: expect.stringMatching(
        /^lost contact with host one, where 1 background command may still run: .*NIGHTSHIFT_HOST=one/,
      ),
    });
    expect(await r.client.view(id)).toMatchObject({ why: 'host', tasks: [{ status: 'running' }] });

    await onHost('one');
    expect(await until(id, ({ why }) => why === undefined)).toMatchObject({ status: 'idle' });
    expect([2, 3]).toContain(await waitings(id));
    writeFileSync(join(r.dir, 'go-away'), '');
    await r.event(id, 'model.ended', ({ turn }) => turn === 2);
    await until(id, ({ status }) => status === 'idle');
    expect(
      journal()
        .split('\n')
        .filter((line) => line === 'away'),
    ).toHaveLength(1);
    expect(r.events(id).filter(({ kind }) => kind === 'task.ended')).toMatchObject([{ status: 'completed' }]);
    await r.client.cancel(id);
    await r.event(id, 'job.closed');
    const told = JSON.stringify(await r.messages(id)).split('<task-notification>').length - 1;
    expect(told).toBe(1);
  });
});

describe('two workers of one home on one machine', () => {
  it('hand a running command over when one of them dies, and it runs once', async () => {
    await r.startWorker();
    const id = await r.start('shared', { rules: free() });
    await r.event(id, 'call.decided');
    await r.startWorker();
    await vi.waitFor(() => expect(listWorkers(r.home.workers).length).toBe(2), { timeout: 20_000 });
    await r.workers[0]!.kill();
    const at = Date.now();
    const taken = await r.event(id, 'call.started', (event) => event.owner === 2);
    expect(taken.at - at).toBeLessThan(2_000);
    writeFileSync(join(r.dir, 'go-shared'), '');
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(journal()).toContain('shared\n');
    expect(r.events(id).find((event) => event.kind === 'call.ended')).toMatchObject({ outcome: 'adopted' });
  });
});
