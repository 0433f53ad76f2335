import type { Word, WordPart } from 'unbash';

/** A piece of a word: known text, the home folder, the current folder, a wildcard, or text that is known only when it runs. */
export type Piece =
  | { kind: 'text'; text: string }
  | { kind: 'home' }
  | { kind: 'here' }
  | { kind: 'glob'; text: '*' | '?' }
  | { kind: 'unknown' };

/** A word of a command as bash would expand it. */
export type BashWord = {
  /** As it was written. */
  raw: string;
  pieces: readonly Piece[];
  /** Its whole text, when that is known without running anything. */
  value?: string;
  /** Bash may make none or several words of it. */
  splits: boolean;
};

/** Reads a word. `assigned`: variables that the script sets, whose inherited value is therefore not known. */
export function readWord(word: Word, assigned: ReadonlySet<string>): BashWord {
  const pieces: Piece[] = [];
  let splits = false;
  const parts: readonly WordPart[] = word.parts ?? [
    { type: 'Literal', pos: 0, end: 0, value: word.value, text: word.text },
  ];
  parts.forEach((part, index) => {
    if (index === 0 && part.type === 'Literal' && part.text.startsWith('~')) {
      pieces.push(...tildePieces(part.value, assigned));
      return;
    }
    if (addPart(part, pieces, assigned)) splits = true;
  });
  return wordOf(word.text, pieces, splits);
}

/** A word made of known text. */
export function plainWord(text: string): BashWord {
  return wordOf(text, [{ kind: 'text', text }], false);
}

/** A word from its pieces. Texts side by side become one, however they were quoted. */
export function wordOf(raw: string, parts: readonly Piece[], splits: boolean): BashWord {
  const pieces: Piece[] = [];
  for (const part of parts) {
    const last = pieces.at(-1);
    if (part.kind === 'text' && last?.kind === 'text')
      pieces[pieces.length - 1] = { kind: 'text', text: last.text + part.text };
    else pieces.push(part);
  }
  const known = pieces.every((piece) => piece.kind === 'text');
  const value = pieces.map((piece) => (piece.kind === 'text' ? piece.text : '')).join('');
  return { raw, pieces, splits, ...(known ? { value } : {}) };
}

/** Words that come from the input of a command, as those that `xargs` adds. */
export const fromInput = wordOf('', [{ kind: 'unknown' }], true);

/** Takes the first characters off a word, as of an option with its value attached; `undefined` when they are not known text. */
export function wordFrom(word: BashWord, start: number): BashWord | undefined {
  const [first, ...rest] = word.pieces;
  if (first?.kind !== 'text' || first.text.length < start) return undefined;
  return wordOf(word.raw, [{ kind: 'text', text: first.text.slice(start) }, ...rest], word.splits);
}

function tildePieces(text: string, assigned: ReadonlySet<string>): Piece[] {
  if (assigned.size > 0) return [{ kind: 'unknown' }, { kind: 'text', text: text.replace(/^[^/]*/, '') }];
  if (text === '~') return [{ kind: 'home' }];
  if (text.startsWith('~/')) return [{ kind: 'home' }, { kind: 'text', text: text.slice(1) }];
  if (text === '~+' || text.startsWith('~+/')) return [{ kind: 'here' }, { kind: 'text', text: text.slice(2) }];
  const slash = text.indexOf('/');
  return slash < 0 ? [{ kind: 'unknown' }] : [{ kind: 'unknown' }, { kind: 'text', text: text.slice(slash) }];
}

/** Adds what a part expands to; returns whether it may become none or several words. */
function addPart(part: WordPart, pieces: Piece[], assigned: ReadonlySet<string>): boolean {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      pieces.push({ kind: 'text', text: part.value });
      return false;
    case 'DoubleQuoted': {
      let splits = false;
      for (const inner of part.parts) {
        addPart(inner, pieces, assigned);
        splits ||= /^\$(?:@|\{@|\{!?[\w]+\[@)/.test(inner.text) || /\[@\]|@\}/.test(inner.text);
      }
      return splits;
    }
    case 'SimpleExpansion':
    case 'ParameterExpansion': {
      const known = knownVariable(part.text, assigned);
      pieces.push(known ?? { kind: 'unknown' });
      return known === undefined;
    }
    case 'Glob':
      pieces.push({ kind: 'glob', text: part.kind === 'star' ? '*' : '?' });
      return true;
    default:
      pieces.push({ kind: 'unknown' });
      return true;
  }
}

function knownVariable(text: string, assigned: ReadonlySet<string>): Piece | undefined {
  const name = text.replace(/^\$\{?/, '').replace(/\}$/, '');
  if (assigned.has(name)) return undefined;
  if (name === 'HOME') return { kind: 'home' };
  return name === 'PWD' ? { kind: 'here' } : undefined;
}
