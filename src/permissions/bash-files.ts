import { baseName, type BashCommand, programName } from './bash-analysis.ts';
import { gitFiles, gitMayBeTold } from './bash-git-files.ts';
import { firstText, hasOption, operandsBeside, optionValues, type ValueOptions } from './bash-options.ts';
import { mayBeTold, outputFiles } from './bash-outputs.ts';
import { sedFiles } from './bash-sed-files.ts';
import { fromInput, plainWord, wordFrom, type BashWord } from './bash-words.ts';
import { anywhere, edit, insideOf, tree, type FileUse } from './file-use.ts';

type Words = readonly BashWord[];

/** Programs whose words are data, never files. */
const wordsOnly = new Set(
  'echo printf true false : seq expr basename dirname which type whereis sleep date uname whoami id groups nproc arch hostname tty locale getconf pwd tr test [ cal git docker node npm python python3 cd command ps uptime free'.split(
    ' ',
  ),
);

/** Programs that read the files they are given; for some the first operand is a pattern, with the options that carry one instead. */
const readers: ReadonlyMap<string, { pattern?: RegExp; here?: boolean }> = new Map([
  ...'cat head tail wc stat cut uniq comm paste nl tac rev fold fmt expand unexpand column realpath readlink md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum strings od hexdump xxd base64 base32 diff cmp join file sort source . tar zip gzip bzip2 xz less more bat zcat bzcat xzcat'
    .split(' ')
    .map((name) => [name, {}] as const),
  ...'ls du df tree'.split(' ').map((name) => [name, { here: true }] as const),
  ...'grep egrep fgrep zgrep'
    .split(' ')
    .map((name) => [name, { pattern: /^(?:-\w*[ef]|--(?:re[gexp]*|f[ile]*)(?:=|$))/ }] as const),
  ['rg', { pattern: /^(?:-\w*[ef]|--regexp|--file|--files$)/, here: true }],
  ['sed', { pattern: /^(?:-\w*[ef]|--(?:e|fi)[a-z]*(?:=|$))/ }],
  ['jq', { pattern: /^(?:-\w*f|--from-file)/ }],
  ['awk', { pattern: /^(?:-f|--f[ile]*(?:=|$))/ }],
]);

const writers = new Set('touch tee mkdir truncate chmod chown chgrp unlink shred setfacl chattr'.split(' '));
const removers = new Set(['rm', 'rmdir']);
/** Programs that put files somewhere else, with their options that take a value. */
const movers: ReadonlyMap<string, ValueOptions> = new Map<string, ValueOptions>([
  ...['cp', 'mv', 'ln'].map((name) => [name, { long: ['target-directory', 'suffix'], short: 'tS' }] as const),
  ['install', { long: ['target-directory', 'suffix', 'group', 'mode', 'owner'], short: 'tSgmo' }],
  ['rsync', { long: ['rsh', 'exclude', 'include', 'filter', 'files-from', 'temp-dir', 'port'], short: 'efBMT' }],
  ['scp', { short: 'cDFiJloPSX' }],
]);

/** Whether a program exists to change files. */
export function changesFiles(words: Words): boolean {
  const name = baseName(words);
  if (name === undefined) return false;
  return (
    writers.has(name) ||
    removers.has(name) ||
    movers.has(name) ||
    name === 'dd' ||
    name === 'patch' ||
    filesOf(words).some(({ use }) => use === 'edit' || use === 'tree')
  );
}

/** Every file that a command names for its program. Programs that nobody knows name none. */
export function commandFiles(command: BashCommand): FileUse[] {
  return [...command.layers.slice(-1), ...command.beneath].flatMap((words) =>
    command.fed.includes(words) ? [...filesOf(words), ...fedFiles(words)] : filesOf(words),
  );
}

/** Whether a program that is there to show something may be told by a word that is not known yet to write a file. */
export function mayBeToldFile(command: BashCommand): boolean {
  return [...command.layers.slice(-1), ...command.beneath].some((words) => {
    const all = command.fed.includes(words) ? [...words, fromInput] : words;
    const name = baseName(words);
    return name === 'git' ? gitMayBeTold(all) : name !== undefined && mayBeTold(name, all.slice(1));
  });
}

