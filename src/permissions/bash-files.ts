import { programName, type BashCommand } from './bash-analysis.ts';
import { plainWord, wordFrom, wordOf, type BashWord } from './bash-words.ts';

type Words = readonly BashWord[];

/** A file that a program is told to read or change. `tree`: and everything below it. */
export type FileUse = { word: BashWord; use: 'read' | 'search' | 'edit' | 'tree' };

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
const movers = new Set(['cp', 'mv', 'ln', 'install', 'rsync', 'scp']);

/** A file that nobody can tell. */
const anywhere = wordOf('a link or a list', [{ kind: 'unknown' }], false);

/** Whether a program exists to change files. */
export function changesFiles(words: Words): boolean {
  const name = fileProgram(words);
  if (name === undefined) return false;
  return (
    writers.has(name) ||
    removers.has(name) ||
    movers.has(name) ||
    name === 'dd' ||
    name === 'patch' ||
    (name === 'sed' && sedInPlace(words)) ||
    filesOf(words).some(({ use }) => use === 'edit' || use === 'tree')
  );
}

/** Every file that a command names for its program. Programs that nobody knows name none. */
export function commandFiles(command: BashCommand): FileUse[] {
  return [...command.layers.slice(-1), ...command.beneath].flatMap(filesOf);
}

function fileProgram(words: Words): string | undefined {
  return programName(words)?.replace(/^.*\//, '');
}

/** The files that a program is told to read or change. */
export function filesOf(words: Words): FileUse[] {
  const name = fileProgram(words);
  if (name === undefined) return [];
  if (name === 'find') return findFiles(words);
  const reader = readers.get(name);
  if (reader) return readerFiles(name, words, reader);
  const named = operandsOf(words);
  if (writers.has(name))
    return named.map((word) => ({ word, use: name === 'chmod' || name === 'chown' ? 'tree' : 'edit' }));
  if (removers.has(name)) return named.map((word) => ({ word, use: 'tree' }));
  if (movers.has(name)) return moverFiles(name, words);
  if (name === 'dd') return ddFiles(words);
  if (name === 'curl')
    return [
      ...valuesOf(
        words,
        /^(?:-o|--output|--output-dir|-c|--cookie-jar|-D|--dump-header|--trace(?:-ascii)?)$/,
        /^-[oDc]./,
      ).map(edit),
      ...valuesOf(words, /^(?:-T|--upload-file)$/, /^-T./).map((word): FileUse => ({ word, use: 'read' })),
      ...atFiles(words),
    ];
  if (name === 'wget')
    return valuesOf(words, /^(?:-O|--output-document|-o|--output-file|-P|--directory-prefix)$/, /^-[OoP]./).map(edit);
  return [];
}

function edit(word: BashWord): FileUse {
  return { word, use: 'edit' };
}

function readerFiles(name: string, words: Words, { pattern, here }: { pattern?: RegExp; here?: boolean }): FileUse[] {
  const operands = plainOperands(words);
  const withoutPattern =
    pattern && !words.slice(1).some((word) => pattern.test(word.raw)) ? operands.slice(1) : operands;
  const attached = words
    .slice(1)
    .filter((word) => /^--?[a-zA-Z]/.test(word.raw))
    .flatMap(attachedValues);
  const uses = [...withoutPattern, ...attached].map((word): FileUse => ({ word, use: here ? 'search' : 'read' }));
  if (looksAnywhere(name, words)) uses.push({ word: anywhere, use: 'search' });
  if (withoutPattern.length === 0 && (here || isRecursive(name, words)))
    uses.push({ word: plainWord('.'), use: 'search' });
  if (name === 'sed' && sedInPlace(words)) uses.push(...withoutPattern.map(edit));
  if (name === 'sort') uses.push(...valuesOf(words, /^(?:-o|--output)$/, /^-o./).map(edit));
  if (name === 'tree') uses.push(...valuesOf(words, /^-o$/, /^-o./).map(edit));
  if (name === 'uniq' || name === 'xxd') uses.push(...operands.slice(1, 2).map(edit));
  return uses;
}

/** Whether a program of grep's kind goes through folders. */
export function isRecursive(name: string, words: Words): boolean {
  return name.endsWith('grep') && hasOption(words, 'rR', ['recursive', 'dereference-recursive']);
}

/** Programs that go through every link they meet, or read what a list names, wherever that leads. */
function looksAnywhere(name: string, words: Words): boolean {
  const has = (letters: string, ...long: string[]): boolean => hasOption(words, letters, long);
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

/** Whether an option is among the words, in whatever bundle of letters, and however short its long name was cut. */
function hasOption(words: Words, letters: string, long: readonly string[]): boolean {
  return words.slice(1).some((word) => {
    const text = textOf(word);
    if (!text.startsWith('--')) return /^-\w/.test(text) && letters.split('').some((letter) => text.includes(letter));
    const [name] = text.slice(2).split('=');
    return name !== '' && long.some((option) => option.startsWith(name!));
  });
}

function textOf(word: BashWord): string {
  return word.value ?? word.raw;
}

function sedInPlace(words: Words): boolean {
  return words.slice(1).some((word) => /^-[nrEsuz]*i|^--i/.test(word.value ?? ''));
}

/** Words that are no options; after `--` all of them. */
function plainOperands(words: Words): BashWord[] {
  const end = words.findIndex((word) => word.value === '--');
  return words.filter((word, i) => i > 0 && i !== end && ((end >= 0 && i > end) || !/^-./.test(word.raw)));
}

/** Operands, and the values that are attached to options. */
function operandsOf(words: Words): BashWord[] {
  return [
    ...plainOperands(words),
    ...words
      .slice(1)
      .filter((word) => /^--[a-z-]+=/.test(word.raw))
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

function moverFiles(name: string, words: Words): FileUse[] {
  const operands = plainOperands(words);
  const into = valuesOf(words, /^(?:-[a-zA-Z]*t|--t[a-z-]*)$/, /^-t./);
  const sources = into.length > 0 ? operands.filter((word) => !into.includes(word)) : operands.slice(0, -1);
  const targets = into.length > 0 ? into : operands.slice(-1);
  const inTarget = targets.flatMap((target) => sources.map((source) => insideOf(target, source)));
  return [
    ...sources.map((word): FileUse => ({ word, use: name === 'mv' ? 'tree' : 'search' })),
    ...[...targets, ...inTarget].map((word): FileUse => ({ word, use: 'tree' })),
  ];
}

/** The name that a copied file gets inside a target folder. */
function insideOf(target: BashWord, source: BashWord): BashWord {
  const name = source.value?.replace(/\/+$/, '').replace(/^.*\//, '');
  const last =
    name === undefined || name === '.' || name === '..'
      ? { kind: 'unknown' as const }
      : { kind: 'text' as const, text: `/${name}` };
  return { raw: `${target.raw}/…`, pieces: [...target.pieces, last], splits: target.splits };
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
