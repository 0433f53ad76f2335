import { bringsOptions } from './bash-options.ts';
import { leadsToDescriptor } from './bash-shells.ts';
import { wordFrom, type BashWord } from './bash-words.ts';

/** Stands in a script for a value that is known only when it runs; from the private area of Unicode. */
export const someValue = '\uE000';

/** What the words of sed say about what it does: its script, line by line; nothing, since it is told to run nothing; or anything. */
export type SedScript = { kind: 'script'; text: string } | { kind: 'sandboxed' | 'unknown' };

type Option = { name: 'e' | 'f' | 'l'; value: BashWord | undefined; apart: boolean };

/**
 * Reads the words of sed as GNU sed does. What stands in script files is not looked into, and values behind the script are
 * taken for names of files: `sed 's/a/b/' $FILES` has to pass, although FILES may hold further options.
 */
export function sedScript(words: readonly BashWord[]): SedScript {
  const scripts: BashWord[] = [];
  const operands: BashWord[] = [];
  let given = false;
  let sandboxed = false;
  for (let i = 1; i < words.length; i++) {
    const word = words[i]!;
    if (word.value === '--') {
      operands.push(...words.slice(i + 1));
      break;
    }
    if (!/^-./s.test(scriptText(word))) {
      operands.push(word);
      continue;
    }
    const option = readOption(word, words[i + 1]);
    if (option === 'unknown') return { kind: 'unknown' };
    sandboxed ||= /^--sa[a-z]*$/.test(word.value ?? '');
    if (option === undefined) continue;
    if (option.apart) i++;
    if (option.name !== 'e' && option.value?.splits) return { kind: 'unknown' };
    if (option.name === 'l') continue;
    given = true;
    if (option.name === 'f' && isOpen(option.value)) return { kind: 'unknown' };
    if (option.name === 'e' && option.value) scripts.push(option.value);
  }
  if (sandboxed) return { kind: 'sandboxed' };
  if (operands.some(bringsOptions)) return { kind: 'unknown' };
  const all = given ? scripts : operands.slice(0, 1);
  return { kind: 'script', text: all.map(scriptText).join('\n') };
}

/** Those that may have a value; sed takes their first letters for them too. */
const longOptions = ['expression', 'file', 'in-place', 'line-length'];

/** An option with a value, `undefined` for one without, `unknown` when more letters may follow. */
function readOption(word: BashWord, next: BashWord | undefined): Option | 'unknown' | undefined {
  const [first] = word.pieces;
  const text = first?.kind === 'text' ? first.text : '';
  const long = /^--([a-z-]+)(=?)/.exec(text);
  const short = long ? null : /^-[nErsuzb]*([efil])?/.exec(text);
  const letter = long ? longOptions.find((name) => name.startsWith(long[1]!))?.slice(0, 1) : short?.[1];
  if (word.value === undefined && (long ? long[2] === '' : letter === undefined)) return 'unknown';
  if (letter !== 'e' && letter !== 'f' && letter !== 'l') return undefined;
  const value = wordFrom(word, (long ?? short)![0].length);
  const apart = long ? long[2] === '' : value?.value === '';
  return { name: letter, value: apart ? next : value, apart };
}

/** Whether a script comes from what only leads to an open descriptor, or from a file that is not known. */
function isOpen(file: BashWord | undefined): boolean {
  if (file === undefined) return false;
  return file.value === undefined || file.value === '-' || leadsToDescriptor(file.value);
}

/** A word as text. Wildcards seldom find anything in the middle of a script, and stand for themselves then. */
function scriptText({ pieces }: BashWord): string {
  return pieces.map((piece) => (piece.kind === 'text' || piece.kind === 'glob' ? piece.text : someValue)).join('');
}
