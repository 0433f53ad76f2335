import { type ChildProcess, spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openHome } from '../../src/app/service/home.ts';
import { type Found, findTemporal, notFoundText } from '../../src/app/service/server-finder.ts';
import { NAMESPACE, type ServerHandle, startServer } from '../../src/app/service/server.ts';
import { endProcess } from '../../src/app/service/watched.ts';

/** A real Temporal server of a test's own, with the settings of the local service, on a database in a temporary folder. */
export interface TestServer {
  readonly address: string;
  readonly namespace: string;
  readonly home: string;
  /** Process id of the server that runs now. */
  readonly pid: number;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  /** Starts it again after `kill`, on the same database and the same port. */
  restart(): Promise<void>;
  /** Ends it and removes its folder. */
  stop(): Promise<void>;
}

/** What a test may ask of its server. */
export interface TestServerOptions {
  /** More `--dynamic-config-value` entries, as `limit.historyCount.suggestContinueAsNew=50`. */
  readonly dynamicConfig?: readonly string[];
}

let program: Promise<Found> | undefined;

/** The `temporal` program, brought once per process where it is missing. */
export function temporalProgram(): Promise<Found> {
  program ??= findTemporal(process.env, { install: true }).then((found) => {
    if (found.kind === 'found') return found;
    throw new Error(`${notFoundText(found)}\n${found.remedies.join('\n')}`);
  });
  return program;
}

/** Starts a server; call `stop` in `afterAll`. What is still running when the test process is gone is killed. */
export async function testServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { program, version } = await temporalProgram();
  const home = openHome(mkdtempSync(join(tmpdir(), 'nightshift-test-server-')));
  const start = (port?: number): Promise<ServerHandle> =>
    startServer({
      program,
      version,
      home,
      ...(port === undefined ? {} : { port: { fixed: port } }),
      ...(options.dynamicConfig === undefined ? {} : { dynamicConfig: options.dynamicConfig }),
    });
  let server = await start();
  let guard = guardServer(server.identity.pid, home.home);
  return {
    address: server.address,
    namespace: NAMESPACE,
    home: home.home,
    get pid() {
      return server.identity.pid;
    },
    kill: () => endProcess(server, 0),
    async restart() {
      await endProcess(server, 0);
      guard.kill('SIGKILL');
      server = await start(server.port);
      guard = guardServer(server.identity.pid, home.home);
    },
    async stop() {
      await server.stop();
      guard.kill('SIGKILL');
      await rm(home.home, { recursive: true, force: true });
    },
  };
}

/** Kills the server and removes its folder as soon as this process is gone, however it went: then the guard's input ends. */
function guardServer(pid: number, home: string): ChildProcess {
  const script = 'cat; kill -9 "$0"; rm -rf "$1"';
  const guard = spawn('/bin/sh', ['-c', script, `${pid}`, home], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.unref();
  if (guard.stdin !== null && 'unref' in guard.stdin && typeof guard.stdin.unref === 'function') guard.stdin.unref();
  return guard;
}
