import { analyse } from './bash.ts';
import { programName, programOf, type BashAnalysis, type BashCommand, type BashRedirect } from './bash-analysis.ts';
import { commandFiles, namesNoFiles } from './bash-files.ts';
import { foldersOf, placeOf, type Place } from './bash-paths.ts';
import { programReads } from './bash-programs.ts';
import type { BashWord } from './bash-words.ts';
import type { PermissionContext } from './call.ts';
import { isWithin, locate } from './locate.ts';

/** Devices that swallow or only show what is written to them. */
const sinks = new Set(['/dev/null', '/dev/stdout', '/dev/stderr', '/dev/tty']);

/** Whether a redirection opens no file: a sink, or a descriptor. */
export function opensNoFile(redirect: BashRedirect): boolean {
  const text = redirect.target.value;
  return text !== undefined && (sinks.has(text) || /^\/dev\/fd\/\d+$/.test(text));
}

/** Whether a command only reads, wherever its files are. */
export function commandReads(command: BashCommand): boolean {
  const words = programOf(command);
  if (command.assignments.some((assignment) => !assignment.safe)) return false;
  if (command.words.length === 0) return command.assignments.length > 0 || isOnlyInput(command);
  return programReads(
    words,
    command.layers.some((layer) => programName(layer) === 'xargs'),
  );
}

/** `$(<file)`: no program at all, just a file that bash reads. */
function isOnlyInput(command: BashCommand): boolean {
  return /^\s*<[^<>&]/.test(command.source);
}

function changesNothing(analysis: BashAnalysis): boolean {
  return (
    analysis.problem === undefined &&
    analysis.unclear.length === 0 &&
    !analysis.processSubstitution &&
    analysis.commands.length > 0 &&
    analysis.commands.every((command) => command.role === 'run' && commandReads(command)) &&
    analysis.redirects.every((redirect) => redirect.use === 'read' || opensNoFile(redirect)) &&
    analysis.redirects.every((redirect) => !isNetwork(redirect.target))
  );
}

function isNetwork(target: BashWord): boolean {
  return /^\/dev\/(?:tcp|udp)\b/.test(target.value ?? target.raw.replaceAll(/["'\\]/g, '')) || target.splits;
}

/** Whether a command may run beside others: it changes nothing, not even the folder that later ones start in. Anything not understood may not. */
export function isConcurrencySafeBash(command: string): boolean {
  const analysis = analyse(command);
  return (
    changesNothing(analysis) &&
    analysis.commands.every(
      (part) => !part.background && !programOf(part).some((word, i) => i === 0 && word.value === 'cd'),
    )
  );
}

/** Whether a command only reads, and only inside the folders that may be read without asking. */
export function isReadOnlyCommand(
  analysis: BashAnalysis,
  ctx: PermissionContext,
  directories: readonly string[] = [],
): boolean {
  return (
    changesNothing(analysis) &&
    analysis.commands.every((command) => readsInside(command, ctx, directories)) &&
    analysis.redirects.every((redirect) => redirectReadsInside(redirect, ctx, directories)) &&
    !mixesFolders(analysis, ctx)
  );
}

/** Whether a reading command stays inside the folders; only for commands that `commandReads`. */
export function readsInside(command: BashCommand, ctx: PermissionContext, directories: readonly string[]): boolean {
  const words = programOf(command);
  const name = programName(words);
  if (name === 'cd') return folderStays(words, command, ctx, directories);
  if (namesNoFiles(words)) return true;
  if (command.layers.some((layer) => programName(layer) === 'xargs')) return false;
  return commandFiles(command).every((file) => placeInside(placeOf(file.word, command.folders, ctx), ctx, directories));
}

/** Whether an input redirection stays inside the folders. */
export function redirectReadsInside(
  redirect: BashRedirect,
  ctx: PermissionContext,
  directories: readonly string[],
): boolean {
  if (opensNoFile(redirect)) return true;
  return (
    !isNetwork(redirect.target) &&
    redirect.use === 'read' &&
    placeInside(placeOf(redirect.target, redirect.folders, ctx), ctx, directories)
  );
}

function folderStays(
  words: readonly BashWord[],
  command: BashCommand,
  ctx: PermissionContext,
  directories: readonly string[],
): boolean {
  const targets = words.slice(1).filter((word) => !/^-[LPe@]+$/.test(word.raw));
  const [target] = targets;
  return (
    target !== undefined &&
    targets.length === 1 &&
    target.value !== '-' &&
    placeInside(placeOf(target, command.folders, ctx), ctx, directories)
  );
}

/** Whether every place that a word may lead to lies inside the folders that may be read. */
export function placeInside(place: Place, ctx: PermissionContext, directories: readonly string[]): boolean {
  const folders = [ctx.root, ...directories, ...(ctx.readable ?? [])];
  if (place.kind === 'unknown') return false;
  const paths = place.kind === 'paths' ? place.paths : place.folders;
  return paths.every((path) => isWithin(locate(path, ctx), folders, ctx));
}

/** Whether it walks into another folder and runs git there, whose configuration it would obey, or writes a file there. */
export function mixesFolders(analysis: BashAnalysis, ctx: PermissionContext): boolean {
  return (
    analysis.commands.some((command) => runsGit(command) && isElsewhere(command.folders, ctx)) ||
    analysis.redirects.some(
      (redirect) => redirect.use === 'write' && !opensNoFile(redirect) && isElsewhere(redirect.folders, ctx),
    )
  );
}

function runsGit(command: BashCommand): boolean {
  return [...command.layers, ...command.beneath].some((words) => programName(words)?.replace(/^.*\//, '') === 'git');
}

function isElsewhere(folders: BashCommand['folders'], ctx: PermissionContext): boolean {
  const found = foldersOf(folders, ctx);
  const here = locate('.', ctx).real;
  return found === undefined || found.some((folder) => locate(folder, ctx).real !== here);
}
