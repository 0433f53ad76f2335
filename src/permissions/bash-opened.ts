import { baseName, type BashCommand } from './bash-analysis.ts';
import { filesOf, isRecursive } from './bash-files.ts';
import { gitSubcommand } from './bash-git.ts';
import { hasOption } from './bash-options.ts';
import { locate } from './locate.ts';
import type { PermissionContext } from './call.ts';
import { pathRuleCovers, pathRuleMayCover, type PathRule } from './path-rules.ts';
import { joinPath, segmentsOf } from './paths.ts';
import { plainWord, wordFrom, type BashWord } from './bash-words.ts';
import { literal } from './wildcard.ts';

type Words = readonly BashWord[];

/** A path that is read although no program gets it as a file. `finds`: every file below it is, `hidden`: those with a dot in front too. */
export type Opened = { word: BashWord; finds?: { hidden: boolean } };

/** What a command reads besides the files that it names: what a search finds in a folder, and what git shows of a path. */
export function openedBy(command: BashCommand): Opened[] {
  return [...command.layers.slice(-1), ...command.beneath].flatMap((words) => {
    const name = baseName(words);
    if (name === 'git') return shownByGit(words);
    // Elsewhere than in front it may be the value of an option.
    if (name === 'rg')
      return words[1]?.value === '--files' ? [] : found(words, RG_VALUES, searchesHidden(words.slice(1)));
    return name?.endsWith('grep') && isRecursive(name, words) ? found(words, GREP_VALUES, true) : [];
  });
}

/** Options with a value that may be the next word: then what looks like the only folder may be no folder at all. */
const RG_VALUES = {
  short: 'egtTABCmMjdEfr',
  long: ['regexp', 'glob', 'iglob', 'type', 'type-add', 'file', 'max-count'],
};
const GREP_VALUES = { short: 'efABCmDd', long: ['regexp', 'file', 'max-count', 'context', 'include', 'exclude'] };

function found(words: Words, valued: { short: string; long: readonly string[] }, hidden: boolean): Opened[] {
  const named = filesOf(words).flatMap(({ word }) => (word.value === undefined ? [] : [word]));
  const here = hasOption(words.slice(1), valued.short, valued.long) ? [plainWord('.')] : [];
  return [...named, ...here].map((word) => ({ word, finds: { hidden } }));
}

/** What is asked for by a glob or a type is searched also where it is hidden. */
function searchesHidden(args: Words): boolean {
  return hasOption(args, 'u.gt', ['hidden', 'unrestricted', 'glob', 'iglob', 'type', 'type-add']);
}

const showing = new Set(
  'show diff log blame annotate grep cat-file whatchanged diff-tree diff-index diff-files'.split(' '),
);

/** The words that may be a path, and the paths in words such as `HEAD:path`. */
function shownByGit(words: Words): Opened[] {
  const [subcommand, ...args] = gitSubcommand(words);
  if (!showing.has(subcommand?.value ?? '')) return [];
  return args.flatMap((word) => {
    if (word.value === undefined || word.value.startsWith('-')) return [];
    const colon = word.value.indexOf(':');
    const path = colon < 0 ? undefined : wordFrom(word, colon + 1);
    return [{ word }, ...(path ? [{ word: path }] : [])];
  });
}

/** A search through more names than this is not followed any more. */
const MOST_NAMES = 2_000;

/** Whether a search below a path would open a file that a rule covers, or may do so as far as can be told. */
export function findsCovered(rule: PathRule, path: string, hidden: boolean, ctx: PermissionContext): boolean {
  const at = locate(path, ctx);
  const mayCover = [...new Set([at.path, at.real])].some((one) =>
    pathRuleMayCover(rule, [...segmentsOf(one).map(literal), '**'], ctx),
  );
  if (!mayCover) return false;
  if (!ctx.list) return true;
  const folders = [at];
  let seen = 0;
  for (const folder of folders) {
    for (const name of ctx.list(folder.path)) {
      if (name.startsWith('.') && !hidden) continue;
      const child = locate(joinPath(folder.path, name), ctx);
      if ((seen += 1) > MOST_NAMES || pathRuleCovers(rule, child, ctx)) return true;
      // A search goes through no links.
      if (child.real === joinPath(folder.real, name)) folders.push(child);
    }
  }
  return false;
}
