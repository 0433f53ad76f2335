import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { Env } from './home.ts';
import { NAMESPACE } from './server.ts';
import { ServiceError, errorText } from './service-error.ts';

/** Set by the keeper for its worker: the address of the local server, which outdoes every TEMPORAL_* variable. */
export const LOCAL_SERVER = 'NIGHTSHIFT_LOCAL_SERVER';

/** A Temporal server of the user's own. */
export interface OwnServer {
  readonly address: string;
  readonly namespace: string;
}

/** What `Connection.connect` and `NativeConnection.connect` take, and the namespace. */
export type ConnectionConfig = Awaited<ReturnType<typeof loadConfig>>;

/**
 * The server that the TEMPORAL_* variables or a `temporal.toml` name; `undefined` when they name none, and the local
 * service is meant. Throws ServiceError for a configuration that can't be read.
 */
export async function ownServer(env: Env): Promise<OwnServer | undefined> {
  if (!mayBeConfigured(env)) return undefined;
  const { connectionOptions, namespace } = await loadConfig(env);
  const { address } = connectionOptions;
  return address === undefined ? undefined : { address, namespace: namespace ?? NAMESPACE };
}

/** How a worker or a client in this environment connects; `local` is the address of the local service, where that is meant. */
export async function connectionConfig(
  env: Env,
  local: string | undefined = env[LOCAL_SERVER],
): Promise<ConnectionConfig> {
  if (local) return { connectionOptions: { address: local }, namespace: NAMESPACE };
  const config = await loadConfig(env);
  return { ...config, namespace: config.namespace ?? NAMESPACE };
}

/** Connects once to the user's own server; throws ServiceError when that can't be done within 5 s. */
export async function proveReachable(env: Env, own: OwnServer): Promise<void> {
  const { Connection } = await import('@temporalio/client');
  const { connectionOptions } = await connectionConfig(env, undefined);
  try {
    const connection = await Connection.connect({ ...connectionOptions, connectTimeout: 5000 });
    await connection.workflowService.describeNamespace({ namespace: own.namespace });
    await connection.close();
  } catch (error) {
    throw unreachable(own.address, error);
  }
}

/** What to say of a server that can't be reached. */
export function unreachable(address: string, error: unknown): ServiceError {
  const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
  return new ServiceError(
    `The Temporal server ${address} can't be reached: ${reason}.`,
    'Start it or mend TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE; nightshift doctor shows what is in force.',
  );
}

/** Importing the SDK's reader takes a tenth of a second, which the usual case need not pay. */
function mayBeConfigured(env: Env): boolean {
  if (env['TEMPORAL_ADDRESS'] || env['TEMPORAL_PROFILE'] || env['TEMPORAL_CONFIG_FILE']) return true;
  const chosen = env['XDG_CONFIG_HOME'];
  const config = chosen && isAbsolute(chosen) ? chosen : join(env['HOME'] || homedir(), '.config');
  return existsSync(join(config, 'temporalio', 'temporal.toml'));
}

async function loadConfig(env: Env) {
  const { loadClientConnectConfig } = await import('@temporalio/envconfig');
  const defined = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  try {
    return loadClientConnectConfig({ overrideEnvVars: Object.fromEntries(defined) });
  } catch (error) {
    throw new ServiceError(
      `The Temporal client configuration can't be read: ${errorText(error)}.`,
      'Mend TEMPORAL_PROFILE, TEMPORAL_CONFIG_FILE or the temporal.toml they name, or unset them to use the local service.',
    );
  }
}
