import { readdir, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ConfigProblem } from '../shapes/settings.ts';

/** A folder of configuration. `within`: links that lead out of this folder are refused, since a stranger may have made them. */
export type ConfigFolder = { path: string; within?: string };

/** So many files and folders are looked at. */
const MOST = 5_000;

/** The files at most `depth` folders below one whose path fits, in the order of their paths. Links are followed. */
export async function filesBelow(
  folder: ConfigFolder,
  { fits, depth: deepest, problems }: { fits: (path: string) => boolean; depth: number; problems: ConfigProblem[] },
): Promise<string[]> {
  const found: string[] = [];
  const seen = new Set<string>();

  async function walk(path: string, depth: number): Promise<void> {
    const real = await realpath(path).catch(() => undefined);
    if (real === undefined || seen.has(real) || seen.size >= MOST) return;
    if (await leadsOut(real, folder.within)) {
      problems.push({ file: path, text: `It is a link out of ${folder.within}: left out.`, stops: false });
      return;
    }
    seen.add(real);
    const what = await stat(real).catch(() => undefined);
    if (what?.isDirectory() === true && depth < deepest) {
      const names = (await readdir(path).catch((): string[] => [])).sort();
      for (const name of names) await walk(join(path, name), depth + 1);
    } else if (what?.isFile() === true && fits(path)) found.push(path);
  }

  await walk(folder.path, 0);
  return found;
}

async function leadsOut(real: string, within: string | undefined): Promise<boolean> {
  if (within === undefined) return false;
  const base = await realpath(within).catch(() => within);
  return real !== base && !real.startsWith(`${base}/`);
}

/** The same subfolder of a folder and of those above it up to `root`, the nearest first. */
export function nearestFirst(dir: string, root: string, name: string): ConfigFolder[] {
  const here = { path: join(dir, name), within: root };
  const parent = dirname(dir);
  return dir === root || parent === dir ? [here] : [here, ...nearestFirst(parent, root, name)];
}