/** What is changed of the files that come from an input. */
function fedFiles(words: Words): FileUse[] {
  return filesOf([...words, fromInput]).filter(({ use }) => use === 'edit' || use === 'tree');
}

/** The files that a program is told to read or change. */
export function filesOf(words: Words): FileUse[] {
  const name = baseName(words);
  if (name === undefined) return [];
  return [...namedFiles(name, words), ...outputFiles(name, words)];
}

function namedFiles(name: string, words: Words): FileUse[] {
  if (name === 'find') return findFiles(words);
  if (name === 'git') return gitFiles(words);
  const reader = readers.get(name);
  if (reader) return readerFiles(name, words, reader);
  const named = operandsOf(words);
  if (writers.has(name))
    return named.map((word) => ({ word, use: name === 'chmod' || name === 'chown' ? 'tree' : 'edit' }));
  if (removers.has(name)) return named.map((word) => ({ word, use: 'tree' }));
  const mover = movers.get(name);
  if (mover) return moverFiles(name, words, mover);
  if (name === 'dd') return ddFiles(words);
  if (name === 'curl')
    return [
      ...valuesOf(words, /^(?:-T|--upload-file)$/, /^-T./).map((word): FileUse => ({ word, use: 'read' })),
      ...atFiles(words),
    ];
  return [];
}

function readerFiles(name: string, words: Words, { pattern, here }: { pattern?: RegExp; here?: boolean }): FileUse[] {
  const operands = plainOperands(words);
  const withoutPattern =
    pattern && !words.slice(1).some((word) => pattern.test(firstText(word))) ? operands.slice(1) : operands;
  const attached = words
    .slice(1)
    .filter((word) => /^--?[a-zA-Z]/.test(firstText(word)))
    .flatMap(attachedValues);
  const uses = [...withoutPattern, ...attached].map((word): FileUse => ({ word, use: here ? 'search' : 'read' }));
  if (looksAnywhere(name, words)) uses.push({ word: anywhere, use: 'search' });
  if (withoutPattern.length === 0 && (here || isRecursive(name, words)))
    uses.push({ word: plainWord('.'), use: 'search' });
  if (name === 'sed') uses.push(...sedFiles(words, withoutPattern));
  return uses;
}

/** Whether a program of grep's kind goes through folders. */
export function isRecursive(name: string, words: Words): boolean {
  return name.endsWith('grep') && hasOption(words.slice(1), 'rR', ['recursive', 'dereference-recursive']);
}

/** Programs that go through every link they meet, or read what a list names, wherever that leads. */
function looksAnywhere(name: string, words: Words): boolean {
  const has = (letters: string, ...long: string[]): boolean => hasOption(words.slice(1), letters, long);
  switch (name) {
    case 'grep':
    case 'egrep':
    case 'fgrep':
    case 'zgrep':
      return has('R', 'dereference-recursive');
    case 'rg':
      return has('L', 'follow');
    case 'diff':
      return has('r', 'recursive');
    case 'ls':
      return has('R', 'recursive') && has('L', 'dereference');
    case 'du':
      return has('L', 'dereference', 'files0-from');
    case 'tree':
      return has('l');
    case 'wc':
    case 'sort':
      return has('', 'files0-from');
    case 'strings':
      return words.slice(1).some((word) => textOf(word).startsWith('@'));
    default:
      return /^(?:md5|sha\d+|b2|ck)sum$/.test(name) && has('c', 'check');
  }
}

function textOf(word: BashWord): string {
  return word.value ?? word.raw;
}

/** Words that are no options; after `--` all of them. */
function plainOperands(words: Words): BashWord[] {
  const end = words.findIndex((word) => word.value === '--');
  return words.filter((word, i) => i > 0 && i !== end && ((end >= 0 && i > end) || !/^-./s.test(firstText(word))));
}

/** Operands, and the values that are attached to options. */
function operandsOf(words: Words): BashWord[] {
  return [
    ...plainOperands(words),
    ...words
      .slice(1)
      .filter((word) => /^--[a-z-]+=/.test(firstText(word)))
      .flatMap(attachedValues),
  ];
}

