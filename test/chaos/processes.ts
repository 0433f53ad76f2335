import { readFileSync } from 'node:fs';
import { MARK } from '../../src/host/kill-tree.ts';
import { namesIn } from './files.ts';

/** The processes that carry a job's mark in their environment, and the supervisors that were given it, as `pid command`. */
export function processesOf(job: string): string[] {
  return namesIn('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    const words = parts(pid, 'cmdline');
    const isOurs =
      parts(pid, 'environ').some((entry) => entry.startsWith(`${MARK}=${job}/`)) ||
      (words.some((word) => word.endsWith('supervisor.sh')) && words.some((word) => word.startsWith(`${job}/`)));
    return isOurs ? [`${pid} ${words.join(' ').slice(0, 120)}`] : [];
  });
}

/** The job's processes that are still there after they had `ms` to end. */
export async function leftovers(job: string, ms = 5_000): Promise<string[]> {
  const until = performance.now() + ms;
  for (;;) {
    const found = processesOf(job);
    if (found.length === 0 || performance.now() > until) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Zombies have neither environment nor command line: they have ended. */
function parts(pid: string, file: 'environ' | 'cmdline'): string[] {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0').filter(Boolean);
  } catch {
    return [];
  }
}
