import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { countLines, namesIn, untilSeen } from '../chaos/files.ts';
import { openStage, type Stage } from '../chaos/stage.ts';
import { faults, judge } from '../chaos/verdict.ts';
import { WORKLOADS } from '../chaos/workloads.ts';
import { MARK } from '../../src/host/kill-tree.ts';

const SILENT_MS = 2_000;
/** A worker that has waited so long for a command is none that the command kills. */
const PROVEN_MS = 200;
const DEATHS = Number(process.env['NIGHTSHIFT_DEATHS'] ?? 9);
const WORKERS = 3;
/** The server may hand a task to a worker that does not answer several times, each for a heartbeat time-out. */
const LIMIT_MS = 300_000;
let stage: Stage;
beforeAll(async () => {
  stage = await openStage({ NIGHTSHIFT_SILENT_AFTER_MS: String(SILENT_MS) });
});
afterAll(() => stage.close());

const journalHas = (dir: string, line: string): Promise<void> => {
  const journal = join(dir, 'journal.txt');
  return untilSeen(journal, () => countLines(journal, line) > 0, `the line "${line}"`);
};
/** The folder of a job's first call. */
const callOf = (id: string): string => join(stage.rig.home.jobs, id, 'turns/1/1.0');
/** The number of who has it. */
const lastOwner = (id: string): number =>
  Math.max(
    ...namesIn(callOf(id))
      .filter((name) => name.startsWith('owner.'))
      .map((name) => Number(name.slice('owner.'.length))),
  );
/** The process that has it. */
function ownerOf(id: string): number {
  return (JSON.parse(readFileSync(join(callOf(id), `owner.${lastOwner(id)}`), 'utf8')) as { pid: number }).pid;
}
/** Kills one worker; another one that lives already has to take over. */
async function killOne(pid: number): Promise<void> {
  await stage.rig.workers.find(({ child }) => child.pid === pid)!.kill();
  await stage.keepWorkers(WORKERS);
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
  beforeAll(async () => {
    await stage.close();
    stage = await openStage({ NIGHTSHIFT_PROVEN_AFTER_MS: String(PROVEN_MS) });
  });

  it(`is followed by the next, ${DEATHS} times in a row, with every effect once`, async () => {
    await stage.revive(WORKERS);
    const windows = ['tool.claimed', 'tool.before-result', 'seal.after-append'] as const;
    stage.arm(windows[0]);
    const { id, dir } = await stage.start(WORKLOADS.marching);
    for (let n = 0; n < DEATHS; n++) {
      const window = windows[n % windows.length]!;
      const held = await stage.held(window);
      stage.arm(windows[(n + 1) % windows.length]!);
      await killOne(held);
    }
    stage.disarm();
    const verdict = await judge(stage.rig, id, WORKLOADS.marching, { dir, status: 'done' });
    expect(faults(verdict)).toEqual([]);
    expect(verdict).toMatchObject({ once: 10, unknown: 0 });
  });

  it(`${DEATHS} times beside one command, leaves that to the next each time, until it ends by itself`, async () => {
    await stage.revive(WORKERS);
    const { id, dir } = await stage.start(WORKLOADS.shell);
    await journalHas(dir, 'begun');
    let killed = 0;
    const waits = (): boolean => lastOwner(id) > killed && existsSync(join(callOf(id), `waits.${lastOwner(id)}`));
    const nextWaits = (): Promise<void> => untilSeen(join(callOf(id), 'any'), waits, 'the mark of the next owner');
    for (let n = 1; n <= DEATHS; n++) {
      await nextWaits();
      killed = lastOwner(id);
      await killOne(ownerOf(id));
    }
    await nextWaits();
    writeFileSync(join(dir, 'gate'), '');
    const verdict = await judge(stage.rig, id, WORKLOADS.shell, { dir, status: 'done' });
    expect(faults(verdict)).toEqual([]);
    expect(verdict).toMatchObject({ once: 3, unknown: 0 });
    const ended = await stage.rig.event(id, 'call.ended');
    expect(ended).toMatchObject({ outcome: 'adopted', isError: false });
    expect(JSON.parse(readFileSync(join(callOf(id), 'exit'), 'utf8'))).toEqual({ code: 0, why: 'exit' });
  });

  it('of one call is followed twice; then the call is an error, its command is stopped, and the job goes on', async () => {
    await stage.rig.killWorkers();
    await stage.rig.startWorker({ NIGHTSHIFT_PROVEN_AFTER_MS: '' });
    const { id, dir } = await stage.start(WORKLOADS.shell);
    await journalHas(dir, 'begun');
    for (let n = 1; n <= 3; n++) {
      await stage.rig.event(id, 'call.started', ({ owner }) => owner === n);
      await stage.rig.killWorkers();
      await stage.rig.startWorker({ NIGHTSHIFT_PROVEN_AFTER_MS: '' });
    }
    const ended = await stage.rig.event(id, 'call.ended');
    expect(JSON.parse(readFileSync(join(callOf(id), 'exit'), 'utf8'))).toMatchObject({ why: 'killed' });
    expect(ended).toMatchObject({ outcome: 'unknown', isError: true });
    expect(ended.preview).toBe(
      'The worker died 3 times in this call. Its command still ran and was stopped with all that it had started; it may have acted. It is not tried again; find another way, or smaller steps.',
    );
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
