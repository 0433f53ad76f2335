import { readFileSync, writeFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { countLines, namesIn, untilSeen } from '../chaos/files.ts';
import { openStage, type Stage } from '../chaos/stage.ts';
import { faults, judge } from '../chaos/verdict.ts';
import { WORKLOADS } from '../chaos/workloads.ts';
import { MARK } from '../../src/host/kill-tree.ts';

const SILENT_MS = 2_000;
/** The server may hand a task to a worker that does not answer several times, each for a heartbeat time-out. */
const LIMIT_MS = 150_000;
let stage: Stage;
beforeAll(async () => {
  stage = await openStage({ NIGHTSHIFT_SILENT_AFTER_MS: String(SILENT_MS) });
});
afterAll(() => stage.close());

const journalHas = (dir: string, line: string): Promise<void> => {
  const journal = join(dir, 'journal.txt');
  return untilSeen(journal, () => countLines(journal, line) > 0, `the line "${line}"`);
};
/** The process that has the first call of a job. */
function ownerOf(id: string): number {
  const folder = join(stage.rig.home.jobs, id, 'turns/1/1.0');
  const last = namesIn(folder)
    .filter((name) => name.startsWith('owner.'))
    .sort()
    .at(-1)!;
  return (JSON.parse(readFileSync(join(folder, last), 'utf8')) as { pid: number }).pid;
}
const endOf = (pid: number): Promise<string | null> => {
  const { child } = stage.rig.workers.find(({ child }) => child.pid === pid)!;
  return new Promise((resolve) => {
    if (child.signalCode !== null) resolve(child.signalCode);
    else child.once('exit', (_code, signal) => resolve(signal));
  });
};

describe('a worker that lives but does not answer', { timeout: LIMIT_MS }, () => {
  it('stopped by SIGSTOP is killed by the one that waits for its call, which is done once', async () => {
    await stage.keepWorkers(2);
    const { id, dir } = await stage.start(WORKLOADS.shell);
    await journalHas(dir, 'begun');
    const stopped = ownerOf(id);
    process.kill(stopped, 'SIGSTOP');
    expect(await endOf(stopped)).toBe('SIGKILL');
    writeFileSync(join(dir, 'gate'), '');
    const verdict = await judge(stage.rig, id, WORKLOADS.shell, { dir, status: 'done' });
    expect(faults(verdict)).toEqual([]);
    expect(verdict).toMatchObject({ once: 3, unknown: 0 });
  });

  it('with its main loop blocked after an effect is killed and its call taken over, done once', async () => {
    await stage.revive(2);
    stage.arm('tool.before-result', 'block');
    const { id, dir } = await stage.start(WORKLOADS.stepping);
    await stage.held('tool.before-result');
    const blocked = ownerOf(id);
    expect(await endOf(blocked)).toBe('SIGKILL');
    const verdict = await judge(stage.rig, id, WORKLOADS.stepping, { dir, status: 'done' });
    expect(faults(verdict)).toEqual([]);
    expect(verdict).toMatchObject({ once: 4, unknown: 0 });
  });
});

describe('a worker that dies again and again', { timeout: LIMIT_MS }, () => {
  it('is followed by the next, nine times in a row, with every effect once', async () => {
    stage.disarm();
    await stage.revive();
    const windows = ['seal.after-append', 'tool.claimed', 'tool.before-result'] as const;
    const { id, dir } = await stage.start(WORKLOADS.rolling);
    for (let n = 0; n < 9; n++) {
      const window = windows[n % 3]!;
      stage.arm(window);
      await stage.held(window);
      await stage.rig.killWorkers();
      stage.disarm();
      await stage.keepWorkers();
    }
    const verdict = await judge(stage.rig, id, WORKLOADS.rolling, { dir, status: 'done' });
    expect(faults(verdict)).toEqual([]);
    expect(verdict).toMatchObject({ once: 6, unknown: 0 });
  });

  it('of one call is followed twice; then the call is an error, and the job goes on', async () => {
    await stage.revive();
    const { id, dir } = await stage.start(WORKLOADS.shell);
    await journalHas(dir, 'begun');
    for (let n = 1; n <= 3; n++) {
      await stage.rig.event(id, 'call.started', ({ owner }) => owner === n);
      await stage.rig.killWorkers();
      await stage.keepWorkers();
    }
    const verdict = await judge(stage.rig, id, WORKLOADS.shell, { dir, status: 'done' });
    expect(faults(verdict)).toEqual([]);
    expect(verdict).toMatchObject({ once: 1, unknown: 2 });
  });
});

describe('the judge of all this', () => {
  it('notices what was done twice, what was not done, and what was left running', async () => {
    await stage.revive();
    const { id, dir } = await stage.start(WORKLOADS.stepping);
    await stage.rig.settled(id);
    const look = async (): Promise<string[]> =>
      faults(await judge(stage.rig, id, WORKLOADS.stepping, { dir, status: 'done' }));
    expect(await look()).toEqual([]);
    const journal = join(dir, 'journal.txt');
    const text = readFileSync(journal, 'utf8');
    writeFileSync(journal, `${text}2\n`);
    expect(await look()).toEqual(['doubled: the line "2", 2 times']);
    writeFileSync(journal, text.replace('3\n', ''));
    expect(await look()).toEqual(['lost: the line "3"']);
    writeFileSync(journal, text);
    const child = spawn('sleep', ['605'], { env: { ...process.env, [MARK]: `${id}/1/1.0` } });
    expect(await look()).toEqual([`left running: ${child.pid} sleep 605`]);
    child.kill('SIGKILL');
  });
});
