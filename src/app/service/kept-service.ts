import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { killIdentity } from '../../host/identity.ts';
import { LOCAL_SERVER } from './connection.ts';
import type { KeeperState } from './control.ts';
import type { Env, Home } from './home.ts';
import type { KeeperSpec } from './keeper-spec.ts';
import { type Kept, keepProcess } from './kept-process.ts';
import { hasCredentials, modelVariables, variablesHash } from './model-variables.ts';
import { endOrphans } from './orphans.ts';
import { NAMESPACE, type ServerHandle, serverAnswers, startServer } from './server.ts';
import { ServiceError, errorText } from './service-error.ts';
import { type ServiceRecord, writeRecord } from './service-record.ts';
import { endProcess } from './watched.ts';
import { sweepWorkers, workerEntry } from './worker-folder.ts';
import { type WorkerProcess, silenceWatch, startWorker } from './worker-process.ts';

/** What a service is kept with. */
export interface ServiceOptions {
  readonly spec: KeeperSpec;
  readonly home: Home;
  readonly env: Env;
  readonly keeper: ServiceRecord['keeper'];
  readonly log: (line: string) => void;
  /** Whether the home is still this keeper's: only then its record may be written. */
  readonly holdsHome: () => boolean;
  /** Called when nothing of an earlier service runs any more, before a server of its own is started on the home; what it throws prevents that. */
  readonly admit: () => Promise<void>;
}

/** The server and the workers of one home, each started again when it ends. */
export interface KeptService {
  /** Ends what a dead keeper left, then starts; rejects when the service could not come up. */
  start(): Promise<void>;
  /** Resolves when server and worker both answer. */
  ready(): Promise<void>;
  /** Resolves when the server answers, as early as that may be. */
  serverReady(): Promise<void>;
  /** Does not start the first worker before this settles, or the server has answered for five seconds: what is told to the jobs until then, they hear first. */
  holdWorker(until: Promise<void>): void;
  state(): KeeperState;
  /** Writes the record as it is now. */
  writeRecord(): void;
  /** Resolves when workers with these model variables, from this program, answer; what is not given stays as it is. */
  restartWorker(wanted: { variables?: Env | undefined; workerFile?: string | undefined }): Promise<void>;
  /** Keeps a second worker, if it does not yet; resolves when that answers. */
  keepStandby(): Promise<void>;
  /** To be called each second: kills what hangs. */
  look(): void;
  /** Ends both in order, the worker first; with `now` the worker gets a second and the server none. */
  stop(now: boolean): Promise<void>;
}

/** A worker finishes within its own limits of 10 and 30 s; after this it is killed. In ms. */
const WORKER_GRACE = 35_000;
const SHORT_GRACE = 1000;
/** A worker that fails this often before it ever ran makes `up` fail. */
const FIRST_STARTS = 3;
/** So long the first worker waits for those who have something to tell its jobs, in ms. */
const HOLD_LIMIT = 5000;
const SERVER_LOOK_EVERY = 10;
const SERVER_LOOKS = 3;

