import { wordFrom, wordOf, type BashWord } from './bash-words.ts';

type Words = readonly BashWord[];

/** Options that take a value: long names without their dashes, and letters. `valued`: further letters with a value, behind which a bundle ends; `exact`: long names can't be cut short. */
export type ValueOptions = { long?: readonly string[]; short?: string; valued?: string; exact?: true };

/** A value that nobody can tell. */
const computed = wordOf('a computed option', [{ kind: 'unknown' }], false);

/** The text that a word begins with for sure. */
export function firstText(word: BashWord): string {
  const [first] = word.pieces;
  return word.value ?? (first?.kind === 'text' ? first.text : '');
}

/**
 * The values that options are given among the words behind a program's name, as GNU programs and git take them: behind a
 * long name, which may be cut short, after `=` or as the next word; behind a letter, which may stand last in a bundle.
 */
export function optionValues(args: Words, options: ValueOptions): BashWord[] {
  return args.flatMap((word, i) => {
    if (bringsOptions(word)) return [computed];
    const found = valueAt(word, options);
    if (found === undefined) return [];
    return found === 'next' ? args.slice(i + 1, i + 2) : [found];
  });
}

/** The words behind a program's name that are neither options nor values of those options; behind `--` all of them. */
export function operandsBeside(args: Words, { short = '', valued = '', ...long }: ValueOptions): BashWord[] {
  const options = { ...long, short: short + valued };
  const operands: BashWord[] = [];
  for (let i = 0; i < args.length; i++) {
    const word = args[i]!;
    if (word.value === '--') return [...operands, ...args.slice(i + 1)];
    if (!/^-./s.test(firstText(word))) operands.push(word);
    else if (valueAt(word, options) === 'next') i++;
  }
  return operands;
}

/** The value in the word of an option, or that it is the next word; `undefined` when it is another option, or none. */
function valueAt(
  word: BashWord,
  { long = [], short = '', valued = '', exact }: ValueOptions,
): BashWord | 'next' | undefined {
  const text = firstText(word);
  if (text.startsWith('--')) {
    const [name] = text.slice(2).split('=');
    if (name === '' || !long.some((one) => (exact ? one === name : one.startsWith(name!)))) return undefined;
    if (text.includes('=')) return wordFrom(word, name!.length + 3);
    return word.value === undefined ? computed : 'next';
  }
  if (!/^-[^-]/s.test(text)) return undefined;
  for (let at = 1; at < text.length; at++) {
    if (short.includes(text[at]!)) {
      const value = wordFrom(word, at + 1);
      return value === undefined || value.value === '' ? 'next' : value;
    }
    if (valued.includes(text[at]!)) return undefined;
  }
  return undefined;
}

/** Whether what is written in a word may make an option of it, as in `{x,-e}` and `${X:--e}`. */
export function bringsOptions(word: BashWord): boolean {
  return word.value === undefined && /(?:[{,]|\$\{\w+:?[-+=])["'\\]*-/.test(word.raw);
}

/**
 * Whether a word in front of `--` is not known from its first letter on, and so may be an option. One word that ends like a
 * range of commits is taken for one: a file of such a name does no harm.
 */
export function mayBringOption(args: Words): boolean {
  const end = args.findIndex((word) => word.value === '--');
  return (end < 0 ? args : args.slice(0, end)).some(
    (word) => (word.pieces[0]?.kind === 'unknown' && !isRange(word)) || bringsOptions(word),
  );
}

function isRange({ pieces, splits }: BashWord): boolean {
  const last = pieces.at(-1);
  return !splits && last?.kind === 'text' && /^\.\.\.?[\w/-]+$/.test(last.text);
}

/** Whether an option is among the words, in whatever bundle of letters, and however short its long name was cut. */
export function hasOption(args: Words, letters: string, long: readonly string[] = []): boolean {
  return args.some((word) => {
    const text = word.value ?? word.raw;
    if (!text.startsWith('--')) return /^-\w/.test(text) && letters.split('').some((letter) => text.includes(letter));
    const [name] = text.slice(2).split('=');
    return name !== '' && long.some((option) => option.startsWith(name!));
  });
}
