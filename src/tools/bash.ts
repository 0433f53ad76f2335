import { z } from 'zod';
import type { ShellExit, ShellRun } from '../core/ports.ts';
import type { Recovery, ToolIo, ToolOutput } from '../core/tool.ts';
import { isConcurrencySafeBash } from '../permissions/bash-readonly.ts';
import { awaitExit } from './await-exit.ts';
import { backgroundFault, inBackground, mayMove, movedToBackground, timeUp } from './background.ts';
import { claimCommit, compareRefs } from './compare-refs.ts';
import { defineTool } from './define.ts';
import { isInside, refusal } from './paths.ts';
import { adoptProcess, type ProcessClaim } from './recover.ts';
import { seenByShell } from './shell-reads.ts';
import { type Ran, type ShellReport, shellReport, unfinishedText } from './shell-report.ts';
import { briefText } from './text.ts';

const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_TIMEOUT_MS = 600_000;
const MAX_CHARS = 30_000;
/** A command whose output grows beyond this is killed. */
const MAX_OUTPUT_BYTES = 5 * 1024 ** 3;

const BashInput = z.strictObject({
  command: z.string().describe('The command, as for `bash -c`.'),
  timeout: z
    .number()
    .positive()
    .optional()
    .describe('Time limit in milliseconds; 120000 if not given, at most 600000. There is none in the background.'),
  description: z.string().optional().describe('What it does, in 5 to 10 words, for the people who watch.'),
  run_in_background: z
    .boolean()
    .optional()
    .describe(
      'Answer at once and let the command go on; for servers, and for long work beside which you do other things.',
    ),
});
type BashInput = z.infer<typeof BashInput>;

const description = `Runs a command in bash and returns what it prints, stdout and stderr together.
- The working directory is kept from one command to the next as long as it stays in the workspace; variables are not.
- Nobody can answer: use the flags by which programs do not ask (\`-y\`, \`--no-edit\`), and start no editors or pagers.
- At its time limit a command goes on in the background; one that only sleeps, runs git or can't be parsed is killed. Of a command that ended nothing is left running: do not use \`&\`.
- With run_in_background you get an ID and the path of the output at once, and a <task-notification> when the command ends. TaskOutput waits for it, TaskStop ends it.
- Background commands are ended when you give your final answer: wait for what you still need.
- Quote paths with blanks. Chain what belongs together with \`&&\`; send independent commands as calls of one reply.
- To read, search and change files prefer Read, Grep, Glob, Edit and Write; to wait, Sleep.
- Long output is saved to a file of which you see the beginning; of a failed command you see both ends.`;

/** Runs a shell command that outlives its worker. */
export const bash = defineTool<BashInput>({
  name: 'Bash',
  description,
  input: BashInput,
  isConcurrencySafe: (input) => !input.run_in_background && isConcurrencySafeBash(input.command),
  maxChars: MAX_CHARS,
  brief: (input) => briefText(input.description || input.command),
  access: (input) => ({ kind: 'bash', command: input.command }),
  validate: (input, io) =>
    commandFault(input.command) ?? (input.run_in_background ? backgroundFault(io.env) : undefined),
  run: runCommand,
  recover: recoverCommand,
});

function commandFault(command: string): string | undefined {
  if (command.trim() === '') return 'The command is empty. Say what to run.';
  if (command.includes('\0')) return "The command holds a NUL character, which bash can't take. Leave it out.";
  return undefined;
}

async function runCommand(input: BashInput, io: ToolIo): Promise<ToolOutput> {
  if (io.signal.aborted) return refusal('The command was not run: the call was cancelled before.');
  const lost = await lostFolder(io);
  if (lost !== undefined) return lost;
  const ran = limitsOf(input, io.env);
  const movable = input.run_in_background || mayMove(input.command, io.env);
  const commit = await claimCommit(input.command, io);
  await io.claim({ kind: 'process', movable, ...(commit && { commit }) } satisfies ProcessClaim);
  let run: ShellRun;
  try {
    const timeoutMs = movable ? Infinity : ran.timeoutMs;
    const setup = (await io.setup?.()) ?? [];
    run = await io.shell.start(io.dir, { ...ran, timeoutMs, cwd: io.cwd, env: io.env, mark: io.mark, setup });
  } catch (error) {
    const before = await startedBefore(input, io, movable);
    return before ?? refusal(`The command was not run. ${error instanceof Error ? error.message : String(error)}`);
  }
  if (input.run_in_background && !io.signal.aborted) return inBackground(run.outputPath, io);
  return follow(run, ran, io, movable);
}

/** What became of a command of this call whose claim is gone: it runs, or ran, all the same. `undefined`: there is none. */
async function startedBefore(input: BashInput, io: ToolIo, movable: boolean): Promise<ToolOutput | undefined> {
  const recovery = await recoverCommand({ kind: 'process', movable } satisfies ProcessClaim, input, io);
  switch (recovery.kind) {
    case 'running':
      return recovery.wait();
    case 'done':
      return recovery.output;
    case 'unknown':
      return refusal(
        `The outcome of this command is unknown: it was started before, and nobody saw how it ended. ${recovery.check}`,
      );
    case 'notDone':
      return undefined;
  }
}

