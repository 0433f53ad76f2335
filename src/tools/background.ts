import type { ShellRun } from '../core/ports.ts';
import type { ToolIo, ToolOutput } from '../core/tool.ts';
import { analyse } from '../permissions/bash.ts';
import { runsGit } from '../permissions/bash-reach.ts';
import { refusal } from './paths.ts';
import { unfinishedText } from './shell-report.ts';
import { numberText } from './text.ts';

/** The longest that a timer of Node can run, in ms. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const SWITCH = 'CLAUDE_CODE_DISABLE_BACKGROUND_TASKS';

/** Why no command of this job may run in the background, if none may. */
export function backgroundFault(env: Record<string, string>): string | undefined {
  return isOff(env)
    ? `Background commands are switched off for this job (${SWITCH}). Run the command without run_in_background.`
    : undefined;
}

/**
 * Whether a command that reaches its time limit goes on in the background instead of being killed. Not so: one that only
 * waits, one that runs git, which would hold its locks for a long time unseen, and one that can't be understood.
 */
export function mayMove(command: string, env: Record<string, string>): boolean {
  if (isOff(env) || /^\s*sleep(\s|$)/.test(command)) return false;
  const { problem, commands } = analyse(command);
  return problem === undefined && !commands.some(runsGit);
}

/** Aborts when a command has run for so long, counted from its start, whoever has it now. */
export function timeUp(run: ShellRun, timeoutMs: number): AbortSignal {
  const left = Math.ceil(timeoutMs - run.ageMs());
  return AbortSignal.timeout(Math.min(Math.max(0, left), LONGEST_TIMER_MS));
}

/** The answer of a call whose command goes on without it. */
export async function inBackground(outputPath: string, io: ToolIo): Promise<ToolOutput> {
  await io.shell.publish(outputPath, io.task.outputPath);
  return { content: runningText(io), background: true };
}

/** The same for one that reached its time limit; it is killed when it could not go on in the sight of the model. */
export async function movedToBackground(run: ShellRun, timeoutMs: number, io: ToolIo): Promise<ToolOutput> {
  const limit = `${numberText(timeoutMs / 1000)} s`;
  try {
    await io.shell.publish(run.outputPath, io.task.outputPath);
  } catch (error) {
    await run.kill();
    const why = `because it could not go on in the background (${String(error)})`;
    const how = `The command was killed after ${limit}, its time limit, ${why}; it may have acted.`;
    return refusal(await unfinishedText(io.shell, run.outputPath, how));
  }
  const how = `${runningText(io)}\nIt did not end within ${limit}, its time limit, and goes on; you will be told when it ends. The working directory is still ${io.cwd}, whatever it does.`;
  return { content: await unfinishedText(io.shell, run.outputPath, how), background: true };
}

const runningText = ({ task }: ToolIo): string =>
  `Command running in background with ID: ${task.id}. Output is being written to: ${task.outputPath}`;

const isOff = (env: Record<string, string>): boolean => /^(1|true|yes|on)$/i.test(env[SWITCH] ?? '');
