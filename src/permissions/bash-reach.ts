import {
  baseName,
  type BashAnalysis,
  type BashCommand,
  type BashRedirect,
  programName,
  programOf,
} from './bash-analysis.ts';
import { commandFiles, namesNoFiles } from './bash-files.ts';
import { gitPaths } from './bash-git.ts';
import { asksVersion } from './bash-programs.ts';
import { foldersOf, placeOf, type Place } from './bash-paths.ts';
import { opensNetwork, opensNoFile } from './bash-redirects.ts';
import type { PermissionContext } from './call.ts';
import type { CompiledRule } from './compile.ts';
import { isWithin, locate } from './locate.ts';
import { parentPath } from './paths.ts';
import { ruleForUse } from './uses.ts';

/** Where a command may look without a question: the folders of the job, and what Read and Edit rules allow. */
export type Reach = { ctx: PermissionContext; directories: readonly string[]; rules: readonly CompiledRule[] };

/** Whether a command reads only where it may; for commands that are known to read and nothing else. */
export function readsWithin(command: BashCommand, reach: Reach): boolean {
  const words = programOf(command);
  const name = programName(words);
  if (name === 'cd') return walksWithin(command, reach);
  if (name === 'git') return gitHindrance(command, reach) === undefined;
  if (asksVersion(words) && reach.ctx.untrusted) return false;
  if (namesNoFiles(words)) return listsWithin(command, reach);
  if (command.layers.some((layer) => programName(layer) === 'xargs')) return false;
  return commandFiles(command).every(({ word, use }) =>
    mayRead(placeOf(word, command.folders, reach.ctx), use === 'search' ? 'search' : 'read', reach),
  );
}

/** Whether the wildcards of a command find names only where it may look. */
function listsWithin(command: BashCommand, reach: Reach): boolean {
  return programOf(command)
    .filter((word) => word.pieces.some((piece) => piece.kind === 'glob'))
    .every((word) => mayRead(placeOf(word, command.folders, reach.ctx), 'search', reach));
}

/**
 * Why git, which would only read, needs a person all the same: it obeys the configuration of the repository that it finds,
 * and that may name programs, or it is given a path outside.
 */
export function gitHindrance(command: BashCommand, reach: Reach): string | undefined {
  const { ctx, directories } = reach;
  const [, first, ...more] = programOf(command);
  if (first?.value === '--version' && more.length === 0) return undefined;
  if (ctx.untrusted)
    return "git may run programs that this folder's own configuration names: nightshift trust lets it read, or a rule such as Bash(git status)";
  const folders = foldersOf(command.folders, ctx)?.map((folder) => locate(folder, ctx));
  if (!folders?.every((folder) => isWithin(folder, [ctx.root, ...directories], ctx)))
    return 'git may run programs that the configuration of a folder outside the working folders names';
  const bare = folders.map(({ real }) => bareRepository(real, ctx)).find((folder) => folder !== undefined);
  if (bare !== undefined) return `git may take ${bare} for a repository and run programs that ${bare}/config names`;
  const outside = gitPaths(programOf(command)).find(
    (word) => !mayRead(placeOf(word, command.folders, ctx), 'search', reach),
  );
  return outside && `${outside.raw} may lead outside the working folders`;
}

/** The folder, at or above another, that git takes for a repository although it isn't called `.git`. */
function bareRepository(folder: string, ctx: PermissionContext): string | undefined {
  const names = ctx.list?.(folder) ?? [];
  if (names.includes('.git')) return undefined;
  if (names.includes('HEAD')) return folder;
  const above = parentPath(folder);
  return above === folder ? undefined : bareRepository(above, ctx);
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
  return [...command.layers, ...command.beneath].some((words) => baseName(words) === 'git');
}

function isElsewhere(folders: BashCommand['folders'], ctx: PermissionContext): boolean {
  const found = foldersOf(folders, ctx);
  const here = locate('.', ctx).real;
  return found === undefined || found.some((folder) => locate(folder, ctx).real !== here);
}
