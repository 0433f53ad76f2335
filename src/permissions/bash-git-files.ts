import { gitSubcommand } from './bash-git.ts';
import {
  firstText,
  hasOption,
  mayBringOption,
  operandsBeside,
  optionValues,
  type ValueOptions,
} from './bash-options.ts';
import type { BashWord } from './bash-words.ts';
import { aside, insideOf, tree, within, type FileUse } from './file-use.ts';

type Words = readonly BashWord[];

/** Options by which subcommands are told a file or folder to write to, besides `--output`. */
const outputs: ReadonlyMap<string, ValueOptions> = new Map([
  ['format-patch', { long: ['output-directory'], short: 'o', valued: 'nv' }],
  ['archive', { short: 'o' }],
  ['mailsplit', { short: 'o' }],
  ['index-pack', { short: 'o' }],
  ['bugreport', { long: ['output-directory'], short: 'o', valued: 's' }],
  ['diagnose', { long: ['output-directory'], short: 'o', valued: 's' }],
  ['fast-export', { long: ['export-marks'] }],
  ['fast-import', { long: ['export-marks'] }],
  ['read-tree', { long: ['index-output'] }],
  ['checkout-index', { long: ['prefix'] }],
  ['init', { long: ['separate-git-dir'] }],
  ['clone', { long: ['separate-git-dir'] }],
  ['credential-store', { long: ['file'] }],
  ['apply', { long: ['directory'] }],
  ['am', { long: ['directory'] }],
]);

/** Subcommands that change the files they are given, and their options with a value that is none of them. */
const changers: ReadonlyMap<string, ValueOptions> = new Map([
  ['mv', {}],
  ['rm', { long: ['pathspec-from-file'] }],
  ['clean', { long: ['exclude'], short: 'e' }],
  ['restore', { long: ['source', 'pathspec-from-file', 'conflict'], short: 's' }],
  ['checkout', { long: ['orphan', 'conflict', 'pathspec-from-file'], short: 'bB' }],
  ['checkout-index', { long: ['prefix', 'stage'] }],
  ['init', { long: ['template', 'initial-branch', 'object-format', 'separate-git-dir'], short: 'b' }],
  [
    'clone',
    {
      long: [
        'branch',
        'origin',
        'depth',
        'config',
        'template',
        'upload-pack',
        'jobs',
        'filter',
        'reference',
        'shallow-since',
      ],
      short: 'bcjou',
    },
  ],
]);

/** Those whose words may as well be names of branches and the like: one that is not known is no file. */
const mayTakeNames = new Set(['checkout', 'clone', 'init', 'worktree', 'submodule', 'stash']);

/** Subcommands that take the options of `git diff`, so that any word of theirs may name a file to write. */
const shows =
  /^(?:log|show|diff|diff-(?:tree|index|files)|whatchanged|rev-list|range-diff|blame|annotate|shortlog|format-patch|stash|reflog|cherry-pick|revert|fast-export|archive)$/;

/** The files and folders that git is told to write to, or to change. */
export function gitFiles(words: Words): FileUse[] {
  const rest = gitSubcommand(words);
  const front = words.slice(1, words.length - rest.length);
  const [subcommand, ...args] = rest;
  const name = subcommand?.value ?? '';
  const behind = (option: string): Words => front.filter((_, i) => front[i - 1]?.value === option);
  const trees = [...behind('--work-tree'), ...optionValues(front, { long: ['work-tree'], exact: true })];
  const folders = behind('-C');
  const at = (word: BashWord): BashWord => [...folders, word].reduce(within);
  const changed = changedBy(name, args);
  return [
    ...[...optionValues(args, { long: ['output'] }), ...told(name, args)].map((word) => aside(at(word))),
    ...[...changed, ...trees.flatMap((folder) => [folder, ...changed.map((word) => within(folder, word))])]
      .map(at)
      .map(tree),
  ];
}

/** Whether git, which is there to show something, may be told by a word that is not known yet to write a file. */
export function gitMayBeTold(words: Words): boolean {
  const [subcommand, ...args] = gitSubcommand(words);
  return shows.test(subcommand?.value ?? '') && mayBringOption(args);
}

function told(name: string, args: Words): Words {
  if (name === 'bundle' && args[0]?.value === 'create') return operandsBeside(args.slice(1), {}).slice(0, 1);
  if (name === 'config')
    return hasOption(args, 'l', ['get', 'list']) || /^(?:get|list)$/.test(args[0]?.value ?? '')
      ? []
      : optionValues(args, { long: ['file'], short: 'f' });
  const options = outputs.get(name);
  return options ? optionValues(args, options) : [];
}

function changedBy(name: string, args: Words): Words {
  const found = filesBehind(name, args);
  const end = args.findIndex((word) => word.value === '--');
  const plain = end < 0 ? [] : args.slice(end + 1);
  return mayTakeNames.has(name)
    ? found.filter(
        (word) => plain.includes(word) || (word.value !== undefined && !/:\/\/|^-?\w+@/.test(firstText(word))),
      )
    : found;
}

function filesBehind(name: string, args: Words): Words {
  const [act] = args;
  const options = changers.get(name);
  if (name === 'worktree')
    return /^(?:add|move|remove)$/.test(act?.value ?? '') ? operandsBeside(args.slice(1), { short: 'bB' }) : [];
  if (name === 'submodule')
    return act?.value === 'add' ? operandsBeside(args.slice(1), { short: 'b', long: ['name'] }) : [];
  if (name === 'stash')
    return act?.value === 'push' ? operandsBeside(args.slice(1), { short: 'm', long: ['message'] }) : [];
  if (!options) return [];
  const operands = operandsBeside(args, options);
  if (name === 'clone') return operands.slice(1);
  const target = name === 'mv' ? operands.slice(-1) : [];
  return [...operands, ...target.flatMap((folder) => operands.slice(0, -1).map((word) => insideOf(folder, word)))];
}
