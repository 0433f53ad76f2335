import { baseName, type BashAnalysis, type BashCommand, programName } from './bash-analysis.ts';
import { changesFiles } from './bash-files.ts';
import { gitReads } from './bash-git.ts';
import { isTold } from './bash-runners.ts';
import { opensNoFile } from './bash-redirects.ts';
import type { BashWord } from './bash-words.ts';
import type { PermissionContext } from './call.ts';
import { criticalRemoval } from './critical.ts';

/** Why a command needs a person whatever the mode and the rules say. */
export function bashDanger(
  analysis: BashAnalysis,
  ctx: PermissionContext,
  directories: readonly string[],
): string | undefined {
  if (analysis.problem !== undefined) return `This command can't be checked: ${analysis.problem}.`;
  const removed = criticalRemoval(analysis, ctx, directories);
  if (removed !== undefined) return `It would remove ${removed}, which nobody may remove unasked.`;
  if (analysis.commands.some(namesOperator))
    return 'It names nightshift or temporal, which run this job; only a person may use them.';
  const own = analysis.commands.flatMap((command) => command.words).find((word) => namesOwnState(word, ctx));
  return own === undefined ? undefined : `${own.raw} names nightshift's own state.`;
}

/** Whether a word holds the path of nightshift's home, and none of the folders in it that a job may use. */
function namesOwnState(word: BashWord, ctx: PermissionContext): boolean {
  const home = ctx.nightshiftHome;
  if (home === undefined) return false;
  const text = word.pieces
    .map((piece) => (piece.kind === 'text' ? piece.text : piece.kind === 'home' ? ctx.home : ''))
    .join('');
  if (!text.includes(home)) return false;
  const open = [ctx.root, ...(ctx.readable ?? [])].filter((folder) => folder.startsWith(`${home}/`));
  return !open.some((folder) => text.includes(folder)) || text.includes('..');
}

const operator = /^(?:nightshift|temporal)(?:\.[cm]?js|\.exe|@[\w.^~-]+)?$/;
const inCode = /(?:^|[^\w.-])(?:nightshift|temporal)(?![\w-])/;

/** Programs whose arguments are names and texts, never commands. */
const describesOnly = new Set(
  'echo printf cat head tail grep egrep fgrep rg ls find wc stat du cd git mkdir rmdir touch rm mv cp sed which type command test [ diff sort true false : export pwd basename dirname realpath readlink'.split(
    ' ',
  ),
);

/** Whether a command runs one of the programs that run this job, or may have it run by another program. */
function namesOperator(command: BashCommand): boolean {
  return [...command.layers, ...command.beneath].some((words) => {
    const [first, ...rest] = words;
    if (first && operator.test(lastPart(first))) return true;
    const name = baseName(words);
    if (name !== undefined && describesOnly.has(name) && !isTold(name, words)) return false;
    return rest.some(
      (word) =>
        operator.test(lastPart(word)) ||
        (/[\s;'"(]/.test(word.value ?? word.raw) && inCode.test(word.value ?? word.raw)),
    );
  });
}

function lastPart(word: BashWord): string {
  const text = word.pieces.map((piece) => (piece.kind === 'text' ? piece.text : '/')).join('');
  return text.slice(text.lastIndexOf('/') + 1).toLowerCase();
}

/** Whether a command is known to write files, which plan mode asks about even when a rule allows the command. */
export function writesFiles(analysis: BashAnalysis): boolean {
  if (analysis.problem !== undefined || analysis.unclear.length > 0) return true;
  if (analysis.redirects.some((redirect) => redirect.use === 'write' && !opensNoFile(redirect))) return true;
  return analysis.commands.some((command) =>
    [...command.layers.slice(-1), ...command.beneath].some(
      (words) => changesFiles(words) || (programName(words) === 'git' && !gitReads(words)),
    ),
  );
}
