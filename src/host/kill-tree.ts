import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { errorCode } from './durable-file.ts';
import { hasEnded, isAlive, type ProcessIdentity, type ProcessStat, sendSignal, statOf } from './identity.ts';

/** The variable that every process of a call inherits. */
export const MARK = 'NIGHTSHIFT_CALL';

/** Which processes belong together: all that carry the mark, and what the supervisor has started outside of its own session. */
export interface Tree {
  readonly mark: string;
  /** Also all whose mark begins so. */
  readonly below?: true;
  readonly supervisor?: ProcessIdentity;
}

/** Kill rounds before a process counts as unkillable; 20 ms apart, so two seconds. */
const ROUNDS = 100;
const ROUND_MS = 20;

/**
 * Ends a tree: SIGTERM, up to `graceMs` to clean up, then SIGKILL until none is left. A process that dropped the mark is
 * found by its session or its parents; one that also left those cannot be. Answers how many processes it had;
 * throws when some cannot be killed (of another user, or stuck in the kernel).
 */
export async function killTree(tree: Tree, graceMs = 500): Promise<number> {
  const met = new Set<number>();
  const look = async (): Promise<number[]> => {
    const members = await membersOf(tree);
    for (const pid of members) met.add(pid);
    return members;
  };
  let members = await look();
  if (graceMs > 0 && members.length > 0) {
    for (const pid of members) signalIfAllowed(pid, 'SIGTERM');
    const end = performance.now() + graceMs;
    while (members.length > 0 && performance.now() < end) {
      await pause(ROUND_MS);
      members = await look();
    }
  }
  for (let round = 0; members.length > 0; round++) {
    if (round === ROUNDS) throw new Error(`These processes of ${tree.mark} cannot be killed: ${members.join(' ')}.`);
    await stopAll(members, look);
    for (const pid of members) signalIfAllowed(pid, 'SIGKILL');
    if (round > 0) await pause(ROUND_MS);
    members = await look();
  }
  return met.size;
}

/** SIGKILL to each process in the session that this living process leads, itself included. */
export async function killSession(leader: ProcessIdentity): Promise<void> {
  const session = (await allProcesses()).filter((stat) => stat.sid === leader.pid);
  if (!isAlive(leader)) return;
  for (const { pid } of session) signalIfAllowed(pid, 'SIGKILL');
}

/** The living processes of a tree; never this process, its session, or the supervisor. */
export async function membersOf(tree: Tree): Promise<number[]> {
  const stats = await allProcesses();
  const marked = await Promise.all(stats.map((stat) => carriesMark(stat.pid, tree)));
  const living = new Set(stats.map((stat) => stat.pid));
  const own = statOf(process.pid);
  const supervisor = tree.supervisor !== undefined && isAlive(tree.supervisor) ? tree.supervisor.pid : undefined;
  const members = new Set<number>();
  const sessions = new Set<number>();
  const add = (stat: ProcessStat): void => {
    members.add(stat.pid);
    // The session of a member is the tree's, unless somebody outside leads it.
    if (stat.sid !== own?.sid && (!living.has(stat.sid) || members.has(stat.sid))) sessions.add(stat.sid);
  };
  const candidates = stats.filter((stat) => stat.pid !== process.pid && stat.pid !== supervisor);
  const belongs = (stat: ProcessStat): boolean =>
    members.has(stat.ppid) ||
    sessions.has(stat.sid) ||
    (supervisor !== undefined && stat.ppid === supervisor && stat.sid !== supervisor);
  const isMarked = new Set(stats.filter((_, index) => marked[index]).map((stat) => stat.pid));
  for (const stat of candidates) if (isMarked.has(stat.pid)) add(stat);
  for (let before = -1; before !== members.size + sessions.size;) {
    before = members.size + sessions.size;
    for (const stat of candidates) if (members.has(stat.pid) || belongs(stat)) add(stat);
  }
  return [...members];
}

/** Stops the members, and those that they had started meanwhile, so that none can hide by forking while others die. */
async function stopAll(members: number[], look: () => Promise<number[]>): Promise<void> {
  const stopped = new Set<number>();
  for (let fresh = members; fresh.length > 0 && stopped.size < 10_000;) {
    for (const pid of fresh) {
      signalIfAllowed(pid, 'SIGSTOP');
      stopped.add(pid);
    }
    const seen = await look();
    fresh = seen.filter((pid) => !stopped.has(pid));
    members.push(...fresh);
  }
}

async function allProcesses(): Promise<ProcessStat[]> {
  const names = await readdir('/proc');
  const pids = names.filter((name) => /^\d+$/.test(name));
  return pids
    .map((pid) => statOf(Number(pid)))
    .filter((stat) => stat !== undefined && !hasEnded(stat)) as ProcessStat[];
}

/** Unreadable means of another user, or just gone: neither is ours. Not read synchronously, as a stuck process may block it. */
async function carriesMark(pid: number, { mark, below }: Tree): Promise<boolean> {
  try {
    return `\0${await readFile(`/proc/${pid}/environ`, 'latin1')}\0`.includes(`\0${MARK}=${mark}${below ? '' : '\0'}`);
  } catch {
    return false;
  }
}

/** A process of another user stays: the caller finds it again and says so. */
function signalIfAllowed(pid: number, signal: NodeJS.Signals): void {
  try {
    sendSignal(pid, signal);
  } catch (error) {
    if (errorCode(error) !== 'EPERM') throw error;
  }
}
