import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Readable } from 'node:stream';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { distFile } from '../../../src/app/service/dist-file.ts';
import { type Env, type Home, lookAtHome } from '../../../src/app/service/home.ts';
import { findOrphans } from '../../../src/app/service/orphans.ts';
import {
  type Service,
  connectClient,
  currentService,
  ensureService,
  renewVariables,
  stopService,
} from '../../../src/app/service/service.ts';
import type { EnsureOptions } from '../../../src/app/service/keeper-start.ts';
import { serviceStatus } from '../../../src/app/service/service-status.ts';
import { workerFolder } from '../../../src/app/service/worker-folder.ts';
import { type ProcessIdentity, currentIdentity, isAlive, killIdentity } from '../../../src/host/identity.ts';
import { closeServiceHome, openServiceHome, standInWorker } from '../../support/stand-in-service.ts';
import { testServer } from '../../support/temporal.ts';

let root: string;
let env: Env;

beforeEach(async () => {
  ({ root, env } = await openServiceHome('service'));
});
afterEach(() => closeServiceHome({ root, env }));

const up = (options: Partial<EnsureOptions> = {}): Promise<Service> =>
  ensureService({ env, files: { worker: standInWorker }, ...options });

function processes({ state }: Service): { keeper: ProcessIdentity; server: ProcessIdentity; worker: ProcessIdentity } {
  const { keeper, server, worker } = state.record;
  if (!server?.identity || worker === null) throw new Error('the service is not whole');
  return { keeper: keeper.identity, server: server.identity, worker: worker.identity };
}

/** The state of the service once it satisfies the condition. */
function eventually(condition: (service: Service) => boolean): Promise<Service> {
  return vi.waitFor(
    async () => {
      const service = await currentService(env);
      if (service === undefined || service.state.record.worker === null || !condition(service))
        throw new Error('not yet');
      return service;
    },
    { timeout: 20_000, interval: 50 },
  );
}

const gone = (identity: ProcessIdentity): Promise<void> =>
  vi.waitFor(() => expect(isAlive(identity)).toBe(false), { timeout: 20_000, interval: 20 });

/** What the worker was started with. */
function seenBy({ home, state }: Service): { address: string; model: string | null } {
  return JSON.parse(readFileSync(join(workerFolder(home.workers, state.record.worker!.identity), 'seen.json'), 'utf8'));
}

/** Descriptors come and go while they are read. */
function openFiles(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return [];
    }
  });
}

function nothingRuns(home: Home): void {
  expect(findOrphans(home)).toEqual({ servers: [], workers: [] });
  for (const file of [home.lock, home.record, home.socket]) expect(existsSync(file)).toBe(false);
  expect(readdirSync(home.workers)).toEqual([]);
}

test('from nothing, server and worker answer, and status says so; after stop nothing is left', async () => {
  expect(await serviceStatus(env)).toMatchObject({ phase: 'down', server: null, worker: null, workers: [] });
  const lines: string[] = [];
  const service = await up({ progress: (line) => lines.push(line) });
  const { keeper, server, worker } = processes(service);
  expect(seenBy(service).address).toBe(service.address);
  expect(lines).toContain('starting the worker …');
  expect(await serviceStatus(env)).toMatchObject({
    home: env['NIGHTSHIFT_HOME'],
    phase: 'ready',
    namespace: 'default',
    server: { address: service.address, pid: server.pid, uiUrl: null },
    worker: { pid: worker.pid, supervisorPid: keeper.pid, restarts: 0 },
    workers: [{ pid: worker.pid }],
    dashboard: null,
  });
  expect(await stopService({ env, now: false })).toBe(true);
  expect([keeper, server, worker].filter(isAlive)).toEqual([]);
  nothingRuns(service.home);
  expect(await stopService({ env, now: false })).toBe(false);
});

test('of three that bring it up at once, one starts it and all get the same service', async () => {
  const [first, ...others] = await Promise.all([up(), up(), up()]);
  expect(others.map(processes)).toEqual([processes(first), processes(first)]);
  expect(findOrphans(first.home).servers).toHaveLength(1);
});

test('a server that is killed comes back at its address with what it had acknowledged', async () => {
  const before = await up();
  const client = await connectClient(before, env);
  await client.workflow.start('nobody', { taskQueue: before.taskQueue, workflowId: 'kept' });
  killIdentity(processes(before).server, 'SIGKILL');
  await gone(processes(before).server);
  const after = await eventually((service) => processes(service).server.pid !== processes(before).server.pid);
  expect(after.address).toBe(before.address);
  expect(processes(after).worker).toEqual(processes(before).worker);
  expect((await client.workflow.getHandle('kept').describe()).status.name).toBe('RUNNING');
  await client.connection.close();
});

