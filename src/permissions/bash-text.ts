import { programOf, type BashCommand } from './bash-analysis.ts';
import { gitSubcommand } from './bash-git.ts';
import { firstText } from './bash-options.ts';
import { fromInput, plainWord, type BashWord } from './bash-words.ts';
import { ANY, covers, intersects, literal, STAR, wildcard, type Pattern } from './wildcard.ts';

type Words = readonly BashWord[];

/** A compiled `Bash(…)` specifier. */
export type CommandPattern = {
  /** Its text, for exact comparison: as written, and with parentheses that were escaped for the rule's sake. */
  texts: readonly string[];
  patterns: readonly { pattern: Pattern; start: string }[];
  /** It begins with an assignment, so it means commands with that assignment. */
  assigns: boolean;
};

/**
 * Compiles a command pattern: `*` is any text, ` *` and `:*` at the end keep a word boundary, without a star it is exact.
 * `exactly`: for an allow rule, which may cover no text but its own.
 */
export function compileCommand(specifier: string, exactly = false): CommandPattern {
  const assigns = /^[A-Za-z_]\w*=/.test(specifier.trim());
  if (exactly && onlyEscapes.test(specifier)) {
    const text = betweenWords(specifier.replaceAll(/\\([\\*])/g, '$1'));
    return { texts: [text], patterns: [{ pattern: literal(text), start: text }], assigns };
  }
  const text = exactly ? betweenWords(specifier) : oneSpace(specifier);
  const texts = [...new Set([text, text.replaceAll(/\\([()])/g, '$1')])];
  return { texts, patterns: texts.flatMap(patternsOf), assigns };
}

/** A rule in which each backslash stands before a star or another one, and no star is left open, means that one text. */
const onlyEscapes = /^(?=[\s\S]*\\)(?:[^\\*]|\\[\\*])*$/;

/** A command as the specifier of a rule that covers it and no other text. */
export function asSpecifier(command: string): string {
  return /\*|\\[\\()]/.test(command) ? command.replaceAll(/[\\*]/g, '\\$&') : command;
}

/** `start`: the text before the first star, which rules most commands out at once. */
function patternsOf(text: string): { pattern: Pattern; start: string }[] {
  const prefix = /^([\s\S]*?)(?::\*| \*)$/.exec(text)?.[1];
  const patterns = prefix === undefined ? [wildcard(text)] : [wildcard(prefix), [...wildcard(prefix), 32, STAR]];
  return patterns.map((pattern) => {
    const star = pattern.indexOf(STAR);
    return { pattern, start: String.fromCharCode(...(star < 0 ? pattern : pattern.slice(0, star))) };
  });
}

/** A text with single spaces between words, as far as no quotes are involved. */
export function oneSpace(text: string): string {
  return text.trim().replaceAll(/[ \t]+/g, ' ');
}

/** The same with everything left as it is that stands in quotes, and as a whole where lines and comments have a say. */
export function betweenWords(text: string): string {
  if (/[\n#]|<</.test(text)) return text.trim();
  return text.trim().replaceAll(quotedOrBlank, (part) => (/^[ \t]/.test(part) ? ' ' : part));
}

const quotedOrBlank = /\$'(?:[^'\\]|\\[\s\S])*'|'[^']*'|"(?:[^"\\]|\\[\s\S])*"|\\[\s\S]|[ \t]+/g;

function patternCovers(pattern: CommandPattern, text: string): boolean {
  return pattern.patterns.some(({ pattern: one, start }) => text.startsWith(start) && covers(one, text));
}

/** Whether an allow pattern covers a command: word for word, or the program behind its transparent wrappers. */
export function allowsCommand(pattern: CommandPattern, command: BashCommand): boolean {
  const { exact, allowed, full } = facesOf(command);
  if (exact.some((text) => pattern.texts.includes(text))) return true;
  if (command.exactOnly) return false;
  if (command.fed.length > 0) return allowed.some((text) => coversLonger(pattern, text));
  return allowed.some((text) => patternCovers(pattern, text)) || (pattern.assigns && patternCovers(pattern, full));
}

/** Whether a pattern covers a text whatever words `xargs` puts behind it. */
function coversLonger({ patterns }: CommandPattern, text: string): boolean {
  return patterns.some(({ pattern }) => pattern.at(-1) === STAR && covers(pattern, `${text} `));
}

/** As written and as bash reads it, with quotes kept where a word could otherwise be taken for two. */
function allowTexts(words: Words): string[] {
  return [...new Set([words.map((word) => word.raw).join(' '), words.map(quoted).join(' ')])];
}

function quoted(word: BashWord): string {
  if (word.value === undefined || word.splits) return word.raw;
  return /^[\w@%+=:,./^-]+$/.test(word.value) ? word.value : `'${word.value.replaceAll("'", `'\\''`)}'`;
}

/** Whether a deny or ask pattern covers a command: `true`, `false`, or `maybe` when that depends on what is only known when it runs. */
export function forbids(pattern: CommandPattern, command: BashCommand, home: string): boolean | 'maybe' {
  const { forbidden, open } = facesOf(command);
  if (forbidden.some((text) => patternCovers(pattern, text))) return true;
  const maybe = open.some((words) =>
    pattern.patterns.some((one) => mayStart(one.start, words) && intersects(one.pattern, patternOf(words, home))),
  );
  return maybe ? 'maybe' : false;
}

/** Whether a command whose name is known may begin with a text; rules most patterns out before it is taken apart. */
function mayStart(start: string, [name]: Words): boolean {
  if (name?.value === undefined || name.splits) return true;
  return start.startsWith(name.value) || name.value.startsWith(start);
}

const opened = new WeakMap<Words, { home: string; pattern: Pattern }>();

function patternOf(words: Words, home: string): Pattern {
  const before = opened.get(words);
  if (before?.home === home) return before.pattern;
  const pattern = openPattern(words, home);
  opened.set(words, { home, pattern });
  return pattern;
}

/** Every text that a command goes by. */
type Faces = {
  /** With its assignments, without and with redirections: what an exact rule must be. */
  exact: readonly string[];
  full: string;
  /** What patterns may allow: nothing when an assignment could change what runs. */
  allowed: readonly string[];
  /** What patterns may forbid. */
  forbidden: readonly string[];
  /** Those that are not known yet. */
  open: readonly Words[];
};

/** Stands for words that come from an input, so that a rule must leave room for them; from the private area of Unicode. */
const someMore = plainWord('\uE000');

const known = new WeakMap<BashCommand, Faces>();

function facesOf(command: BashCommand): Faces {
  const before = known.get(command);
  if (before) return before;
  const all = [...command.layers, ...command.beneath].flatMap(variants);
  const full = [...command.assignments, ...command.words].map(({ raw }) => raw).join(' ');
  const exact = [betweenWords(full), betweenWords(command.source)];
  const program = programOf(command);
  const plain = program.length > 0 && command.assignments.every((assignment) => assignment.safe);
  const faces: Faces = {
    exact,
    full,
    allowed: plain ? allowTexts(command.fed.includes(program) ? [...program, someMore] : program) : [],
    forbidden: [...new Set([...all.flatMap(denyTexts), full, oneSpace(command.source)])],
    open: [
      ...all.filter((words) => words.some((word) => word.value === undefined || word.splits)),
      ...command.fed.flatMap(variants).map((words) => [...words, fromInput]),
    ],
  };
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
  if (bare === 'git' && rest[0] && firstText(rest[0]).startsWith('-')) found.push([short[0]!, ...gitSubcommand(short)]);
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