/** Makes the service of a home; call it under the home's lock. */
export function keepService({ spec, home, env, keeper, log, holdsHome, admit }: ServiceOptions): KeptService {
  const salt = randomUUID();
  let phase: ServiceRecord['phase'] = 'starting';
  let variables = modelVariables(env);
  let server: Kept<ServerHandle> | undefined;
  let worker: Kept<WorkerProcess> | undefined;
  let standby: Kept<WorkerProcess> | undefined;
  let workerFile = spec.workerFile;
  const workers = (): Kept<WorkerProcess>[] => [worker, standby].filter((kept) => kept !== undefined);

  const record = (): ServiceRecord => ({
    v: 1,
    phase,
    namespace: spec.server.kind === 'own' ? spec.server.namespace : NAMESPACE,
    keeper,
    server: spec.server.kind === 'own' ? ownRecord(spec.server.address) : serverRecord(server?.current()),
    worker: workerRecord(worker, home),
    standby: workerRecord(standby, home),
  });
  const writeNow = (): void => {
    if (holdsHome()) writeRecord(home.record, record());
  };
  const changed = (): void => {
    try {
      writeNow();
    } catch (error) {
      // The record is for those who look; whoever needs the service asks the socket.
      log(`${home.record} can't be written: ${errorText(error)}`);
    }
  };
  const refuseWhenStopping = (): void => {
    if (phase === 'stopping') throw new Error('The service is being stopped.');
  };
  const keepWorker = (name: string): Kept<WorkerProcess> =>
    keepProcess<WorkerProcess>({
      name,
      async start(signal) {
        const address = (await server?.ready(undefined, signal))?.address;
        return startWorker({ home, file: workerFile, env: workerEnv(env, home, variables, address), signal });
      },
      end: (running) => endProcess(running, WORKER_GRACE),
      changed,
      log,
      died: () => sweepWorkers(home.workers),
    });
  const replaceAll = async (): Promise<void> => {
    // One after the other, so that with two of them calls are always taken.
    for (const kept of workers()) await kept.replace(FIRST_STARTS);
  };
  const keepStandby = async (): Promise<void> => {
    if (standby === undefined) log('starting the standby worker …');
    standby ??= keepWorker('standby worker');
    await standby.ready(FIRST_STARTS);
  };
  const silences = [0, 1].map(() => silenceWatch(home.workers, log, spec.silentAfter));
  const hangs = hangWatch(log);
  const holds = new Set<Promise<void>>();
  let serverIsUp = (): void => {};
  const firstUp = new Promise<void>((resolve) => (serverIsUp = resolve));

  return {
    async start() {
      await endOrphans(home, SHORT_GRACE, log);
      sweepWorkers(home.workers);
      refuseWhenStopping();
      if (spec.server.kind === 'local') {
        await admit();
        refuseWhenStopping();
        log('starting the Temporal server …');
        server = keepServer(spec.server, { home, log, changed, moved: () => void replaceAll().catch(() => {}) });
        await server.ready(1);
        refuseWhenStopping();
      }
      serverIsUp();
      while (holds.size > 0) await Promise.race(holds);
      refuseWhenStopping();
      log('starting the worker …');
      worker = keepWorker('worker');
      await worker.ready(FIRST_STARTS);
      refuseWhenStopping();
      if (spec.standby === true) await keepStandby();
      phase = 'ready';
      changed();
    },
    async ready() {
      refuseWhenStopping();
      await server?.ready();
      await worker?.ready();
    },
    async serverReady() {
      await firstUp;
      refuseWhenStopping();
      await server?.ready();
    },
    holdWorker(until) {
      const hold = Promise.race([until, firstUp.then(() => patience(HOLD_LIMIT))]).finally(() => holds.delete(hold));
      holds.add(hold);
    },
    state: () => ({
      record: record(),
      credentials: hasCredentials(variables),
      variables: { salt, hash: variablesHash(variables, salt) },
    }),
    writeRecord: writeNow,
    async restartWorker(wanted) {
      if (wanted.variables !== undefined) variables = modelVariables(wanted.variables);
      const before = workerFile;
      workerFile = wanted.workerFile ?? before;
      log(`restarting the worker with ${wanted.workerFile === undefined ? 'the new model variables' : 'this build'} …`);
      try {
        await replaceAll();
      } catch (error) {
        if (workerFile === before) throw error;
        workerFile = before;
        await Promise.all(workers().map((kept) => kept.ready()));
        throw new ServiceError(
          `The worker of this build does not start, so the one before works on. ${errorText(error)}`,
          `Look at ${home.logs}/worker.log`,
        );
      }
    },
    async keepStandby() {
      refuseWhenStopping();
      await keepStandby();
    },
    look() {
      silences.forEach((silent, index) => silent(workers()[index]?.current()));
      hangs(server?.current());
    },
    async stop(now) {
      phase = 'stopping';
      const grace = now ? SHORT_GRACE : WORKER_GRACE;
      await Promise.all(workers().map((kept) => kept.stop((running) => endProcess(running, grace))));
      // A server that is killed has lost nothing that it acknowledged.
      await server?.stop(now ? (running) => endProcess(running, 0) : undefined);
      sweepWorkers(home.workers);
      if (holdsHome()) rmSync(home.record, { force: true });
    },
  };
}