test('a worker that is killed is replaced and counted, and its folder is swept away', async () => {
  const before = await up();
  const { worker: first } = processes(before);
  killIdentity(first, 'SIGKILL');
  const after = await eventually((service) => processes(service).worker.pid !== first.pid);
  expect(after.state.record.worker?.restarts).toBe(1);
  expect(processes(after).server).toEqual(processes(before).server);
  await vi.waitFor(() => expect(existsSync(workerFolder(after.home.workers, first))).toBe(false), { timeout: 10_000 });
});

test('a worker whose main loop stands still is killed and replaced', async () => {
  const before = await up({ silentAfter: 3000 });
  const { worker: stuck } = processes(before);
  process.kill(stuck.pid, 'SIGSTOP');
  await gone(stuck);
  const after = await eventually((service) => processes(service).worker.pid !== stuck.pid);
  expect(after.state.record.worker?.restarts).toBe(1);
});

test('when the keeper is killed its service goes on, and the next one ends that before it starts its own', async () => {
  const before = processes(await up());
  killIdentity(before.keeper, 'SIGKILL');
  await gone(before.keeper);
  expect(isAlive(before.server)).toBe(true);
  expect(await serviceStatus(env)).toMatchObject({
    phase: 'down',
    server: { pid: before.server.pid },
    worker: { supervisorPid: null },
  });
  const after = await up();
  expect([before.server, before.worker].filter(isAlive)).toEqual([]);
  expect(findOrphans(after.home)).toEqual({
    servers: [processes(after).server.pid],
    workers: [processes(after).worker.pid],
  });
});

test('who asks for a service that is being ended gets the next one', async () => {
  const before = processes(await up());
  const ended = stopService({ env, now: false });
  await vi.waitFor(async () => expect(await serviceStatus(env)).toMatchObject({ phase: 'stopping' }), { interval: 10 });
  const next = await up();
  expect(await ended).toBe(true);
  expect(Object.values(before).filter(isAlive)).toEqual([]);
  expect(Object.values(processes(next)).every(isAlive)).toBe(true);
});

test('stop ends what a killed keeper left', async () => {
  const service = await up();
  killIdentity(processes(service).keeper, 'SIGKILL');
  await gone(processes(service).keeper);
  expect(await stopService({ env, now: false })).toBe(true);
  nothingRuns(service.home);
});

test('a keeper that accepts but never answers is killed and replaced', async () => {
  const before = processes(await up());
  process.kill(before.keeper.pid, 'SIGSTOP');
  const lines: string[] = [];
  const after = processes(await up({ progress: (line) => lines.push(line) }));
  expect(lines).toContain(`the keeper (pid ${before.keeper.pid}) did not answer: killed it`);
  expect([before.keeper, before.server, before.worker].filter(isAlive)).toEqual([]);
  expect(isAlive(after.keeper)).toBe(true);
});

test('SIGTERM to the keeper ends everything in order', async () => {
  const service = await up();
  killIdentity(processes(service).keeper, 'SIGTERM');
  await gone(processes(service).keeper);
  expect(isAlive(processes(service).server)).toBe(false);
  nothingRuns(service.home);
});

test('a service whose home is removed ends by itself', async () => {
  const service = await up();
  rmSync(service.home.home, { recursive: true, force: true });
  await gone(processes(service).keeper);
  expect(findOrphans(service.home)).toEqual({ servers: [], workers: [] });
});

test('the lock of a process of an earlier boot does not matter', async () => {
  mkdirSync(env['NIGHTSHIFT_HOME']!, { recursive: true });
  const identity = { ...currentIdentity(), bootId: 'an-earlier-boot' };
  writeFileSync(
    join(env['NIGHTSHIFT_HOME']!, 'up.lock'),
    JSON.stringify({ nonce: '7b1c7a52-9d0e-4c4d-9f0a-0d5a2f1f4e11', identity }),
  );
  const service = await up();
  expect(isAlive(processes(service).keeper)).toBe(true);
});

test('a worker that never comes up is an error with its last words, and nothing is left', async () => {
  env = { ...env, STAND_IN: 'crash' };
  await expect(up()).rejects.toMatchObject({
    exitCode: 4,
    message: expect.stringContaining('the stand-in crashes as asked'),
  });
  const home = lookAtHome(env['NIGHTSHIFT_HOME']!)!;
  await vi.waitFor(() => nothingRuns(home), { timeout: 10_000 });
});

