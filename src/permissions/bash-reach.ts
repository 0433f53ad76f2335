import { programName, programOf, type BashAnalysis, type BashCommand, type BashRedirect } from './bash-analysis.ts';
import { commandFiles, namesNoFiles } from './bash-files.ts';
import { foldersOf, placeOf, type Place } from './bash-paths.ts';
import { opensNetwork, opensNoFile } from './bash-redirects.ts';
import type { PermissionContext } from './call.ts';
import type { CompiledRule } from './compile.ts';
import { isWithin, locate } from './locate.ts';
import { ruleForUse } from './uses.ts';

/** Where a command may look without a question: the folders of the job, and what Read and Edit rules allow. */
export type Reach = { ctx: PermissionContext; directories: readonly string[]; rules: readonly CompiledRule[] };

/** Whether a command reads only where it may; for commands that are known to read and nothing else. */
export function readsWithin(command: BashCommand, reach: Reach): boolean {
  const words = programOf(command);
  if (programName(words) === 'cd') return walksWithin(command, reach);
  if (namesNoFiles(words)) return true;
  if (command.layers.some((layer) => programName(layer) === 'xargs')) return false;
  return commandFiles(command).every(({ word, use }) =>
    mayRead(placeOf(word, command.folders, reach.ctx), use === 'search' ? 'search' : 'read', reach),
  );
}

/** Whether bash may open a file for the input of a command. */
export function inputWithin(redirect: BashRedirect, reach: Reach): boolean {
  if (opensNoFile(redirect)) return true;
  if (redirect.use !== 'read' || opensNetwork(redirect)) return false;
  return mayRead(placeOf(redirect.target, redirect.folders, reach.ctx), 'read', reach);
}

function walksWithin(command: BashCommand, reach: Reach): boolean {
  const targets = programOf(command)
    .slice(1)
    .filter((word) => !/^-[LPe@]+$/.test(word.raw));
  const [target] = targets;
  if (target === undefined || targets.length > 1 || target.value === '-') return false;
  return mayRead(placeOf(target, command.folders, reach.ctx), 'search', reach);
}

function mayRead(place: Place, use: 'read' | 'search', { ctx, directories, rules }: Reach): boolean {
  if (place.kind === 'unknown') return false;
  const folders = [ctx.root, ...directories, ...(ctx.readable ?? [])];
  const paths = place.kind === 'paths' ? place.paths : [...place.folders, ...place.found];
  if (paths.every((path) => isWithin(locate(path, ctx), folders, ctx))) return true;
  return ruleForUse(rules, { place, use, text: '' }, ctx) !== undefined;
}

/** Whether it walks into another folder and runs git there, whose configuration it would obey, or writes a file there. */
export function mixesFolders({ commands, redirects }: BashAnalysis, ctx: PermissionContext): boolean {
  return (
    commands.some((command) => runsGit(command) && isElsewhere(command.folders, ctx)) ||
    redirects.some(
      (redirect) => redirect.use === 'write' && !opensNoFile(redirect) && isElsewhere(redirect.folders, ctx),
    )
  );
}

/** Whether a command is one of git, also behind a wrapper or another program. */
export function runsGit(command: BashCommand): boolean {
  return [...command.layers, ...command.beneath].some((words) => programName(words)?.replace(/^.*\//, '') === 'git');
}

function isElsewhere(folders: BashCommand['folders'], ctx: PermissionContext): boolean {
  const found = foldersOf(folders, ctx);
  const here = locate('.', ctx).real;
  return found === undefined || found.some((folder) => locate(folder, ctx).real !== here);
}
