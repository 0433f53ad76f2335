import { wordOf, type BashWord, type Piece } from './bash-words.ts';

type Words = readonly BashWord[];

/** The words of `xargs` with what `-I` and its like put in as not known. Some say the place, `{}` is where none is said. */
export function filledByXargs(words: Words): Words {
  for (let i = 1; i < words.length; i++) {
    const text = words[i]!.value;
    const found = text === undefined ? null : /^-[0rtpxo]*([Ii])([\s\S]*)$|^--r[a-z]*(?:=([\s\S]*))?$/.exec(text);
    if (!found) continue;
    const [, letter, attached = '', long] = found;
    const apart = letter === 'I' && attached === '';
    const marker = apart ? words[i + 1]?.value : attached || long || '{}';
    const start = apart ? i + 2 : i + 1;
    return [...words.slice(0, start), ...filled(words.slice(start), marker)];
  }
  return words;
}

/** Words with the text that stands in the place of `marker` as not known; without one it may stand anywhere. */
export function filled(words: Words, marker: string | undefined): Words {
  return words.map((word) => {
    if (marker === undefined) return wordOf(word.raw, [{ kind: 'unknown' }], false);
    if (!word.pieces.some((piece) => piece.kind === 'text' && piece.text.includes(marker))) return word;
    return wordOf(
      word.raw,
      word.pieces.flatMap((piece) => (piece.kind === 'text' ? split(piece.text, marker) : [piece])),
      word.splits,
    );
  });
}

function split(text: string, marker: string): Piece[] {
  return text
    .split(marker)
    .flatMap((part, i): Piece[] => [
      ...(i > 0 ? [{ kind: 'unknown' } as const] : []),
      ...(part === '' ? [] : [{ kind: 'text' as const, text: part }]),
    ]);
}
