import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { idFile, type Env } from '../../../src/app/service/home.ts';
import { findOrphans, workerMark } from '../../../src/app/service/orphans.ts';
import { type Service, currentService, ensureService, stopService } from '../../../src/app/service/service.ts';
import { serviceStatus } from '../../../src/app/service/service-status.ts';
import { isAlive, killIdentity } from '../../../src/host/identity.ts';
import { closeServiceHome, openServiceHome, standInWorker } from '../../support/stand-in-service.ts';

let root: string;
let env: Env;

beforeEach(async () => {
  ({ root, env } = await openServiceHome('lost'));
});
afterEach(() => closeServiceHome({ root, env }));

const up = (progress: (line: string) => void = () => undefined): Promise<Service> =>
  ensureService({ env, files: { worker: standInWorker }, progress });
const pids = ({ state }: Service): unknown => {
  const { keeper, server, worker } = state.record;
  return [keeper, server, worker].map((one) => one?.identity?.pid);
};
const keeperLog = ({ home }: Service): string => readFileSync(join(home.logs, 'keeper.log'), 'utf8');

test('a keeper makes its socket and its record anew when they are removed, and nobody takes it for gone meanwhile', async () => {
  const before = await up();
  const { home } = before;
  rmSync(home.socket);
  rmSync(home.record);
  const { server, worker } = before.state.record;
  expect(await serviceStatus(env)).toMatchObject({
    phase: 'ready',
    server: { pid: server?.identity?.pid },
    worker: { pid: worker?.identity.pid },
  });
  expect(existsSync(home.socket)).toBe(true);
  await vi.waitFor(() => expect(existsSync(home.record)).toBe(true), { timeout: 10_000 });
  for (const file of [home.socket, home.record]) expect(keeperLog(before)).toContain(`${file} was gone: made it anew`);
  rmSync(home.socket);
  expect(pids(await up())).toEqual(pids(before));
  expect(await stopService({ env, now: true })).toBe(true);
  for (const file of [home.socket, home.record, home.lock]) expect(existsSync(file)).toBe(false);
});

test('a keeper that hangs and has lost its socket is killed and replaced', { timeout: 90_000 }, async () => {
  const before = await up();
  const { keeper, server, worker } = before.state.record;
  process.kill(keeper.identity.pid, 'SIGSTOP');
  rmSync(before.home.socket);
  const lines: string[] = [];
  const after = await up((line) => lines.push(line));
  expect(lines).toContain(`the keeper (pid ${keeper.identity.pid}) did not answer: killed it`);
  expect([keeper.identity, server!.identity!, worker!.identity].filter(isAlive)).toEqual([]);
  expect(isAlive(after.state.record.keeper.identity)).toBe(true);
});

test('a keeper puts the id of its home back', async () => {
  const { home } = await up();
  rmSync(idFile(home.home));
  await vi.waitFor(async () => expect((await currentService(env))?.home.id).toBe(home.id), { timeout: 10_000 });
});

test('without its id a home that was used is refused by whatever starts or looks, until it is put back', async () => {
  const { home } = await up();
  await stopService({ env, now: true });
  rmSync(idFile(home.home));
  for (const ask of [up, () => serviceStatus(env), () => stopService({ env, now: true })])
    await expect(ask()).rejects.toMatchObject({ exitCode: 4, fix: expect.stringContaining('12 digits') });
  expect(existsSync(idFile(home.home))).toBe(false);
  writeFileSync(idFile(home.home), home.id);
  expect((await up()).home.id).toBe(home.id);
});

test('down finds a worker that was left behind under another id of the home, and leaves those of others alone', async () => {
  const before = await up();
  const { keeper, worker } = before.state.record;
  killIdentity(keeper.identity, 'SIGKILL');
  await vi.waitFor(() => expect(isAlive(keeper.identity)).toBe(false), { timeout: 10_000 });
  writeFileSync(idFile(before.home.home), '0123456789ab');
  const other = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)', '--', workerMark('ba9876543210')], {
    cwd: root,
  });
  try {
    await vi.waitFor(() => expect(readFileSync(`/proc/${other.pid}/cmdline`, 'utf8')).toContain('--worker-of'));
    expect(findOrphans({ ...before.home, id: '0123456789ab' }).workers).toEqual([worker?.identity.pid]);
    expect(await stopService({ env, now: true })).toBe(true);
    expect(isAlive(worker!.identity)).toBe(false);
    expect(other.exitCode).toBeNull();
  } finally {
    other.kill('SIGKILL');
  }
});
