import { spawn } from 'node:child_process';
import { closeSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { killIdentity } from '../../host/identity.ts';
import type { Env, Home } from './home.ts';
import { workerMark } from './orphans.ts';
import { lastLines, openLog } from './log-file.ts';
import { ServiceError, errorText } from './service-error.ts';
import { type Watched, endProcess, watchChild } from './watched.ts';
import { SILENT_AFTER, lastBeat } from './worker-folder.ts';

/** What a worker is started with. */
export interface WorkerOptions {
  readonly home: Home;
  /** The compiled program, run by this Node. */
  readonly file: string;
  readonly env: Env;
  readonly signal: AbortSignal;
}

/** A worker that polls. */
export interface WorkerProcess extends Watched {
  readonly startedAt: string;
}

const READY_LIMIT = 60_000;
const LOOK_EVERY = 25;
const SILENCE_LOOK = 1000;

/** Starts a worker and resolves at its first beat, which says that it polls. */
export async function startWorker({ home, file, env, signal }: WorkerOptions): Promise<WorkerProcess> {
  const logFile = join(home.logs, 'worker.log');
  const log = openLog(logFile);
  const logged = statSync(logFile).size;
  const startedAt = new Date().toISOString();
  let watched: Watched;
  try {
    const child = spawn(process.execPath, ['--enable-source-maps', file, workerMark(home.id)], {
      cwd: home.home,
      detached: true,
      env,
      stdio: ['ignore', log, log],
    });
    watched = await watchChild(child);
    child.unref();
  } catch (error) {
    throw new ServiceError(`The worker can't be started: ${errorText(error)}.`, 'nightshift doctor');
  } finally {
    closeSync(log);
  }
  const failure = await untilBeat(watched, home.workers, signal);
  if (failure === undefined) return { ...watched, startedAt };
  await endProcess(watched, 0);
  const said = lastLines(logFile, logged);
  throw new ServiceError(
    `The worker did not start: ${failure}.${said === '' ? '' : `\n${said}`}`,
    `Look at ${logFile}, and run: nightshift doctor`,
  );
}

/**
 * Kills a worker whose beats stay away, when it is called each second. No clocks are compared, and a look that comes late
 * (the machine slept, or a container was frozen) counts no more than two, so that it does not count against the worker.
 */
export function silenceWatch(
  workers: string,
  log: (line: string) => void,
  silentAfter = SILENT_AFTER,
): (worker: Watched | undefined) => void {
  let seen = '';
  let silent = 0;
  let lookedAt = 0;
  return (worker) => {
    if (worker === undefined) return;
    const sign = `${worker.identity.pid} ${lastBeat(workers, worker.identity)}`;
    const now = performance.now();
    silent = sign === seen ? silent + Math.min(now - lookedAt, 2 * SILENCE_LOOK) : 0;
    seen = sign;
    lookedAt = now;
    if (silent < silentAfter) return;
    silent = 0;
    log(`worker: silent for ${silentAfter / 1000} s, killing it (pid ${worker.identity.pid})`);
    killIdentity(worker.identity, 'SIGKILL');
  };
}

async function untilBeat(
  { identity, ended }: Watched,
  workers: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const limit = performance.now() + READY_LIMIT;
  let end: string | undefined;
  void ended.then((how) => (end = how));
  while (performance.now() < limit) {
    if (end !== undefined) return `it ended with ${end}`;
    if (signal.aborted) return 'it was called off';
    if (lastBeat(workers, identity) !== undefined) return undefined;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY));
  }
  return `it did not poll within ${READY_LIMIT / 1000} s`;
}
