import { cpSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { commandLine } from '../support/command-line.ts';
import { createSmallDisk } from '../support/small-disk.ts';
import { testServer } from '../support/temporal.ts';
import { countLines, textOf, untilSeen } from '../chaos/files.ts';
import { openStage, type Stage } from '../chaos/stage.ts';
import { faults, judge } from '../chaos/verdict.ts';
import { type Workload, WORKLOADS } from '../chaos/workloads.ts';

const journalHas = (dir: string, line: string): Promise<void> => {
  const journal = join(dir, 'journal.txt');
  return untilSeen(journal, () => countLines(journal, line) > 0, `the line "${line}"`);
};
const results = async (stage: Stage, id: string): Promise<string> => JSON.stringify(await stage.rig.messages(id));

describe('files of a job that are damaged', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage();
  });
  afterAll(() => stage.close());
  afterEach(() => stage.disarm());
  const open = async (workload: Workload): Promise<{ id: string; dir: string; job: string }> => {
    await stage.revive();
    const { id, dir } = await stage.start(workload);
    return { id, dir, job: join(stage.rig.home.jobs, id) };
  };

  it('a ledger that was removed: the command is not run again, its outcome is unknown, and the job goes on', async () => {
    const { id, dir, job } = await open(WORKLOADS.shell);
    await journalHas(dir, 'begun');
    await stage.kill('worker');
    rmSync(join(job, 'turns'), { recursive: true });
    await stage.revive();
    const verdict = await judge(stage.rig, id, WORKLOADS.shell, { dir, status: 'done' });
    expect(faults(verdict)).toEqual([]);
    expect(verdict).toMatchObject({ once: 1, unknown: 2 });
    expect(await results(stage, id)).toContain('The record of this call is gone or damaged.');
  });

  it('a ledger that was removed together with the events: the command is not run again either', async () => {
    const { id, dir, job } = await open(WORKLOADS.shell);
    await journalHas(dir, 'begun');
    await stage.kill('worker');
    for (const name of ['turns', 'events.jsonl']) rmSync(join(job, name), { recursive: true });
    await stage.revive();
    const verdict = await judge(stage.rig, id, WORKLOADS.shell, { dir, status: 'done' });
    expect(faults(verdict)).toEqual([]);
    expect(verdict).toMatchObject({ once: 1, unknown: 2 });
    expect(await results(stage, id)).toContain('The record of this call is gone or damaged.');
  });

  it('its whole folder while a worker lives and the command runs: it is ended and not run again', async () => {
    const { id, dir, job } = await open(WORKLOADS.shell);
    await journalHas(dir, 'begun');
    rmSync(job, { recursive: true });
    await stage.rig.event(id, 'job.closed');
    expect(textOf(join(dir, 'journal.txt'))).toBe('begun\nnext\n');
    const ofTheCall = stage.rig.events(id).filter((event) => 'step' in event && event.step === 1);
    // What was written before is gone; the first pass itself came to an end, and there was no other.
    expect(ofTheCall).toMatchObject([
      { kind: 'call.ended', isError: true, preview: expect.stringMatching(/killed from outside; it may have acted/) },
    ]);
  });

  it.each(['claim', 'owner.1'])('a %s that was torn: nothing is done twice, and the job goes on', async (name) => {
    const { id, dir, job } = await open(WORKLOADS.shell);
    await journalHas(dir, 'begun');
    await stage.kill('worker');
    const file = join(job, 'turns/1/1.0', name);
    truncateSync(file, Math.floor(readFileSync(file).length / 2));
    writeFileSync(join(dir, 'gate'), '');
    await stage.revive();
    const verdict = await judge(stage.rig, id, WORKLOADS.shell, { dir, status: 'done' });
    expect(faults(verdict)).toEqual([]);
    expect(verdict.once + verdict.unknown).toBe(3);
    expect(verdict.unknown > 0).toBe(name === 'claim');
  });

  it('events that were torn: the job goes on, and readers leave out the torn line', async () => {
    const { id, dir, job } = await open(WORKLOADS.shell);
    await journalHas(dir, 'begun');
    await stage.kill('worker');
    const events = join(job, 'events.jsonl');
    truncateSync(events, readFileSync(events).length - 20);
    writeFileSync(join(dir, 'gate'), '');
    await stage.revive();
    expect(faults(await judge(stage.rig, id, WORKLOADS.shell, { dir, status: 'done' }))).toEqual([]);
    await stage.rig.event(id, 'job.closed');
  });

  it('an older copy of its folder that was put back: the job fails, says which file is missing and what to do', async () => {
    stage.arm('reply.after-append');
    const { id, dir, job } = await open(WORKLOADS.stepping);
    await stage.held('reply.after-append');
    const copy = `${dir}.copy`;
    cpSync(job, copy, { recursive: true });
    stage.disarm();
    await journalHas(dir, '3');
    stage.arm('seal.after-append');
    await stage.held('seal.after-append');
    await stage.kill('worker');
    rmSync(job, { recursive: true });
    cpSync(copy, job, { recursive: true });
    stage.disarm();
    await stage.revive();
    expect(await stage.rig.settled(id)).toMatchObject({
      status: 'failed',
      text: expect.stringMatching(/missing.*backup/s),
    });
    expect(textOf(join(dir, 'journal.txt'))).toMatch(/^1\n2\n3\n(4\n)?$/);
  });
});

