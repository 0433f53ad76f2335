import { isAlive } from '../../host/identity.ts';
import { type Asked, askKeeper } from './control.ts';
import { type Env, type Home, LEAST_FREE, freeBytes, homePath, lookAtHome } from './home.ts';
import { holder } from './keeper-end.ts';
import { readRecord, type ServiceRecord } from './service-record.ts';
import { listWorkers } from './worker-folder.ts';

/** A worker that the keeper of the service started. */
export interface KeptWorker {
  readonly pid: number;
  /** Null when the keeper is gone and the worker goes on without one. */
  readonly supervisorPid: number | null;
  readonly startedAt: string;
  readonly restarts: number;
  /** Of the workflows it runs. */
  readonly build: string | null;
}

const SOCKET_LIMIT = 4000;
const LOOK_EVERY = 50;

/** What `status --json` prints. */
export interface ServiceStatus {
  readonly home: string;
  readonly phase: 'down' | ServiceRecord['phase'];
  readonly namespace: string | null;
  readonly server: {
    readonly address: string;
    readonly pid: number | null;
    readonly version: string | null;
    readonly uiUrl: string | null;
  } | null;
  readonly worker: KeptWorker | null;
  /** The second worker, where one was asked for and runs. */
  readonly standby: KeptWorker | null;
  readonly workers: readonly { readonly pid: number; readonly host: string; readonly startedAt: string }[];
  readonly dashboard: { readonly url: string } | null;
  /** Of the disk that holds the home; null where there is no home yet. */
  readonly disk: { readonly freeBytes: number; readonly full: boolean } | null;
}

/** Looks at the service of this environment's home without changing anything. */
export async function serviceStatus(env: Env): Promise<ServiceStatus> {
  const path = homePath(env);
  const home = lookAtHome(path);
  if (home === undefined)
    return {
      home: path,
      phase: 'down',
      namespace: null,
      server: null,
      worker: null,
      standby: null,
      workers: [],
      dashboard: null,
      disk: null,
    };
  const asked = await askPatiently(home);
  const record = asked.kind === 'answer' ? asked.state.record : leftOver(readRecord(home.record));
  const keeper = record !== undefined && isAlive(record.keeper.identity) ? record.keeper.identity.pid : null;
  const server = record?.server ?? null;
  return {
    home: path,
    phase: keeper === null ? 'down' : (record?.phase ?? 'down'),
    namespace: record?.namespace ?? null,
    server: server && {
      address: server.address,
      pid: server.identity?.pid ?? null,
      version: server.version,
      uiUrl: server.uiUrl,
    },
    worker: keptWorker(record?.worker, keeper),
    standby: keptWorker(record?.standby, keeper),
    workers: listWorkers(home.workers).map(({ identity, host, startedAt }) => ({ pid: identity.pid, host, startedAt })),
    dashboard: null,
    disk: diskOf(path),
  };
}

/** A keeper makes a socket that was removed anew within two seconds: while one lives, nobody there is no answer yet. */
async function askPatiently(home: Home): Promise<Asked> {
  const limit = performance.now() + SOCKET_LIMIT;
  for (;;) {
    const asked = await askKeeper(home.socket, { cmd: 'status' }, () => {}, 2000);
    if (asked.kind !== 'nobody' || performance.now() > limit) return asked;
    if ((await holder(home).catch(() => undefined)) === undefined) return asked;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY));
  }
}

function keptWorker(worker: ServiceRecord['worker'] | undefined, supervisorPid: number | null): KeptWorker | null {
  if (!worker) return null;
  const { identity, startedAt, restarts, build = null } = worker;
  return { pid: identity.pid, supervisorPid, startedAt, restarts, build };
}

function diskOf(home: string): ServiceStatus['disk'] {
  const free = freeBytes(home);
  return { freeBytes: free, full: free < LEAST_FREE };
}

/** What still lives of a service whose keeper does not answer. */
function leftOver(record: ServiceRecord | undefined): ServiceRecord | undefined {
  if (record === undefined) return undefined;
  const { server, worker, standby } = record;
  const serverLives = server?.identity ? isAlive(server.identity) : false;
  return {
    ...record,
    server: serverLives ? server : null,
    worker: worker !== null && isAlive(worker.identity) ? worker : null,
    standby: standby !== null && isAlive(standby.identity) ? standby : null,
  };
}
