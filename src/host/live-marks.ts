import { readdir, readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { MARK } from './kill-tree.ts';
import { SCRIPT } from './supervisor.ts';

/** Where the mark stands among the arguments of a supervisor, its shell and its script included. */
const MARK_ARGUMENT = 5;

/**
 * The marks that living processes of this user carry, and those of supervisors, which may be about to start one. It is
 * asked of the kernel, so that no crash can leave a command out.
 */
export async function liveMarks(): Promise<Set<string>> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const marks = await Promise.all(pids.map(async (pid) => (await inEnvironment(pid)) ?? inArguments(pid)));
  return new Set(marks.filter((mark) => mark !== undefined));
}

async function inEnvironment(pid: string): Promise<string | undefined> {
  const entries = await fields(`/proc/${pid}/environ`);
  return entries.find((entry) => entry.startsWith(`${MARK}=`))?.slice(MARK.length + 1);
}

async function inArguments(pid: string): Promise<string | undefined> {
  const args = await fields(`/proc/${pid}/cmdline`);
  return basename(args[1] ?? '') === basename(SCRIPT) ? args[MARK_ARGUMENT] : undefined;
}

/** Of another user, or just gone: neither is ours. */
async function fields(path: string): Promise<string[]> {
  try {
    return (await readFile(path, 'utf8')).split('\0');
  } catch {
    return [];
  }
}
