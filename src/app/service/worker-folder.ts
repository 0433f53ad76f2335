import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { ProcessIdentity, currentIdentity, liveness } from '../../host/identity.ts';

/** One worker of a home: `workers/<pid>-<startTime>/worker.json`. */
export const WorkerEntry = z.object({
  identity: ProcessIdentity,
  host: z.string(),
  startedAt: z.iso.datetime(),
  /** Of the workflows it runs. */
  build: z.string().optional(),
});
export type WorkerEntry = z.infer<typeof WorkerEntry>;

/** A worker that is silent for this long is taken for stuck, in ms. */
export const SILENT_AFTER = 30_000;
const BEAT_EVERY = 1000;

/** The folder of a worker. */
export function workerFolder(workers: string, identity: ProcessIdentity): string {
  return join(workers, `${identity.pid}-${identity.startTime}`);
}

/** The file whose time says that the main loop of a worker turns. */
export function aliveFile(workers: string, identity: ProcessIdentity): string {
  return join(workerFolder(workers, identity), 'alive');
}

/**
 * Says that this process is a worker that polls, and from now on each second that its main loop turns. Call it when the
 * worker runs: the first beat is what the keeper waits for. The returned function ends it and removes the folder.
 */
export function announceWorker(workers: string, build?: string): () => void {
  const identity = currentIdentity();
  const folder = workerFolder(workers, identity);
  const alive = aliveFile(workers, identity);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const startedAt = new Date().toISOString();
  const entry: WorkerEntry = { identity, host: hostname(), startedAt, ...(build === undefined ? {} : { build }) };
  writeFileSync(join(folder, 'worker.json.tmp'), JSON.stringify(entry), { mode: 0o600 });
  renameSync(join(folder, 'worker.json.tmp'), join(folder, 'worker.json'));
  writeFileSync(alive, '', { mode: 0o600 });
  const timer = setInterval(() => beat(alive), BEAT_EVERY);
  timer.unref();
  return () => {
    clearInterval(timer);
    rmSync(folder, { recursive: true, force: true });
  };
}

/** Time of the last beat in ms since the epoch; `undefined` before the first. */
export function lastBeat(workers: string, identity: ProcessIdentity): number | undefined {
  return statSync(aliveFile(workers, identity), { throwIfNoEntry: false })?.mtimeMs;
}

/** What a worker said of itself; `undefined` when it said nothing yet, or is gone. */
export function workerEntry(workers: string, identity: ProcessIdentity): WorkerEntry | undefined {
  return readEntry(workerFolder(workers, identity));
}

/** The living workers of a home; one in another pid namespace lives as long as its beats are fresh. */
export function listWorkers(workers: string): WorkerEntry[] {
  return entries(workers).filter(({ identity }) => {
    const state = liveness(identity);
    if (state !== 'foreign') return state === 'alive';
    return Date.now() - (lastBeat(workers, identity) ?? 0) < SILENT_AFTER;
  });
}

/** Removes the folders of workers that are known to be dead. */
export function sweepWorkers(workers: string): void {
  for (const { identity } of entries(workers)) {
    if (liveness(identity) === 'dead') rmSync(workerFolder(workers, identity), { recursive: true, force: true });
  }
}

function beat(alive: string): void {
  const now = new Date();
  try {
    utimesSync(alive, now, now);
  } catch {
    // The folder was removed or the disk is read-only: the worker goes on, and its silence is for the keeper to judge.
  }
}

function entries(workers: string): WorkerEntry[] {
  let names: string[];
  try {
    names = readdirSync(workers);
  } catch {
    return [];
  }
  return names.flatMap((name) => readEntry(join(workers, name)) ?? []);
}

function readEntry(folder: string): WorkerEntry | undefined {
  try {
    return WorkerEntry.safeParse(JSON.parse(readFileSync(join(folder, 'worker.json'), 'utf8'))).data;
  } catch {
    return undefined;
  }
}
