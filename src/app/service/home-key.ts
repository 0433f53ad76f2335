import { createHash } from 'node:crypto';
import { realpathSync } from 'node:fs';
import type { Home } from './home.ts';

/** Names a home in the marks of its processes: its id and its path, because a copied home has the id of the first. */
export function homeKey({ id, home }: Pick<Home, 'id' | 'home'>): string {
  return createHash('sha256')
    .update(`${id} ${realpathSync(home)}`)
    .digest('hex')
    .slice(0, 12);
}
