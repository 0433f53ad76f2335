import type { Hosts } from '../src/core/hosts.ts';
import type { JobEvent } from '../src/shapes/event.ts';
import { jobPlace } from './place.ts';

type Untimed<E> = E extends unknown ? Omit<E, 'at'> : never;
export type NotifyInput = { event: Untimed<JobEvent> };

/** Tells watchers what only the job's workflow knows. */
export async function notify(hosts: Hosts, input: NotifyInput): Promise<void> {
  const { job, at } = jobPlace();
  const { events } = await hosts.job(job);
  events.write({ at, ...input.event });
  await events.flush();
}
