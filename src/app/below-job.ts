import { readFileSync } from 'node:fs';
import { CliError, Exit } from './cli-error.ts';
import type { Env } from './io.ts';

const MARK = 'NIGHTSHIFT_CALL';
/** Deeper than any real process tree; guards against a loop made by ids that were given away again. */
const DEPTH = 200;

/** Refuses (1) what only a person may do when this process descends from a command of a job: the agent is not the operator. */
export function refuseBelowJob(command: string, env: Env, parent: number = process.ppid): void {
  const mark = env[MARK] ?? ancestorMark(parent);
  if (mark === undefined) return;
  throw new CliError(
    Exit.failed,
    `nightshift ${command} can't be used by a command that a job runs (${mark})`,
    `A person answers for a job: run nightshift ${command} in a shell of your own.`,
  );
}

/** The mark in the environment that an ancestor was started with. What can't be read belongs to another user. */
function ancestorMark(pid: number): string | undefined {
  let current = pid;
  for (let depth = 0; current > 1 && depth < DEPTH; depth += 1) {
    const mark = read(`/proc/${current}/environ`)
      ?.split('\0')
      .find((entry) => entry.startsWith(`${MARK}=`));
    if (mark !== undefined) return mark.slice(MARK.length + 1);
    current = parentOf(current);
  }
  return undefined;
}

function parentOf(pid: number): number {
  // The name of the program stands in brackets and may hold anything, brackets and spaces too.
  const stat = read(`/proc/${pid}/stat`);
  return Number(stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? 0);
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return undefined;
  }
}
