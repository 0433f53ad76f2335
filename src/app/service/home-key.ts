import { createHash } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Home } from './home.ts';

/** Names a home in the marks of its processes: its id and its path, because a copied home has the id of the first. */
export function homeKey({ id, home }: Pick<Home, 'id' | 'home'>): string {
  return createHash('sha256')
    .update(`${id} ${placeOf(home)}`)
    .digest('hex')
    .slice(0, 12);
}

/** A home that is reached through another mount namespace (`/proc/<pid>/root/…`) has no path without links here. */
function placeOf(home: string): string {
  try {
    return realpathSync(home);
  } catch {
    return resolve(home);
  }
}
