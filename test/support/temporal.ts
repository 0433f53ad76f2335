import { rm } from 'node:fs/promises';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openHome } from '../../src/app/service/home.ts';
import { type Found, findTemporal, notFoundText } from '../../src/app/service/server-finder.ts';
import { NAMESPACE, type ServerHandle, startServer } from '../../src/app/service/server.ts';
import { endProcess } from '../../src/app/service/watched.ts';
import { killIdentity } from '../../src/host/identity.ts';

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

/** Starts a server; call `stop` in `afterAll`. What is still running when the test process exits is killed. */
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
  const cleanUp = (): void => {
    killIdentity(server.identity, 'SIGKILL');
    rmSync(home.home, { recursive: true, force: true });
  };
  process.once('exit', cleanUp);
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
      server = await start(server.port);
    },
    async stop() {
      await server.stop();
      process.removeListener('exit', cleanUp);
      await rm(home.home, { recursive: true, force: true });
    },
  };
}
