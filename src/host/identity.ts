import { readFileSync, readlinkSync } from 'node:fs';
import { z } from 'zod';

/**
 * What names one process for ever on one host: a pid alone is reused, after a reboot or in a fresh container even at once.
 * `pidNamespace` is the namespace in which the number `pid` was seen, `startTime` is in clock ticks since boot.
 */
export const ProcessIdentity = z.object({
  bootId: z.string().min(1),
  pidNamespace: z.string().min(1),
  pid: z.int().positive(),
  startTime: z.int().nonnegative(),
});
export type ProcessIdentity = z.infer<typeof ProcessIdentity>;

/** What `/proc/<pid>/stat` says of one process; `pgid` and `sid` are 0 when they lie outside of this pid namespace. */
export interface ProcessStat {
  readonly pid: number;
  readonly state: string;
  readonly ppid: number;
  readonly pgid: number;
  readonly sid: number;
  readonly startTime: number;
}

/** `foreign`: another pid namespace of this boot, whose processes cannot be seen from here. */
export type Liveness = 'alive' | 'dead' | 'foreign';

/** Reads one process's state; `undefined` when there is no such process. */
export function statOf(pid: number): ProcessStat | undefined {
  const text = readProc(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  // The command name is in parentheses and may itself hold blanks and parentheses: only what follows the last one is safe.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, ppid, pgid, sid] = fields;
  const startTime = fields[19];
  if (state === undefined || startTime === undefined) return undefined;
  return { pid, state, ppid: Number(ppid), pgid: Number(pgid), sid: Number(sid), startTime: Number(startTime) };
}

/** A zombie has ended, though its pid is still taken. */
export function hasEnded(stat: ProcessStat | undefined): boolean {
  return stat === undefined || stat.state === 'Z' || stat.state === 'X';
}

/** The identity of this process; throws where there is no `/proc`. */
export function currentIdentity(): ProcessIdentity {
  const identity = identityOf(process.pid);
  if (identity === undefined) {
    throw new Error(
      'Cannot read /proc/self/stat: nightshift needs Linux with /proc mounted to know its own processes.',
    );
  }
  return identity;
}

/** The identity of the process that has this pid now; `undefined` when there is none or it has ended. */
export function identityOf(pid: number): ProcessIdentity | undefined {
  const stat = statOf(pid);
  if (stat === undefined || hasEnded(stat)) return undefined;
  return { ...here(), pid, startTime: stat.startTime };
}

/** Whether that very process still runs; a reused pid, a zombie and an earlier boot are all `dead`. */
export function liveness(identity: ProcessIdentity): Liveness {
  const { bootId, pidNamespace } = here();
  if (identity.bootId !== bootId) return 'dead';
  if (identity.pidNamespace !== pidNamespace) return 'foreign';
  const stat = statOf(identity.pid);
  return hasEnded(stat) || stat?.startTime !== identity.startTime ? 'dead' : 'alive';
}

/** True only when that very process is seen running; a foreign one is not. */
export function isAlive(identity: ProcessIdentity): boolean {
  return liveness(identity) === 'alive';
}

/** Clock ticks per second in `/proc`: the same on every Linux that Node runs on. */
const TICKS = 100;

/** How long ago a process of this boot was started, in ms; a suspended machine's time counts. */
export function ageOf({ startTime }: ProcessIdentity): number {
  const [uptime] = readFileSync('/proc/uptime', 'utf8').split(' ');
  return Math.max(0, Number(uptime) * 1000 - (startTime * 1000) / TICKS);
}

/** Sends a signal to that very process and no other; false when it was not there any more, throws when it may not be signalled. */
export function killIdentity(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  return isAlive(identity) && sendSignal(identity.pid, signal);
}

/** `process.kill` that answers false instead of throwing when there is nobody to signal (a negative pid names a group). */
export function sendSignal(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return false;
    throw error;
  }
}

/** Two records of one process. */
export function sameProcess(a: ProcessIdentity, b: ProcessIdentity): boolean {
  return a.pid === b.pid && a.startTime === b.startTime && a.pidNamespace === b.pidNamespace && a.bootId === b.bootId;
}

/** Boot and pid namespace never change while a process runs, so they are read once. */
let place: Pick<ProcessIdentity, 'bootId' | 'pidNamespace'> | undefined;

function here(): Pick<ProcessIdentity, 'bootId' | 'pidNamespace'> {
  place ??= {
    bootId: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
    pidNamespace: readlinkSync('/proc/self/ns/pid'),
  };
  return place;
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ESRCH') return undefined;
    throw error;
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