function attachedValues(word: BashWord): BashWord[] {
  const text = word.pieces[0]?.kind === 'text' ? word.pieces[0].text : '';
  const equals = text.startsWith('--') ? text.indexOf('=') : 1;
  const value = equals < 0 || word.raw.length <= equals + 1 ? undefined : wordFrom(word, equals + 1);
  return value ? [value] : [];
}

/** Values of options that name a file: as the next word, behind `=`, or attached to a letter. */
function valuesOf(words: Words, option: RegExp, attached: RegExp): BashWord[] {
  return words.flatMap((word, i) => {
    const text = word.pieces[0]?.kind === 'text' ? word.pieces[0].text : '';
    if (i > 0 && option.test(words[i - 1]!.value ?? '')) return [word];
    const [name] = text.split('=');
    if (text.startsWith('--') && text.includes('=') && option.test(name!)) return attachedValues(word);
    return attached.test(text) && !text.startsWith('--') ? attachedValues(word) : [];
  });
}

/** The files that curl sends, as in `-d @file`. */
function atFiles(words: Words): FileUse[] {
  return words.slice(1).flatMap((word): FileUse[] => {
    const at = knownAt(word);
    const file = at === undefined ? undefined : wordFrom(word, at);
    return file ? [{ word: file, use: 'read' }] : [];
  });
}

function knownAt(word: BashWord): number | undefined {
  const text = word.pieces[0]?.kind === 'text' ? word.pieces[0].text : '';
  const match = /^(?:-d|--data(?:-\w+)?=|-F\w*=|[\w-]+=)?@/.exec(text);
  return match ? match[0].length : undefined;
}

function moverFiles(name: string, words: Words, options: ValueOptions): FileUse[] {
  const args = words.slice(1);
  const operands = operandsBeside(args, options);
  const into = options.short?.startsWith('t')
    ? optionValues(args, { long: ['target-directory'], short: 't', valued: options.short.slice(1) })
    : [];
  const sources = into.length > 0 ? operands : operands.slice(0, -1);
  const targets = into.length > 0 ? into : operands.slice(-1);
  const inTarget = targets.flatMap((target) => sources.map((source) => insideOf(target, source)));
  return [
    ...sources.map((word): FileUse => ({ word, use: name === 'mv' ? 'tree' : 'search' })),
    ...[...targets, ...inTarget].map(tree),
  ];
}

function ddFiles(words: Words): FileUse[] {
  return words.flatMap((word): FileUse[] => {
    const text = word.pieces[0]?.kind === 'text' ? word.pieces[0].text : '';
    const match = /^(if|of)=/.exec(text);
    const file = match ? wordFrom(word, 3) : undefined;
    return file ? [{ word: file, use: match![1] === 'if' ? 'read' : 'edit' }] : [];
  });
}

function findFiles(words: Words): FileUse[] {
  const operands = words.slice(1).filter((word) => !/^-[HLPO]/.test(word.raw));
  const end = operands.findIndex((word) => /^[-(!]/.test(word.value ?? ''));
  const roots = end < 0 ? operands : operands.slice(0, end);
  const acts = words.some((word) => word.value === '-delete');
  const uses = (roots.length > 0 ? roots : [plainWord('.')]).map((word): FileUse => ({
    word,
    use: acts ? 'tree' : 'search',
  }));
  const written = words.filter((_, i) => /^-(?:fprint0?|fprintf|fls)$/.test(words[i - 1]?.value ?? ''));
  const compared = words.filter((_, i) => /^-(?:newer\w*|samefile|files0-from)$/.test(words[i - 1]?.value ?? ''));
  const follows = words.some((word) => /^-(?:L|follow)$/.test(textOf(word)));
  if (follows && !acts) uses.push({ word: anywhere, use: 'search' });
  return [...uses, ...written.map(edit), ...compared.map((word): FileUse => ({ word, use: 'read' }))];
}

/** Whether a program's words are known never to name a file. */
export function namesNoFiles(words: Words): boolean {
  const name = programName(words);
  return name !== undefined && wordsOnly.has(name);
}
