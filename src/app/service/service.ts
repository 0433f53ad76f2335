import type { Client } from '@temporalio/client';
import { type OwnServer, connectionConfig, ownServer, unreachable } from './connection.ts';
import { type KeeperState, askKeeper } from './control.ts';
import { type Env, type Home, homePath, lookAtHome, openHome, taskQueue } from './home.ts';
import { endRemains, killKeeper } from './keeper-end.ts';
import { type EnsureOptions, startKeeper, waitForKeeper } from './keeper-start.ts';
import { modelVariables, variablesHash } from './model-variables.ts';
import { ServiceError } from './service-error.ts';
import { watchOther } from './watched.ts';

/** A service whose server and worker answered. */
export interface Service {
  readonly home: Home;
  readonly address: string;
  readonly namespace: string;
  readonly taskQueue: string;
  /** Whether the server is the user's own. */
  readonly own: boolean;
  /** Whether the worker has a key or a token for the model API. */
  readonly credentials: boolean;
  readonly state: KeeperState;
}

/**
 * Resolves when the service of this environment's home answers, after starting it where none does. Of two that do this at
 * once one starts it and both wait. Throws ServiceError when it can't be had.
 */
export async function ensureService(options: EnsureOptions): Promise<Service> {
  const { env, progress = () => {}, said } = options;
  const home = openHome(homePath(env));
  const own = await ownServer(env);
  const state = (await waitForKeeper(home, progress, said)) ?? (await startKeeper(home, own, options, progress));
  return asService(home, own, state);
}

/** The service of this environment's home if one answers now; starts nothing. */
export async function currentService(env: Env): Promise<Service | undefined> {
  const home = lookAtHome(homePath(env));
  if (home === undefined) return undefined;
  const asked = await askKeeper(home.socket, { cmd: 'status' }, () => {}, 2000);
  if (asked.kind !== 'answer') return undefined;
  const { server, phase } = asked.state.record;
  if (server === null || phase === 'stopping') return undefined;
  return asService(home, await ownServer(env), asked.state);
}

/** Gives a running service the model variables of this environment when they differ; an environment without any changes nothing. */
export async function renewVariables(service: Service, env: Env, progress: (line: string) => void): Promise<Service> {
  const variables = modelVariables(env);
  const { salt, hash } = service.state.variables;
  if (Object.keys(variables).length === 0 || variablesHash(variables, salt) === hash) return service;
  const asked = await askKeeper(service.home.socket, { cmd: 'restart-worker', variables }, progress);
  if (asked.kind !== 'answer')
    throw new ServiceError('The service went away while its worker was restarted.', 'nightshift up');
  return { ...service, state: asked.state, credentials: asked.state.credentials };
}

/** Gives a running service a second worker where it has none; resolves when that answers. */
export async function keepStandby(service: Service, progress: (line: string) => void): Promise<Service> {
  const asked = await askKeeper(service.home.socket, { cmd: 'standby' }, progress);
  if (asked.kind !== 'answer')
    throw new ServiceError('The service went away while its second worker was started.', 'nightshift up --standby');
  return { ...service, state: asked.state };
}

/** Ends the service of this environment's home, and whatever a dead keeper left of it; false when nothing ran. */
export async function stopService(options: {
  env: Env;
  now: boolean;
  progress?: (line: string) => void;
}): Promise<boolean> {
  const { env, now, progress = () => {} } = options;
  const home = lookAtHome(homePath(env));
  if (home === undefined) return false;
  const asked = await askKeeper(home.socket, { cmd: 'stop', now }, progress);
  if (asked.kind === 'answer') {
    // Its last act is to give the lock back.
    await watchOther(asked.state.record.keeper.identity).ended;
    return true;
  }
  const killed = await killKeeper(home, progress);
  return (await endRemains(home, progress)) || killed;
}

/** A client of the service; the SDK is loaded only here. Close its connection when nothing is in flight. */
export async function connectClient(service: Service, env: Env): Promise<Client> {
  const { Client, Connection } = await import('@temporalio/client');
  const config = await connectionConfig(env, service.own ? undefined : service.address);
  try {
    const connection = await Connection.connect(config.connectionOptions);
    return new Client({ connection, ...(config.namespace === undefined ? {} : { namespace: config.namespace }) });
  } catch (error) {
    throw unreachable(service.address, error);
  }
}

function asService(home: Home, own: OwnServer | undefined, state: KeeperState): Service {
  const { server, namespace } = state.record;
  if (server === null)
    throw new ServiceError('The Temporal server is being restarted.', 'Run the command again in a few seconds.');
  const runsOwn = server.identity === null;
  if (runsOwn !== (own !== undefined) || (own !== undefined && own.address !== server.address)) {
    throw new ServiceError(
      `The running service of ${home.home} uses ${runsOwn ? `the server ${server.address}` : 'a local server'}, but this shell asks for ${own === undefined ? 'a local one' : own.address}.`,
      'Set or unset TEMPORAL_ADDRESS as for the running service, or: nightshift down && nightshift up',
    );
  }
  return {
    home,
    address: server.address,
    namespace,
    taskQueue: taskQueue(home.id),
    own: runsOwn,
    credentials: state.credentials,
    state,
  };
}
