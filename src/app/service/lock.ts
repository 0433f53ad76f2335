import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { ProcessIdentity, currentIdentity, liveness } from '../../host/identity.ts';
import { ServiceError, errorCode } from './service-error.ts';

/** Who holds a lock; the nonce tells two locks of one process apart. */
export const LockHolder = z.object({ nonce: z.uuid(), identity: ProcessIdentity });
export type LockHolder = z.infer<typeof LockHolder>;

/** A lock of this process. */
export interface Lock {
  readonly kind: 'taken';
  /** Whether the file still says so; somebody may have removed or restored the folder. */
  readonly holds: () => boolean;
  readonly release: () => void;
}

/** Somebody else has it. */
export interface Held {
  readonly kind: 'held';
  readonly holder: LockHolder;
}

/** Tells whether a holder that cannot be seen from this pid namespace lives. */
export type AskForeign = () => Promise<boolean>;

/**
 * Takes the lock for this process. It is a finished file that gets its name by link(2), which only one can win; the lock
 * of a dead process is replaced by rename. Of several that find a dead holder only the one that links `<lock>.after-<its
 * nonce>` may replace it, and only while the lock still names that holder: else the second would replace the first's lock.
 */
export async function takeLock(path: string, askForeign: AskForeign): Promise<Lock | Held> {
  const mine: LockHolder = { nonce: randomUUID(), identity: currentIdentity() };
  const draft = `${path}.${mine.nonce}`;
  writeFileSync(draft, `${JSON.stringify(mine)}\n`, { flag: 'wx', mode: 0o600, flush: true });
  try {
    for (;;) {
      if (tryLink(draft, path)) return lock(path, mine.nonce);
      const holder = readHolder(path);
      if (holder === undefined) continue;
      if (await lives(holder, askForeign)) return { kind: 'held', holder };
      const result = await replace(path, holder, draft, askForeign);
      if (result === 'replaced') return lock(path, mine.nonce);
      if (result !== 'again') return { kind: 'held', holder: result };
    }
  } finally {
    rmSync(draft, { force: true });
  }
}

/** The living holder of a lock, `undefined` when nobody has it. */
export async function lockHolder(path: string, askForeign: AskForeign): Promise<LockHolder | undefined> {
  const holder = readHolder(path);
  return holder !== undefined && (await lives(holder, askForeign)) ? holder : undefined;
}

async function replace(
  path: string,
  dead: LockHolder,
  draft: string,
  askForeign: AskForeign,
): Promise<'replaced' | 'again' | LockHolder> {
  const guards: string[] = [];
  // One that died while it replaced a lock is itself a dead holder, of its guard.
  for (let last = dead; ;) {
    const guard = `${path}.after-${last.nonce}`;
    guards.push(guard);
    if (tryLink(draft, guard)) break;
    const replacer = readHolder(guard);
    if (replacer === undefined) return 'again';
    if (await lives(replacer, askForeign)) return replacer;
    last = replacer;
  }
  const unchanged = readHolder(path)?.nonce === dead.nonce;
  if (unchanged) renameSync(draft, path);
  for (const guard of guards) rmSync(guard, { force: true });
  return unchanged ? 'replaced' : 'again';
}

function lock(path: string, nonce: string): Lock {
  const holds = (): boolean => {
    try {
      return readHolder(path)?.nonce === nonce;
    } catch {
      // A file that cannot be read now is no sign that somebody else has taken it.
      return true;
    }
  };
  return {
    kind: 'taken',
    holds,
    release: () => {
      if (holds()) rmSync(path, { force: true });
    },
  };
}

async function lives(holder: LockHolder, askForeign: AskForeign): Promise<boolean> {
  const state = liveness(holder.identity);
  return state === 'foreign' ? askForeign() : state === 'alive';
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

function readHolder(path: string): LockHolder | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return LockHolder.parse(JSON.parse(text));
  } catch {
    throw new ServiceError(
      `The lock ${path} is damaged, so nobody can tell who holds it.`,
      `Make sure that no nightshift runs in this home (ps -ef | grep keeper-main), then: rm ${path}`,
    );
  }
}