function recoverCommand(claim: unknown, input: BashInput, io: ToolIo): Promise<Recovery> {
  const ran = limitsOf(input, io.env);
  return adoptProcess(claim, io, {
    running: (run, { movable }) =>
      input.run_in_background && !io.signal.aborted
        ? inBackground(run.outputPath, io)
        : follow(run, ran, io, movable === true),
    ended: ({ exit, outputPath }) =>
      input.run_in_background ? inBackground(outputPath, io) : finished(outputPath, ran, exit, io),
    gone: (outputPath, { commit }) => lostCommand(outputPath, commit, io),
  });
}

/** A command of which only its effects can tell how far it got; those of a commit do. */
async function lostCommand(outputPath: string, commit: ProcessClaim['commit'], io: ToolIo): Promise<Recovery> {
  const found: Recovery = commit
    ? await compareRefs(commit, io)
    : { kind: 'unknown', check: 'The command may have acted: check what it was meant to change.' };
  if (found.kind === 'unknown') return { ...found, check: await unfinishedText(io.shell, outputPath, found.check) };
  if (found.kind === 'notDone') await io.shell.forget(io.dir);
  return found;
}

/** A working directory that was deleted: running elsewhere instead could do harm there. */
async function lostFolder(io: ToolIo): Promise<ToolOutput | undefined> {
  if ((await io.files.stat(io.cwd))?.kind === 'directory') return undefined;
  if ((await io.files.stat(io.root))?.kind !== 'directory') {
    return refusal(`The workspace ${io.root} does not exist any more, so no command can run in it.`);
  }
  return {
    ...refusal(
      `The working directory ${io.cwd} does not exist any more, so the command was not run. The working directory is now ${io.root}.`,
    ),
    cwd: io.root,
  };
}

/** Waits for the end, or until a movable one's time is up; when the call is cancelled, kills all of it. */
async function follow(run: ShellRun, ran: Ran, io: ToolIo, movable: boolean): Promise<ToolOutput> {
  const limit = movable ? timeUp(run, ran.timeoutMs) : undefined;
  const signal = limit ? AbortSignal.any([io.signal, limit]) : io.signal;
  let exit: ShellExit;
  try {
    exit = await awaitExit(run, signal, io);
  } catch (error) {
    if (!signal.aborted) throw error;
    if (!io.signal.aborted) return movedToBackground(run, ran.timeoutMs, io);
    await run.kill();
    const how = 'The command was killed because the call was cancelled; it may have acted.';
    return refusal(await unfinishedText(io.shell, run.outputPath, how));
  }
  return finished(run.outputPath, ran, exit, io);
}

async function finished(outputPath: string, ran: Ran, exit: ShellExit, io: ToolIo): Promise<ToolOutput> {
  const report = await shellReport(io.shell, outputPath, ran, exit);
  const shown = { ...report, ...(await shownFiles(ran.command, report, io)) };
  const output = { ...shown, content: withComplaint(shown, exit.setup) };
  if (exit.cwd === undefined || exit.cwd === io.files.real(io.cwd)) return output;
  if (
    isInside(
      io.files.real(exit.cwd),
      [io.root, ...io.directories].map((folder) => io.files.real(folder)),
    )
  ) {
    return { ...output, cwd: exit.cwd };
  }
  const isThere = (await io.files.stat(io.root))?.kind === 'directory';
  const notice = isThere
    ? `[The working directory is ${io.root} again: ${exit.cwd} is outside of the workspace.]`
    : `[The workspace ${io.root} does not exist any more; the command ended in ${exit.cwd}.]`;
  const text = output.content === '' ? notice : `${output.content}\n\n${notice}`;
  return { ...output, cwd: io.root, content: text };
}

/** What failed in a hook's file ahead of the command is told with the result; the command has run all the same. */
function withComplaint({ content, isError }: ShellReport, complaint: string | undefined): string {
  if (complaint === undefined) return content;
  const notice = `[The command ran, but what SessionStart hooks wrote to CLAUDE_ENV_FILE did not run as a whole: ${complaint}]`;
  return (isError ? [content, notice] : [notice, content]).filter((part) => part !== '').join('\n');
}

/** Files that the model has seen by a command that only prints one, unless the output is too long to be shown. */
async function shownFiles(command: string, report: ShellReport, io: ToolIo): Promise<Pick<ToolOutput, 'seen'>> {
  if (report.isError || report.content.length > MAX_CHARS) return {};
  // A file that can't be read now is one that the model does not know.
  const seen = await seenByShell(command, report.content, io).catch(() => ({}));
  return Object.keys(seen).length === 0 ? {} : { seen };
}

/** A time limit beyond the ceiling is lowered to it, not refused. */
function limitsOf(input: BashInput, env: Record<string, string>): Ran {
  const usual = positive(env['BASH_DEFAULT_TIMEOUT_MS']) ?? DEFAULT_TIMEOUT_MS;
  const ceiling = Math.max(usual, positive(env['BASH_MAX_TIMEOUT_MS']) ?? MAX_TIMEOUT_MS);
  const timeoutMs = Math.min(Math.max(1, Math.round(input.timeout ?? usual)), ceiling);
  return { command: input.command, timeoutMs, maxBytes: MAX_OUTPUT_BYTES };
}

function positive(text: string | undefined): number | undefined {
  const value = Number(text);
  return text !== undefined && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}