describe('a home on a full disk', () => {
  it('holds up its jobs, says so, and lets them go on when there is room again', async () => {
    const disk = await createSmallDisk(48 * 2 ** 20);
    const stage = await openStage({}, join(disk.path, 'home'));
    try {
      await stage.revive();
      stage.arm('tool.before-result');
      const { id, dir } = await stage.start(WORKLOADS.paging);
      await stage.held('tool.before-result');
      const filler = join(disk.path, 'filler');
      expect(() => writeFileSync(filler, Buffer.alloc(64 * 2 ** 20, 1))).toThrow('ENOSPC');
      stage.disarm();
      await untilSeen(
        stage.rig.log,
        () => textOf(stage.rig.log).includes('The disk that holds the home is full'),
        'a word about the disk',
      );
      const { client } = stage.rig;
      expect((await client.describe(id)).status).toBe('running');
      const held = await vi.waitFor(
        async () => {
          const found = await client.trouble({ id, status: 'running' });
          expect(found?.attempts).toBeGreaterThan(1);
          return found;
        },
        { timeout: 30_000, interval: 100 },
      );
      expect(held?.text).toContain('The disk that holds the home is full');
      rmSync(filler);
      const verdict = await judge(stage.rig, id, WORKLOADS.paging, { dir, status: 'done' });
      expect(faults(verdict)).toEqual([]);
      expect(verdict).toMatchObject({ once: 2 });
      expect(await client.trouble({ id, status: 'running' })).toBeUndefined();
    } finally {
      await stage.close();
      await disk.close();
    }
  });

  it('can still be looked at, and every look says that the disk is full', async () => {
    const disk = await createSmallDisk(64 * 2 ** 20);
    const server = await testServer(); // elsewhere: SQLite opens no file below a /proc root
    const where = { NIGHTSHIFT_HOME: join(disk.path, 'home'), TEMPORAL_ADDRESS: server.address };
    const c = await commandLine({ steps: [{ text: 'Hello.' }] }, where);
    try {
      expect(await c.run(['run', '--name', 'hello', 'greet me'])).toMatchObject({ code: 0 });
      const filler = join(disk.path, 'filler');
      expect(() => writeFileSync(filler, Buffer.alloc(80 * 2 ** 20, 1))).toThrow('ENOSPC');
      const warned = expect.stringMatching(/^warning: the disk of .* is full \(.* free\); free some space/);
      expect(await c.run(['result', 'hello'])).toEqual({ code: 0, out: 'Hello.\n', err: warned });
      expect(await c.run(['show', 'hello'])).toEqual({ code: 0, out: expect.stringContaining('Hello.'), err: warned });
      expect(await c.run(['ls'])).toEqual({ code: 0, out: expect.stringMatching(/\nhello +done /), err: warned });
      expect((await c.run(['status'])).out).toMatch(/\ndisk +full: .* free; free some space/);
      expect(await c.json(['status'])).toMatchObject({ disk: { full: true }, stuck: [] });
      rmSync(filler);
      expect(await c.run(['ls'])).toMatchObject({ code: 0, err: '' });
    } finally {
      await c.close();
      await server.stop();
      await disk.close();
    }
  });
});
