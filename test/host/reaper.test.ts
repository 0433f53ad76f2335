import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { callDir, callMark, jobDir } from '../../src/core/paths.ts';
import type { OwnedCall, ShellRun } from '../../src/core/ports.ts';
import { currentIdentity } from '../../src/host/identity.ts';
import { killTree, membersOf } from '../../src/host/kill-tree.ts';
import { openLedger } from '../../src/host/ledger.ts';
import { type Standing, startReaper } from '../../src/host/reaper.ts';
import { start } from '../../src/host/supervisor.ts';

/** A command with a child that leaves its session. */
const COMMAND = 'setsid sleep 1000 & sleep 1001 & echo on; wait';

let home: string;
let homeKey: string;
let marks: string[];
let stop: () => void;
let asked: string[];
let lines: string[];
let standings: Record<string, Standing>;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reaper-'));
  homeKey = `key-${process.pid}-${home.slice(-6)}`;
  marks = [];
  asked = [];
  lines = [];
  standings = {};
  stop = () => undefined;
});

afterEach(async () => {
  stop();
  for (const mark of marks) await killTree({ mark }, 0);
  // Supervisors write their last word when their command is dead.
  rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
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
  stop = startReaper({ home, homeKey, standing, log: (line) => lines.push(line) });
}

const members = (mark: string): Promise<number[]> => membersOf({ mark });
const gone = (mark: string): Promise<void> => expect.poll(() => members(mark), { timeout: 10_000 }).toEqual([]);

async function own(job: string): Promise<OwnedCall> {
  mkdirSync(folder(job), { recursive: true });
  const ledger = openLedger({
    jobDir: join(home, jobDir(job)),
    self: currentIdentity(),
    aliveFile: () => join(home, 'alive'),
    warn: (line) => lines.push(line),
  });
  const ownership = await ledger.own(callDir(1, 1, 0), new AbortController().signal);
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
