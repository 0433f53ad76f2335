import type { Shell } from '../core/ports.ts';
import { askGit } from './ask-git.ts';
import { forgetRun } from './forget-run.ts';
import { readOutput } from './read-output.ts';
import { publish } from './publish-output.ts';
import { adopt, start } from './supervisor.ts';

/** Commands of this machine, each under a supervisor that outlives its worker. */
export function createShell(): Shell {
  return { start: (dir, spec) => start(dir, spec), adopt, forget: forgetRun, publish, readOutput, askGit };
}
