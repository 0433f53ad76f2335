import { stat, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Ledger, OwnedCall, Ownership, Previous } from '../core/ports.ts';
import { makeFolder } from './durable-file.ts';
import { readFact, writeFact } from './fact.ts';
import { killIdentity, liveness, type ProcessIdentity, sameProcess } from './identity.ts';
import { ifThere } from './if-there.ts';
import { linkOwner, type Owner, ownerPath, readOwners, waitsPath } from './owners.ts';
import { watchUntil } from './watch-until.ts';

export interface LedgerOptions {
  /** Absolute folder of the job. */
  readonly jobDir: string;
  readonly self: ProcessIdentity;
  /** The file that a process touches each second while its main loop turns. */
  aliveFile(identity: ProcessIdentity): string;
  /** How long an owner may be silent before it is killed, in ms. */
  readonly silentAfterMs?: number;
  /** How long an owner must have waited for its process before its death counts no more, in ms. */
  readonly provenAfterMs?: number;
  /** Told of damaged files, with path and consequence. */
  warn(message: string): void;
}

/** So many owners may die in one call while they act. */
const MAX_DEAD_OWNERS = 3;
const LOOK_MS = 250;
const SILENT_AFTER_MS = 30_000;
const PROVEN_AFTER_MS = 5_000;

/**
 * Who has a call of this process, by folder: a second pass waits here instead of asking the disk. It is one for the
 * whole process, however many ledgers of a job are open.
 */
const held = new Map<string, Promise<void>>();

/**
 * The record of how far each call got. A call's folder holds `owner.1`, `owner.2` … (every owner that died in it, and
 * the living one), made by link(2) of a finished file so that each number has exactly one winner, and the facts `claim`,
 * `ran` and `result`. Who follows a dead owner takes the next number; nothing is ever replaced. So neither clocks nor
 * attempt numbers are needed.
 *
 * A call that kills its worker must not be tried for ever, so owners that died while they acted are counted. One that
 * only waits for a process that lives without it puts `waits.N` beside its record, until it acts again; a death under
 * that mark has another cause and does not count, so that a command of hours survives any number of workers. The mark
 * comes only after some seconds of waiting: a process that kills whoever adopts it is faster than that. A slower one is
 * bounded by its own end, as nobody starts it again.
 */
export function openLedger(options: LedgerOptions): Ledger {
  return {
    own: (key, signal) => own(options, join(options.jobDir, key), signal),
    async resultOf(key) {
      const path = join(options.jobDir, key, 'result');
      const result = await readFact(path);
      if (result.kind === 'corrupt') options.warn(`${path} is damaged and counts as absent`);
      return result.kind === 'there' ? result.value : undefined;
    },
  };
}

/** Waits its turn in this process, then among the processes. */
async function own(options: LedgerOptions, dir: string, signal: AbortSignal): Promise<Ownership> {
  signal.throwIfAborted();
  let waited = false;
  for (let holder = held.get(dir); holder !== undefined; holder = held.get(dir)) {
    waited = true;
    await unlessAborted(holder, signal);
  }
  let letGo: () => void = () => undefined;
  const holding = new Promise<void>((resolve) => {
    letGo = () => {
      held.delete(dir);
      resolve();
    };
  });
  held.set(dir, holding);
  try {
    await makeFolder(dir);
    const ownership = await ownAmongProcesses(options, dir, { waited, signal, letGo });
    if (ownership.kind !== 'owned') letGo();
    return ownership;
  } catch (error) {
    letGo();
    throw error;
  }
}

async function ownAmongProcesses(
  options: LedgerOptions,
  dir: string,
  pass: { waited: boolean; readonly signal: AbortSignal; readonly letGo: () => void },
): Promise<Ownership> {
  const silence = silenceOf(options);
  const finished = (value: unknown): Ownership =>
    pass.waited ? { kind: 'joined', result: Promise.resolve(value) } : { kind: 'done', result: value };

  const look = async (): Promise<Ownership | undefined> => {
    const result = await readFact(join(dir, 'result'));
    if (result.kind === 'there') return finished(result.value);
    const owners = await readOwners(dir);
    const last = owners.at(-1);
    if (last !== undefined && (await holds(last, options, silence))) {
      pass.waited = true;
      return undefined;
    }
    if (owners.filter(({ waited }) => !waited).length >= MAX_DEAD_OWNERS) {
      return { kind: 'exhausted', owners: owners.length };
    }
    const number = (last?.number ?? 0) + 1;
    if (!(await linkOwner(dir, number, options.self))) return undefined;
    try {
      const call = await takeOver(options, dir, { number, dead: owners.length, letGo: pass.letGo });
      if (call.kind === 'owned') return { kind: 'owned', call: call.call };
      await unlink(ownerPath(dir, number));
      return finished(call.result);
    } catch (error) {
      await ifThere(unlink(ownerPath(dir, number)));
      throw error;
    }
  };
  return watchUntil({ dir, name: 'result', everyMs: LOOK_MS }, look, pass.signal);
}

