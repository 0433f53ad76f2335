import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { callDir, callMark, hooksDir, hooksMark, jobDir } from '../../src/core/paths.ts';
import type { OwnedCall, ShellRun } from '../../src/core/ports.ts';
import { currentIdentity } from '../../src/host/identity.ts';
import { killTree, MARK, membersOf } from '../../src/host/kill-tree.ts';
import { openLedger } from '../../src/host/ledger.ts';
import { type JobStanding, type Reaper, type Standing, startReaper } from '../../src/host/reaper.ts';
import { start } from '../../src/host/supervisor.ts';
import { removeFolder } from '../support/remove-folder.ts';

/** A command with a child that leaves its session. */
const COMMAND = 'setsid sleep 1000 & sleep 1001 & echo on; wait';

let home: string;
let homeKey: string;
let marks: string[];
let reaper: Reaper | undefined;
let asked: string[];
let lines: string[];
let standings: Record<string, Standing>;
let jobs: Record<string, JobStanding>;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reaper-'));
  homeKey = `key-${process.pid}-${home.slice(-6)}`;
  marks = [];
  asked = [];
  lines = [];
  standings = {};
  jobs = {};
  reaper = undefined;
});

afterEach(async () => {
  reaper?.stop();
  for (const mark of marks) await killTree({ mark }, 0);
  await removeFolder(home);
});

const folder = (job: string): string => join(home, jobDir(job), callDir(1, 1, 0));

async function command(job: string, key = homeKey): Promise<{ run: ShellRun; mark: string }> {
  const mark = callMark(key, job, 1, 1, 0);
  marks.push(mark);
  const limits = { timeoutMs: 60_000, maxBytes: 1e6 };
  const env = { PATH: process.env['PATH']! };
  const run = await start(folder(job), { command: COMMAND, cwd: '/', env, mark, ...limits });
  await expect.poll(() => membersOf({ mark }).then((pids) => pids.length)).toBe(3);
  return { run, mark };
}

function reap(): void {
  const standing = (call: { job: string }): Promise<Standing> => {
    asked.push(call.job);
    return Promise.resolve(standings[call.job] ?? 'awaited');
  };
  const jobStanding = (job: string): Promise<JobStanding> => Promise.resolve(jobs[job] ?? 'open');
  reaper = startReaper({ home, homeKey, standing, jobStanding, log: (line) => lines.push(line) });
}

const members = (mark: string): Promise<number[]> => membersOf({ mark });
const gone = (mark: string): Promise<void> => expect.poll(() => members(mark), { timeout: 10_000 }).toEqual([]);

async function own(job: string, key = callDir(1, 1, 0)): Promise<OwnedCall> {
  mkdirSync(join(home, jobDir(job), key), { recursive: true });
  const ledger = openLedger({
    jobDir: join(home, jobDir(job)),
    self: currentIdentity(),
    aliveFile: () => join(home, 'alive'),
    warn: (line) => lines.push(line),
  });
  const ownership = await ledger.own(key, new AbortController().signal);
  if (ownership.kind !== 'owned') throw new Error(ownership.kind);
  return ownership.call;
}

it('ends at once what nobody wants, with all its children, and writes down that it was killed', async () => {
  const { run, mark } = await command('cancelled');
  const { mark: kept } = await command('open');
  standings = { cancelled: 'unwanted' };
  reap();
  await gone(mark);
  expect(await run.exit(new AbortController().signal)).toMatchObject({ why: 'killed' });
  await expect.poll(() => lines).toEqual([`reaper: ended ${mark}, which nobody wants any more`]);
  expect(await members(kept)).toHaveLength(3);
});

it('finds a command whose folder was deleted', async () => {
  const { mark } = await command('deleted');
  rmSync(join(home, jobDir('deleted')), { recursive: true });
  standings = { deleted: 'unwanted' };
  reap();
  await gone(mark);
  expect(asked).toContain('deleted');
});

it('never asks after a command of another home, though the job has the same name', async () => {
  const { mark } = await command('same', `${homeKey}-other`);
  const { mark: ours } = await command('ours');
  standings = { same: 'unwanted', ours: 'unwanted' };
  reap();
  await gone(ours);
  expect(asked).not.toContain('same');
  expect(await members(mark)).toHaveLength(3);
});

it('looks again soon for one that is awaited but has no living owner', async () => {
  const { mark } = await command('late');
  reap();
  await expect.poll(() => asked.length, { timeout: 10_000 }).toBeGreaterThanOrEqual(2);
  expect(await members(mark)).toHaveLength(3);
  standings = { late: 'unwanted' };
  await gone(mark);
});

it('leaves an owned call alone between its sweeps, and a call whose owner is done with it is nobody’s', async () => {
  const busy = await own('busy');
  await command('busy');
  const done = await own('done');
  await command('done');
  await done.result({});
  reap();
  await expect.poll(() => asked.filter((job) => job === 'done').length, { timeout: 10_000 }).toBeGreaterThanOrEqual(3);
  expect(asked.filter((job) => job === 'busy')).toHaveLength(1);
  await busy.release();
});

it('looks at all of them at once when it is woken', async () => {
  const call = await own('held');
  const { mark } = await command('held');
  reap();
  await expect.poll(() => asked).toEqual(['held']);
  standings = { held: 'unwanted' };
  reaper?.wake();
  await gone(mark);
  await call.release();
});

describe('a handler of a hook', () => {
  const key = `${hooksDir(callDir(1, 1, 0), 'PreToolUse')}/0`;
  async function handler(job: string): Promise<string> {
    const mark = hooksMark(homeKey, job, `${key}.`);
    marks.push(mark);
    const child = spawn('/bin/sh', ['-c', 'sleep 1000 & wait'], { env: { [MARK]: mark }, stdio: 'ignore' });
    await once(child, 'spawn');
    await expect.poll(() => members(mark).then((pids) => pids.length)).toBe(2);
    return mark;
  }

  it('is ended with the job that was terminated, though its worker lives', async () => {
    const call = await own('terminated', key);
    const mark = await handler('terminated');
    jobs = { terminated: 'gone' };
    reap();
    await gone(mark);
    await expect.poll(() => lines).toContain(`reaper: ended ${mark}, which nobody wants any more`);
    await call.release();
  });

  it('is ended when its job is closed and its worker dead; while that lives it is that one’s', async () => {
    const orphan = await handler('orphan');
    await own('kept', key);
    const kept = await handler('kept');
    jobs = { orphan: 'closed', kept: 'closed' };
    reap();
    await gone(orphan);
    expect(await members(kept)).toHaveLength(2);
  });

  it('is left alone in an open job while its call is awaited, and ended when that is not', async () => {
    const mark = await handler('open');
    reap();
    await expect.poll(() => asked).toContain('open');
    expect(await members(mark)).toHaveLength(2);
    standings = { open: 'unwanted' };
    reaper?.wake();
    await gone(mark);
  });

  it('that nobody waits for is left alone in an open job, whatever became of its call', async () => {
    await (await own('aside', key)).result({});
    const mark = await handler('aside');
    standings = { aside: 'unwanted' };
    const { mark: call } = await command('aside');
    reap();
    await gone(call);
    expect(await members(mark)).toHaveLength(2);
  });
});
