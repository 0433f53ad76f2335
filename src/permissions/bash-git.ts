import { firstText } from './bash-options.ts';
import { plainWord, wordFrom, type BashWord } from './bash-words.ts';

type Words = readonly BashWord[];

/** Options, of any reading subcommand, that write a file or start a program. Git takes unique beginnings of them too. */
const acting = [
  '--output',
  '--ext-diff',
  '--exec',
  '--open-files-in-pager',
  '--upload-pack',
  '--no-index',
  '--textconv',
  '--filters',
  '--edit-description',
  '--contents',
  '--run-command',
];

const reading = new Set(
  'status log diff show rev-parse describe blame annotate shortlog ls-files ls-tree cat-file rev-list name-rev merge-base for-each-ref show-ref count-objects diff-tree diff-index diff-files whatchanged cherry show-branch version grep'.split(
    ' ',
  ),
);

/** Subcommands that read only with certain first words or without operands. */
const conditional: ReadonlyMap<string, (args: readonly string[]) => boolean> = new Map([
  [
    'branch',
    (args: readonly string[]) =>
      listsOnly(
        args,
        /^(?:-[arvil]+|--list|--all|--remotes|--show-current|--ignore-case|--no-color|--color(?:=.*)?|--no-column|--column(?:=.*)?|--sort=.*|--format=.*|--verbose|--abbrev=\d+|--no-abbrev)$/,
        /^(?:--contains|--no-contains|--merged|--no-merged|--points-at)(?:=|$)/,
        /^(?:-l|--list)$/,
      ),
  ],
  [
    'tag',
    (args: readonly string[]) =>
      listsOnly(
        args,
        /^(?:-n\d*|-l|--list|-i|--ignore-case|--sort=.*|--format=.*|--no-column|--column(?:=.*)?)$/,
        /^(?:--contains|--no-contains|--merged|--no-merged|--points-at)(?:=|$)/,
        /^(?:-l|--list|-n\d*)$/,
      ),
  ],
  [
    'remote',
    (args: readonly string[]) =>
      args.every((arg) => arg === '-v' || arg === '--verbose') ||
      (args[0] === 'get-url' && args.slice(1).every((arg) => /^(?:--all|--push|[\w./-]+)$/.test(arg))),
  ],
  [
    'reflog',
    (args: readonly string[]) => args.length === 0 || args[0] === 'show' || /^-(?:n\d*|\d+|-oneline)$/.test(args[0]!),
  ],
  ['stash', (args: readonly string[]) => args[0] === 'list' || args[0] === 'show'],
  ['worktree', (args: readonly string[]) => args[0] === 'list'],
  ['submodule', (args: readonly string[]) => args.length === 1 && args[0] === 'status'],
  ['config', (args: readonly string[]) => readsConfig(args)],
]);

function listsOnly(args: readonly string[], plain: RegExp, valued: RegExp, listing: RegExp): boolean {
  const asksList = args.some((arg) => listing.test(arg) || valued.test(arg));
  return args.every((arg) => (arg.startsWith('-') ? plain.test(arg) || valued.test(arg) : asksList));
}

function readsConfig(args: readonly string[]): boolean {
  const scope = /^(?:--global|--local|--system|--worktree|--show-origin|--show-scope|-z|--null|--name-only)$/;
  const rest = args.filter((arg) => !scope.test(arg));
  const [key, ...more] = /^(?:--get|--get-all|get)$/.test(rest[0] ?? '') ? rest.slice(1) : rest;
  return key !== undefined && more.length === 0 && telling.test(key);
}

/** Settings that hold no secrets. The files of the user, which git reads too, may hold some elsewhere. */
const telling =
  /^(?:user\.(?:name|email|signingkey)|(?:core|init|branch|remote|submodule|pull|push|fetch|merge|rebase|commit|tag|diff|color|log|status|advice|gc|pack|index|extensions|lfs)\.[\w./-]+)$/i;

/** Whether a git command only looks. Every word must be known text: git has options that write files and start programs. */
export function gitReads(words: Words): boolean {
  const args = words.slice(1).map((word) => (word.splits ? undefined : word.value));
  if (args.includes(undefined)) return false;
  const texts = args as string[];
  const start = texts.findIndex((arg) => !/^(?:--no-pager|-P|--no-optional-locks|--literal-pathspecs)$/.test(arg));
  const [subcommand, ...rest] = start < 0 ? [] : texts.slice(start);
  if (subcommand === '--version') return rest.length === 0;
  if (subcommand === undefined) return false;
  if (rest.some((arg) => isActing(arg, subcommand))) return false;
  return reading.has(subcommand) || (conditional.get(subcommand)?.(rest) ?? false);
}

/**
 * Every word of a reading git command that may be a path, values of options among them: git compares, and says what is wrong
 * with, files that belong to no repository too.
 */
export function gitPaths(words: Words): Words {
  return words.slice(1).flatMap((word) => {
    const text = word.value ?? word.raw;
    if (!text.startsWith('-')) return [word];
    const start = text.startsWith('--') ? text.indexOf('=') + 1 : 2;
    const value = start > 0 && text.length > start ? wordFrom(word, start) : undefined;
    return value ? [value] : [];
  });
}

function isActing(arg: string, subcommand: string): boolean {
  if (subcommand === 'grep' && /^-[a-zA-Z]*O/.test(arg)) return true;
  if (!arg.startsWith('--') || arg.length < 3) return false;
  const name = arg.split('=')[0]!;
  return acting.some((option) => option.startsWith(name) || name.startsWith(option));
}

/** The words of a git command from its subcommand on, without the options in front of it. */
export function gitSubcommand(words: Words): Words {
  let i = 1;
  while (i < words.length && firstText(words[i]!).startsWith('-')) i += frontValued.test(firstText(words[i]!)) ? 2 : 1;
  return words.slice(i);
}

const frontValued = /^(?:-[Cc]|--(?:git-dir|work-tree|namespace|config-env|super-prefix|attr-source|shallow-file))$/;

/** The words of `git-push` and its like as those of `git push`; `undefined` for any other program. */
export function undashed([name, ...rest]: Words): Words | undefined {
  const subcommand = /(?:^|\/)git-([a-z][\w-]*)$/.exec(name?.value ?? '')?.[1];
  return subcommand === undefined ? undefined : [plainWord('git'), plainWord(subcommand), ...rest];
}