test('a fixed port that is taken is an error that names the variable', async () => {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  env = { ...env, NIGHTSHIFT_SERVER_PORT: `${port}` };
  await expect(up()).rejects.toMatchObject({
    exitCode: 4,
    message: expect.stringContaining(`Port ${port} of NIGHTSHIFT_SERVER_PORT is taken`),
  });
  listener.close();
  env = { ...env, NIGHTSHIFT_SERVER_PORT: 'seven' };
  // The keeper that failed may still be there to say why.
  const said = (): Promise<string> => up().then(() => 'up', String);
  await expect.poll(said).toContain('NIGHTSHIFT_SERVER_PORT is "seven"');
});

test('a program that is none is an error, whatever else could be found', async () => {
  env = { ...env, NIGHTSHIFT_TEMPORAL_CLI: join(root, 'missing') };
  await expect(up()).rejects.toMatchObject({ exitCode: 4, message: expect.stringContaining('there is no such file') });
});

test('other model variables restart the worker, the same or none do not, and no value reaches the disk', async () => {
  const secret = 'value-that-stays-in-memory';
  env = { ...env, ANTHROPIC_MODEL: 'first', ANTHROPIC_API_KEY: secret };
  const first = await up();
  expect(first.credentials).toBe(true);
  expect(await renewVariables(first, env, () => {})).toBe(first);
  expect(await renewVariables(first, { PATH: env['PATH'] }, () => {})).toBe(first);
  const second = await renewVariables(first, { ...env, ANTHROPIC_MODEL: 'second' }, () => {});
  expect(processes(second).worker.pid).not.toBe(processes(first).worker.pid);
  expect(seenBy(second).model).toBe('second');
  const files = readdirSync(first.home.home, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  expect(files.filter((file) => readFileSync(join(file.parentPath, file.name)).includes(secret))).toEqual([]);
});

test('a home that lies deeper than socket paths may be long works the same', async () => {
  env = { ...env, NIGHTSHIFT_HOME: join(root, 'a-rather-long-name-of-a-folder/'.repeat(5), 'home') };
  const service = await up();
  expect(existsSync(service.home.socket)).toBe(true);
  expect(await serviceStatus(env)).toMatchObject({ phase: 'ready' });
});

test('a server of the user’s own gets a worker only', async () => {
  const server = await testServer();
  env = { ...env, TEMPORAL_ADDRESS: server.address };
  const service = await up();
  expect(service.state.record.server).toMatchObject({ address: server.address, identity: null });
  expect(findOrphans(service.home)).toEqual({ servers: [], workers: [service.state.record.worker?.identity.pid] });
  expect(seenBy(service).address).toBe(server.address);
  const { TEMPORAL_ADDRESS: _, ...local } = env;
  await expect(ensureService({ env: local, files: { worker: standInWorker } })).rejects.toThrow(
    /uses the server .* asks for a local one/,
  );
  await stopService({ env, now: true });
  await server.stop();
});

test('a server of the user’s own that does not answer is an error with the address', async () => {
  env = { ...env, TEMPORAL_ADDRESS: '127.0.0.1:1' };
  await expect(up()).rejects.toMatchObject({ exitCode: 4, message: expect.stringContaining('127.0.0.1:1 can') });
});

test('the service keeps nothing of the shell that started it: no terminal, pipe or folder', async () => {
  const script = `
    const { ensureService } = await import(${JSON.stringify(distFile('src/app/service/service.js'))});
    await ensureService({ env: process.env, files: { worker: ${JSON.stringify(standInWorker)} } });`;
  // Descriptors of any number are to be given up.
  const bash = 'exec 77>&1 251>&2; exec "$0" "$@"';
  const shell = spawn('/bin/bash', ['-c', bash, process.execPath, '--input-type=module', '-e', script], {
    cwd: root,
    env,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  });
  // A pipe ends only when nobody has its other end open any more.
  const ends = shell.stdio.slice(1).map((pipe) => once((pipe as Readable).resume(), 'end'));
  await Promise.all([once(shell, 'exit'), ...ends]);
  expect(shell.exitCode).toBe(0);
  const service = await eventually(() => true);
  for (const { pid } of Object.values(processes(service))) {
    const target = (fd: string | number): string => readlinkSync(`/proc/${pid}/fd/${fd}`);
    expect(target(0)).toBe('/dev/null');
    expect([target(1), target(2)].every((path) => path.startsWith(service.home.logs))).toBe(true);
    expect(openFiles(pid).filter((path) => /^\/dev\/(tty|pts)/.test(path))).toEqual([]);
    expect(readlinkSync(`/proc/${pid}/cwd`)).toBe(service.home.home);
    const [, session] = /^\S+ \(.*\) \S \S+ \S+ (\S+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    expect(Number(session)).toBe(pid);
  }
});
