import { rmSync } from 'node:fs';
import { killIdentity } from '../../host/identity.ts';
import { askKeeper } from './control.ts';
import type { Home } from './home.ts';
import { lockHolder, takeLock } from './lock.ts';
import { endOrphans } from './orphans.ts';
import { watchOther } from './watched.ts';
import { sweepWorkers } from './worker-folder.ts';

const ORPHAN_GRACE = 5000;

/** The lock's living holder. A foreign one lives if it listens. */
export function holder(home: Home): ReturnType<typeof lockHolder> {
  return lockHolder(
    home.lock,
    async () => (await askKeeper(home.socket, { cmd: 'status' }, () => {})).kind !== 'nobody',
  );
}

/** Kills a keeper that has the home but does not answer; its server and worker are then orphans. */
export async function killKeeper(home: Home, progress: (line: string) => void): Promise<boolean> {
  const keeper = await holder(home);
  if (keeper === undefined || !killIdentity(keeper.identity, 'SIGKILL')) return false;
  progress(`the keeper (pid ${keeper.identity.pid}) did not answer: killed it`);
  await watchOther(keeper.identity).ended;
  return true;
}

/** Ends what a dead keeper left, under the lock so that no new keeper starts meanwhile. */
export async function endRemains(home: Home, progress: (line: string) => void): Promise<boolean> {
  const lock = await takeLock(home.lock, async () => false);
  if (lock.kind === 'held') return false;
  try {
    const ended = await endOrphans(home, ORPHAN_GRACE, progress);
    sweepWorkers(home.workers);
    for (const file of [home.record, home.socket]) rmSync(file, { force: true });
    return ended > 0;
  } finally {
    lock.release();
  }
}
