import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Host } from '../../shapes/host.ts';
import { type Env, taskQueue } from './home.ts';
import { ServiceError } from './service-error.ts';

/** Gives this machine the place of another one, or a name that outlives it, as containers need. */
const VARIABLE = 'NIGHTSHIFT_HOST';
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** This machine as a place of a home's jobs: the same for all its workers, and after a reboot. @throws ServiceError for a bad name. */
export function thisHost(homeId: string, env: Env): Host {
  const chosen = env[VARIABLE];
  if (chosen && !NAME.test(chosen)) {
    throw new ServiceError(
      `${VARIABLE} is ${JSON.stringify(chosen.slice(0, 80))}, which is no name of a host.`,
      'Take 1 to 64 letters, digits and . _ - that begin with a letter or digit, or unset it.',
    );
  }
  const id = chosen || createHash('sha256').update(`${machineId()} ${homeId}`).digest('hex').slice(0, 12);
  return { queue: `${taskQueue(homeId)}@${id}`, name: chosen || hostname() };
}

/** What to set the variable to where another machine is to have that place. */
export const placeOf = ({ queue }: Host): string => `${VARIABLE}=${queue.slice(queue.indexOf('@') + 1)}`;

/** An image of a container may have none, or an empty one. */
function machineId(): string {
  try {
    return readFileSync('/etc/machine-id', 'utf8').trim() || hostname();
  } catch {
    return hostname();
  }
}
