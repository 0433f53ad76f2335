import { analyse } from './bash.ts';
import { programName, programOf, type BashAnalysis, type BashCommand } from './bash-analysis.ts';
import { programReads } from './bash-programs.ts';
import { inputWithin, mixesFolders, readsWithin } from './bash-reach.ts';
import { opensNetwork, opensNoFile } from './bash-redirects.ts';
import type { PermissionContext } from './call.ts';

/** Whether a command only reads, wherever its files are. */
export function commandReads(command: BashCommand): boolean {
  if (command.assignments.some((assignment) => !assignment.safe)) return false;
  if (command.words.length === 0) return command.assignments.length > 0 || isOnlyInput(command);
  return programReads(
    programOf(command),
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
    !analysis.empty &&
    analysis.commands.every((command) => command.role === 'run' && commandReads(command)) &&
    analysis.redirects.every(
      (redirect) => opensNoFile(redirect) || (redirect.use === 'read' && !opensNetwork(redirect)),
    )
  );
}

/** Whether a command may run beside others: it changes nothing, not even the folder that later ones start in. Anything not understood may not. */
export function isConcurrencySafeBash(command: string): boolean {
  const analysis = analyse(command);
  return (
    changesNothing(analysis) &&
    analysis.commands.every((part) => !part.background && programName(programOf(part)) !== 'cd')
  );
}

/** Whether a command only reads, and only inside the folders that may be read without asking. */
export function isReadOnlyCommand(
  analysis: BashAnalysis,
  ctx: PermissionContext,
  directories: readonly string[] = [],
): boolean {
  const reach = { ctx, directories, rules: [] };
  return (
    changesNothing(analysis) &&
    analysis.commands.every((command) => readsWithin(command, reach)) &&
    analysis.redirects.every((redirect) => inputWithin(redirect, reach)) &&
    !mixesFolders(analysis, ctx)
  );
}
