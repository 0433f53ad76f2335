import type { BashCommand } from './bash-analysis.ts';
import { gitSubcommand } from './bash-git.ts';
import type { BashWord } from './bash-words.ts';
import { ANY, covers, intersects, literal, STAR, wildcard, type Pattern } from './wildcard.ts';

type Words = readonly BashWord[];

/** A compiled `Bash(…)` specifier. */
export type CommandPattern = {
  /** Its text, for exact comparison: as written, and with parentheses that were escaped for the rule's sake. */
  texts: readonly string[];
  patterns: readonly Pattern[];
  /** It begins with an assignment, so it means commands with that assignment. */
  assigns: boolean;
};

/** Compiles a command pattern: `*` is any text, ` *` and `:*` at the end keep a word boundary, without a star it is exact. */
export function compileCommand(specifier: string): CommandPattern {
  const text = oneSpace(specifier);
  const texts = [...new Set([text, text.replaceAll(/\\([()])/g, '$1')])];
  return { texts, patterns: texts.flatMap(patternsOf), assigns: /^[A-Za-z_]\w*=/.test(text) };
}

function patternsOf(text: string): Pattern[] {
  const prefix = /^([\s\S]*?)(?::\*| \*)$/.exec(text)?.[1];
  return prefix === undefined ? [wildcard(text)] : [wildcard(prefix), [...wildcard(prefix), 32, STAR]];
}

/** A text with single spaces between words, as far as no quotes are involved. */
export function oneSpace(text: string): string {
  return text.trim().replaceAll(/[ \t]+/g, ' ');
}

function patternCovers(pattern: CommandPattern, text: string): boolean {
  return pattern.patterns.some((one) => covers(one, text));
}

/** Whether an allow pattern covers the program of a command, with what it hides behind wrappers checked by the caller. */
export function allowsProgram(pattern: CommandPattern, command: BashCommand, program: Words): boolean {
  if (namesExactly(pattern, command)) return true;
  if (command.exactOnly) return false;
  const plain = command.assignments.every((assignment) => assignment.safe);
  if (plain && program.length > 0 && allowTexts(program).some((text) => patternCovers(pattern, text))) return true;
  if (!pattern.assigns) return false;
  return patternCovers(
    pattern,
    [...command.assignments.map((assignment) => assignment.raw), ...command.words.map((word) => word.raw)].join(' '),
  );
}

/** Whether a pattern is, word for word, this command. */
export function namesExactly(pattern: CommandPattern, command: BashCommand): boolean {
  const words = [
    ...command.assignments.map((assignment) => assignment.raw),
    ...command.words.map((word) => word.raw),
  ].join(' ');
  return pattern.texts.includes(oneSpace(words)) || pattern.texts.includes(oneSpace(command.source));
}

/** As written and as bash reads it, with quotes kept where a word could otherwise be taken for two. */
function allowTexts(words: Words): string[] {
  return [...new Set([words.map((word) => word.raw).join(' '), words.map(quoted).join(' ')])];
}

function quoted(word: BashWord): string {
  if (word.value === undefined || word.splits) return word.raw;
  return /^[\w@%+=:,./~^{}!-]+$/.test(word.value) ? word.value : `'${word.value.replaceAll("'", `'\\''`)}'`;
}

/** Whether a deny or ask pattern covers a command: `true`, `false`, or `maybe` when that depends on what is only known when it runs. */
export function forbids(pattern: CommandPattern, command: BashCommand, home: string): boolean | 'maybe' {
  const faces = facesOf(command, home);
  if (faces.texts.some((text) => patternCovers(pattern, text))) return true;
  return faces.open.some((open) => pattern.patterns.some((one) => intersects(one, open))) ? 'maybe' : false;
}

/** Every text that a command can be forbidden by, and patterns of those that are not known yet. */
type Faces = { texts: readonly string[]; open: readonly Pattern[]; home: string };

const known = new WeakMap<BashCommand, Faces>();

function facesOf(command: BashCommand, home: string): Faces {
  const before = known.get(command);
  if (before?.home === home) return before;
  const all = [...command.layers, ...command.beneath].flatMap(variants);
  const full = [...command.assignments, ...command.words].map(({ raw }) => raw).join(' ');
  const texts = [...new Set([...all.flatMap(denyTexts), full, oneSpace(command.source)])];
  const open = all
    .filter((words) => words.some((word) => word.value === undefined || word.splits))
    .map((words) => openPattern(words, home));
  const faces = { texts, open, home };
  known.set(command, faces);
  return faces;
}

/** The same command by its program's bare name, and git's without the options in front of its subcommand. */
function variants(words: Words): Words[] {
  const [name, ...rest] = words;
  const bare = name?.value?.replace(/^.*\//, '');
  if (name?.value === undefined || !bare) return [words];
  const short: Words =
    bare === name.value
      ? words
      : [{ ...name, raw: bare, value: bare, pieces: [{ kind: 'text', text: bare }] }, ...rest];
  const found = short === words ? [words] : [words, short];
  if (bare === 'git' && rest[0]?.raw.startsWith('-')) found.push([short[0]!, ...gitSubcommand(short)]);
  return found;
}

function denyTexts(words: Words): string[] {
  return [
    ...new Set([
      ...allowTexts(words),
      words.map((word) => (word.splits ? word.raw : (word.value ?? word.raw))).join(' '),
    ]),
  ];
}

/** A command as a pattern, with any text where it is not known yet. A word that may become none or several takes its space along. */
function openPattern(words: Words, home: string): Pattern {
  return words.flatMap((word, i) => {
    const unknown = word.pieces.some((piece) => piece.kind === 'unknown');
    if (word.splits && unknown && i > 0) return [STAR];
    return [...(i > 0 ? [32] : []), ...word.pieces.flatMap((piece) => piecePattern(piece, home))];
  });
}

function piecePattern(piece: BashWord['pieces'][number], home: string): number[] {
  switch (piece.kind) {
    case 'text':
      return literal(piece.text);
    case 'home':
      return literal(home);
    case 'glob':
      return [piece.text === '*' ? STAR : ANY];
    case 'here':
    case 'unknown':
      return [STAR];
  }
}
