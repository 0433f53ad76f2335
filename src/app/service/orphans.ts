import { readFileSync, readdirSync, statSync } from 'node:fs';
import { identityOf, isAlive } from '../../host/identity.ts';
import type { Home } from './home.ts';
import { endProcess, watchOther } from './watched.ts';

const WORKER_OF = '--worker-of=';

/** The argument by which a kept worker of a home is known in the process list. */
export function workerMark(homeId: string): string {
  return `${WORKER_OF}${homeId}`;
}

/** Processes of a home that no keeper looks after any more, found by their arguments: a record may be missing or old. */
export interface Orphans {
  readonly servers: readonly number[];
  readonly workers: readonly number[];
}

/** Looks through the process list for the home's server and kept worker; that is known by the home's id, or by the folder it runs in when the id was another one. */
export function findOrphans(home: Home): Orphans {
  const servers: number[] = [];
  const workers: number[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const args = commandLine(name);
    if (args.includes(workerMark(home.id))) workers.push(Number(name));
    else if (args.some((arg) => arg.startsWith(WORKER_OF)) && runsIn(home, name)) workers.push(Number(name));
    else if (args.includes('start-dev') && args[args.indexOf('--db-filename') + 1] === home.db)
      servers.push(Number(name));
  }
  return { servers, workers };
}

/** Ends what a dead keeper left, workers first, so that never two servers are on one database. Call it under the home's lock; tells how many there were. */
export async function endOrphans(home: Home, grace: number, progress: (line: string) => void): Promise<number> {
  const { servers, workers } = findOrphans(home);
  let ended = 0;
  for (const pid of [...workers, ...servers]) {
    const identity = identityOf(pid);
    if (identity === undefined || !isAlive(identity)) continue;
    progress(`ending ${workers.includes(pid) ? 'a worker' : 'a server'} that lost its keeper (pid ${pid})`);
    await endProcess(watchOther(identity), grace);
    ended += 1;
  }
  return ended;
}

/** Compares the folders themselves: in another container the same path is another one. */
function runsIn({ home }: Home, pid: string): boolean {
  try {
    const [theirs, ours] = [statSync(`/proc/${pid}/cwd`), statSync(home)];
    return theirs.dev === ours.dev && theirs.ino === ours.ino;
  } catch {
    return false;
  }
}

function commandLine(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}
