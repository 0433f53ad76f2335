import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { currentIdentity, liveness, ProcessIdentity } from './identity.ts';

const OWNER = 'owner.json';

/** The task tokens of a worker that is dead. */
export type Orphaned = { folder: string; tokens: string[] };

/**
 * Keeps the task tokens of this process's running activities in files, so that whoever finds the process dead can fail
 * them at once instead of waiting for a time-out. Without fsync: what a power failure takes, a time-out replaces.
 */
export function heldTokens(dir: string): { hold(token: string): () => void; close(): void } {
  const identity = currentIdentity();
  const folder = join(dir, `${identity.pid}-${identity.startTime}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, OWNER), JSON.stringify(identity), { mode: 0o600 });
  let n = 0;
  return {
    hold(token) {
      const file = join(folder, String((n += 1)));
      writeFileSync(file, token, { mode: 0o600 });
      return () => rmSync(file, { force: true });
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** What dead workers of this host held. The caller removes a folder when its tokens are failed. */
export function orphanedTokens(dir: string): Orphaned[] {
  return names(dir).flatMap((name) => {
    const folder = join(dir, name);
    const owner = ownerOf(folder);
    if (!owner || liveness(owner) !== 'dead') return [];
    const tokens = names(folder).filter((file) => file !== OWNER);
    return [{ folder, tokens: tokens.map((file) => readFileSync(join(folder, file), 'utf8')) }];
  });
}

function ownerOf(folder: string): ProcessIdentity | undefined {
  try {
    return ProcessIdentity.safeParse(JSON.parse(readFileSync(join(folder, OWNER), 'utf8'))).data;
  } catch {
    return undefined; // it is being made, or another worker has just removed it
  }
}

function names(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}
