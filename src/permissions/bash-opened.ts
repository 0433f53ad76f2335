import { baseName, type BashCommand } from './bash-analysis.ts';
import { filesOf, isRecursive } from './bash-files.ts';
import { gitSubcommand } from './bash-git.ts';
import { locate } from './locate.ts';
import type { PermissionContext } from './call.ts';
import { pathRuleCovers, pathRuleMayCover, type PathRule } from './path-rules.ts';
import { joinPath, segmentsOf } from './paths.ts';
import { wordFrom, type BashWord } from './bash-words.ts';
import { literal } from './wildcard.ts';

type Words = readonly BashWord[];

/** A path that is read although no program gets it as a file. `finds`: every file below it is, `hidden`: those with a dot in front too. */
export type Opened = { word: BashWord; finds?: { hidden: boolean } };

/** What a command reads besides the files that it names: what a search finds in a folder, and what git shows of a path. */
export function openedBy(command: BashCommand): Opened[] {
  return [...command.layers.slice(-1), ...command.beneath].flatMap((words) => {
    const name = baseName(words);
    if (name === 'git') return shownByGit(words);
    if (name === 'rg') return found(words, !words.some((word) => word.raw === '--files'), searchesHidden(words));
    return name?.endsWith('grep') ? found(words, isRecursive(name, words), true) : [];
  });
}

function found(words: Words, opens: boolean, hidden: boolean): Opened[] {
  const folders = opens ? filesOf(words).filter(({ word }) => word.value !== undefined) : [];
  return folders.map(({ word }) => ({ word, finds: { hidden } }));
}

function searchesHidden(words: Words): boolean {
  return words.some((word) => /^-[a-zA-Z]*[u.]|^--(?:hidden|unrestricted)/.test(word.raw));
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
