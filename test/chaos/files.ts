import { readdirSync, readFileSync } from 'node:fs';
import { watchUntil } from '../../src/host/watch-until.ts';
import { basename, dirname } from 'node:path';

/** The text of a file; empty when there is none. */
export function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** How often a line stands in a file. */
export function countLines(path: string, line: string): number {
  return textOf(path)
    .split('\n')
    .filter((found) => found === line).length;
}

/** The names in a folder; none when there is no such folder. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Resolves when `look` says yes; `path` is the file by whose changes it is likely to. Rejects after `ms`, saying what did not come. */
export async function untilSeen(path: string, look: () => boolean, what: string, ms = 60_000): Promise<void> {
  const place = { dir: dirname(path), name: basename(path), everyMs: 25 };
  try {
    await watchUntil(place, () => (look() ? true : undefined), AbortSignal.timeout(ms));
  } catch (error) {
    throw new Error(`${what} did not come in ${ms / 1000} s (${path})`, { cause: error });
  }
}