function patience(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

interface ServerSurroundings {
  readonly home: Home;
  readonly log: (line: string) => void;
  readonly changed: () => void;
  /** Called when the server came back at another address. */
  readonly moved: () => void;
}

/** The server comes back on its port, so that clients and workers find it again; only a port taken meanwhile moves it. */
function keepServer(
  wanted: Extract<KeeperSpec['server'], { kind: 'local' }>,
  around: ServerSurroundings,
): Kept<ServerHandle> {
  const { program, version, ui, fixedPort } = wanted;
  const { home, log, changed, moved } = around;
  let last: ServerHandle | undefined;
  return keepProcess<ServerHandle>({
    name: 'server',
    async start(signal) {
      const preferred = last === undefined ? {} : { port: { preferred: last.port } };
      const port = fixedPort === undefined ? preferred : { port: { fixed: fixedPort } };
      const next = await startServer({ program, version, home, ui, signal, ...port });
      if (last !== undefined && last.address !== next.address) moved();
      last = next;
      return next;
    },
    end: (running) => running.stop(),
    changed,
    log,
  });
}

function ownRecord(address: string): ServiceRecord['server'] {
  return { address, identity: null, version: null, uiUrl: null, startedAt: null };
}

function serverRecord(running: ServerHandle | undefined): ServiceRecord['server'] {
  if (running === undefined) return null;
  const { address, identity, version, uiUrl, startedAt } = running;
  return { address, identity, version, uiUrl, startedAt };
}

function workerRecord(worker: Kept<WorkerProcess> | undefined, home: Home): ServiceRecord['worker'] {
  const running = worker?.current();
  if (worker === undefined || running === undefined) return null;
  const { identity, startedAt } = running;
  const build = workerEntry(home.workers, identity)?.build;
  return { identity, startedAt, restarts: worker.restarts(), ...(build === undefined ? {} : { build }) };
}

/** The shell's environment, the newest model variables, and the address of the local server. */
function workerEnv(
  env: Env,
  home: Home,
  variables: Record<string, string>,
  address: string | undefined,
): Record<string, string | undefined> {
  const shell = Object.entries(env).filter(([name]) => !name.startsWith('ANTHROPIC_') && name !== LOCAL_SERVER);
  const local = address === undefined ? {} : { [LOCAL_SERVER]: address };
  return { ...Object.fromEntries(shell), ...variables, ...local, NIGHTSHIFT_HOME: home.home };
}

/** A server that gave no answer in three looks, ten seconds apart, is as good as dead and is killed. */
function hangWatch(log: (line: string) => void): (server: ServerHandle | undefined) => void {
  let looks = 0;
  let silent = { pid: 0, times: 0 };
  const look = async (server: ServerHandle): Promise<void> => {
    const { pid } = server.identity;
    const answers = await serverAnswers(server.identity, server, SERVER_LOOK_EVERY * 1000);
    silent = { pid, times: answers ? 0 : silent.pid === pid ? silent.times + 1 : 1 };
    if (silent.times < SERVER_LOOKS) return;
    if (killIdentity(server.identity, 'SIGKILL')) log(`server: no answer, killing it (pid ${pid})`);
  };
  return (server) => {
    looks += 1;
    if (server !== undefined && looks % SERVER_LOOK_EVERY === 0) void look(server);
  };
}
