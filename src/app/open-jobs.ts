import { type CliError, isServiceError, unknownError, usageError } from './cli-error.ts';
import { JobClient } from './client.ts';
import { type Io, tell } from './io.ts';
import { openStore } from './open-store.ts';
import { LEAST_FREE, freeBytes, homePath, lookAtHome } from './service/home.ts';
import { hasCredentials, modelVariables, namesOtherModel } from './service/model-variables.ts';
import { type Service, connectClient, currentService, ensureService } from './service/service.ts';
import { listWorkers } from './service/worker-folder.ts';
import { size } from './text.ts';
import { untilInterrupted } from './until-interrupted.ts';
import { type Connected, TemporalDoor } from './temporal-door.ts';

/** For `run` and `start`: brings the service up. Throws (2) when it has no credentials for the model. */
export async function openNewJobs(io: Io): Promise<JobClient> {
  const progress = (line: string): void => tell(io, line);
  const running = await currentService(io.env);
  if (running === undefined && !hasCredentials(modelVariables(io.env))) throw noCredentials(false);
  const service = running ?? (await untilInterrupted(io, ensureService({ env: io.env, progress })));
  if (!service.credentials) throw noCredentials(hasCredentials(modelVariables(io.env)));
  if (namesOtherModel(service, io.env)) {
    tell(
      io,
      'warning: the service does not use the ANTHROPIC_… variables of this shell but those that it was given before',
    );
    tell(io, 'To give it these: nightshift up');
  }
  return new JobClient(openStore(service.home.jobs), new TemporalDoor(() => dial(io)));
}

/**
 * For what looks at all jobs: `undefined` where none was ever started. The service is started when it is first needed.
 * `tells`: for what has something to tell them, which they hear before a worker that has to be started takes them up.
 */
export async function openJobs(io: Io, { tells = false } = {}): Promise<JobClient | undefined> {
  const home = lookAtHome(homePath(io.env));
  if (home === undefined) return undefined;
  const store = openStore(home.jobs);
  warnOfDisk(home.home, io);
  return (await store.ids()).length === 0
    ? undefined
    : new JobClient(store, new TemporalDoor(() => (tells ? dialFirst(io) : dial(io))));
}

/** It may be why nothing goes on, and then it has to be said where people look. */
function warnOfDisk(home: string, io: Io): void {
  const free = freeBytes(home);
  if (free >= LEAST_FREE) return;
  tell(
    io,
    `warning: the disk of ${home} is full (${size(free)} free); free some space, what waits for it goes on by itself`,
  );
}

/** For what is about one job. Throws (3) when there is none of that id. `tells`: as for all. */
export async function openKnownJob(io: Io, id: string, options: { tells?: boolean } = {}): Promise<JobClient> {
  const jobs = await openJobs(io, options);
  if (jobs?.store.has(id)) return jobs;
  throw unknownError(`there is no job ${id}`, 'nightshift ls --all   # every job of this home');
}

/** The jobs of a service that runs already, for what must start nothing. */
export function servedJobs(service: Service, io: Io): JobClient {
  return new JobClient(openStore(service.home.jobs), new TemporalDoor(() => reach(service, io)));
}

/** A server that is up is enough: what people ask of jobs must not wait for a worker, nor for room on the disk. */
async function dial(io: Io): Promise<Connected> {
  const progress = (line: string): void => tell(io, line);
  return reach((await currentService(io.env)) ?? (await ensureService({ env: io.env, progress })), io);
}

/** Where the service has to be started, its worker waits until the door is closed or somebody asks for a worker: then all has been told. */
async function dialFirst(io: Io): Promise<Connected> {
  const progress = (line: string): void => tell(io, line);
  const running = await currentService(io.env);
  if (running !== undefined) return reach(running, io);
  let isEarly = true;
  let begin = (): void => {};
  const said = new Promise<void>((resolve) => (begin = resolve));
  const tellAll = (): void => {
    isEarly = false;
    begin();
  };
  try {
    const to = await reach(await ensureService({ env: io.env, progress, said }), io);
    return {
      ...to,
      early: () => isEarly,
      async workers() {
        tellAll();
        // That none comes up is for `status` to explain; what was told is recorded.
        await ensureService({ env: io.env, progress }).catch((error: unknown) => orNothing(error));
        return to.workers();
      },
      close() {
        tellAll();
        return to.close();
      },
    };
  } catch (error) {
    tellAll();
    throw error;
  }
}

function orNothing(error: unknown): undefined {
  if (!isServiceError(error)) throw error;
}

async function reach(service: Service, io: Io): Promise<Connected> {
  const client = await connectClient(service, io.env);
  return {
    client,
    taskQueue: service.taskQueue,
    workers: () => listWorkers(service.home.workers).length,
    close: () => client.connection.close(),
  };
}

function noCredentials(shellHasThem: boolean): CliError {
  return usageError(
    'the service has no credentials for the model API',
    shellHasThem
      ? 'This shell has them: nightshift up   # gives them to the service'
      : 'export ANTHROPIC_API_KEY=…   # or ANTHROPIC_AUTH_TOKEN\nnightshift up               # gives it to a service that is running',
  );
}
