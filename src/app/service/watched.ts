import type { ChildProcess } from 'node:child_process';
import { type ProcessIdentity, currentIdentity, identityOf, isAlive, killIdentity } from '../../host/identity.ts';

/** A process that somebody looks after: a child of ours, or one that outlived the keeper that started it. */
export interface Watched {
  readonly identity: ProcessIdentity;
  /** Settles when it has ended, with how: `exit 1`, `SIGKILL`, or `gone` for a process that is no child of ours. */
  readonly ended: Promise<string>;
}

const LOOK_EVERY = 200;

/** Watches a child that was just spawned; rejects with the reason when it could not be started. */
export async function watchChild(child: ChildProcess): Promise<Watched> {
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ?? `exit ${code}`));
  });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  // Its exit may already be waiting to be told: until then its pid stays taken by the zombie, which has no identity.
  const identity = identityOf(child.pid ?? 0) ?? { ...currentIdentity(), pid: child.pid ?? 0, startTime: 0 };
  return { identity, ended };
}

/** Watches a process that is not a child of this one. */
export function watchOther(identity: ProcessIdentity): Watched {
  const ended = new Promise<string>((resolve) => {
    const timer = setInterval(() => {
      if (isAlive(identity)) return;
      clearInterval(timer);
      resolve('gone');
    }, LOOK_EVERY);
  });
  return { identity, ended };
}

/** Asks a process to end and kills it when it has not within the grace (ms); resolves when it is gone. */
export async function endProcess({ identity, ended }: Watched, grace: number): Promise<void> {
  if (!isAlive(identity)) return;
  if (grace > 0) {
    killIdentity(identity, 'SIGTERM');
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((resolve) => (timer = setTimeout(resolve, grace)));
    await Promise.race([ended, patience]);
    clearTimeout(timer);
  }
  if (killIdentity(identity, 'SIGKILL')) await ended;
}