/** Whether an owner still has its call. One that lives but is silent for too long is killed first. */
async function holds(owner: Owner, options: LedgerOptions, silence: Silence): Promise<boolean> {
  if (owner.identity === undefined) {
    options.warn(`${owner.path} is damaged: its owner counts as dead`);
    return false;
  }
  // No pass of this process has the call, or we would have waited for it: what its record says is left over.
  if (sameProcess(owner.identity, options.self)) return false;
  const state = liveness(owner.identity);
  if (state === 'dead') return false;
  if (!(await silence(owner.identity))) return true;
  // In another pid namespace it cannot be killed: its silence has to do.
  if (state === 'foreign') return false;
  killIdentity(owner.identity, 'SIGKILL');
  return true;
}

type Silence = (identity: ProcessIdentity) => Promise<boolean>;

/**
 * Measures how long somebody's alive file did not change while we were looking. Times are compared with none of another
 * clock, and a look that comes late (we were stopped ourselves) counts no more than one in time.
 */
function silenceOf(options: LedgerOptions): Silence {
  const limit = options.silentAfterMs ?? SILENT_AFTER_MS;
  let seen: string | undefined;
  let silent = 0;
  let lookedAt = 0;
  return async (identity) => {
    const path = options.aliveFile(identity);
    const touched = (await ifThere(stat(path)))?.mtimeMs;
    const now = performance.now();
    const sign = `${path} ${touched}`;
    silent = sign === seen ? silent + Math.min(now - lookedAt, 2 * LOOK_MS) : 0;
    seen = sign;
    lookedAt = now;
    return silent >= limit;
  };
}

/** What the new owner finds; a result that came while it took over makes it superfluous. */
async function takeOver(
  options: LedgerOptions,
  dir: string,
  place: { readonly number: number; readonly dead: number; readonly letGo: () => void },
): Promise<{ kind: 'owned'; call: OwnedCall } | { kind: 'done'; result: unknown }> {
  const result = await readFact(join(dir, 'result'));
  if (result.kind === 'there') return { kind: 'done', result: result.value };
  const ran = await readFact(join(dir, 'ran'));
  const claim = await readFact(join(dir, 'claim'));
  if (ran.kind === 'corrupt') options.warn(`${join(dir, 'ran')} is damaged and counts as absent`);
  if (claim.kind === 'corrupt') options.warn(`${join(dir, 'claim')} is damaged: what the call did is unknown`);
  if (result.kind === 'corrupt') options.warn(`${join(dir, 'result')} is damaged: what the call did is unknown`);
  const corrupt = claim.kind === 'corrupt' || result.kind === 'corrupt';
  const previous: Previous = {
    owners: place.dead,
    ...(ran.kind === 'there' && { ran: ran.value }),
    ...(claim.kind === 'there' && { claim: claim.value }),
    ...(corrupt && { corrupt }),
  };
  const isFirst = place.dead === 0 && ran.kind !== 'there' && claim.kind !== 'there' && !corrupt;
  return { kind: 'owned', call: ownedCall(options, dir, place, isFirst ? undefined : previous) };
}

function ownedCall(
  options: LedgerOptions,
  dir: string,
  place: { readonly number: number; readonly dead: number; readonly letGo: () => void },
  previous: Previous | undefined,
): OwnedCall {
  let finished = false;
  let released = false;
  let act: () => Promise<void> = () => Promise.resolve();
  const write = async (fact: 'claim' | 'ran' | 'result', value: unknown): Promise<void> => {
    if (released) throw new Error(`${fact} of ${dir} cannot be written: the call was given back.`);
    // Whoever removed the folder meanwhile has not undone the call: its record is made again.
    await writeFact(join(dir, fact), value);
  };
  return {
    dir,
    owners: place.dead + 1,
    ...(previous && { previous }),
    ran: (value) => write('ran', value),
    claim: (value) => write('claim', value),
    async result(value) {
      await write('result', value);
      finished = true;
    },
    waits() {
      act = markAfter(options.provenAfterMs ?? PROVEN_AFTER_MS, waitsPath(dir, place.number));
      return act;
    },
    async release() {
      if (released) return;
      released = true;
      try {
        await act();
        if (!finished) await ifThere(unlink(ownerPath(dir, place.number)));
      } finally {
        place.letGo();
      }
    },
  };
}

/** Makes the mark of an owner that only waits, once it has done so for a while; the returned function takes it back. */
function markAfter(ms: number, path: string): () => Promise<void> {
  let marking: Promise<unknown> | undefined;
  const timer = setTimeout(() => {
    // Without the mark a death counts, that is all: a full disk must not end the wait.
    marking = writeFile(path, '', { mode: 0o600 }).catch(() => undefined);
  }, ms);
  timer.unref();
  return async () => {
    clearTimeout(timer);
    if (marking === undefined) return;
    await marking;
    await ifThere(unlink(path));
  };
}

async function unlessAborted(waited: Promise<void>, signal: AbortSignal): Promise<void> {
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    await Promise.race([waited, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
