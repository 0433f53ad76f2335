import { sedScript, someValue } from './bash-sed-words.ts';
import type { BashWord } from './bash-words.ts';

/** Whether a sed script only prints, deletes and replaces: no command of it writes a file, reads one or runs a program. */
export function sedScriptIsPlain(script: string): boolean {
  return script.split(/[;\n]/).every((part) => part.trim() === '' || isPlainCommand(part.trim()));
}

const address = String.raw`(?:\d+|\$|/(?:[^/\\]|\\[^\n])*/I?)`;
const printing = new RegExp(`^(?:${address}(?:,(?:${address}|[+~]\\d+))?)?\\s*!?\\s*[pdqDPhHgGxnN=l]\\s*(?:\\d+)?$`);
const replacing = new RegExp(`^(?:${address}(?:,(?:${address}|[+~]\\d+))?)?\\s*!?\\s*s(.)`);

function isPlainCommand(text: string): boolean {
  if (printing.test(text)) return true;
  const start = replacing.exec(text);
  if (!start || /[\w\\\s;]/.test(start[1]!)) return false;
  const parts = splitBy(text.slice(start[0].length), start[1]!);
  return parts.length === 3 && /^[gIiMmp0-9]*$/.test(parts[2]!);
}

/** Splits at a delimiter that no backslash stands in front of. */
function splitBy(text: string, delimiter: string): string[] {
  const parts = [''];
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '\\') parts[parts.length - 1] += text[i]! + (text[++i] ?? '');
    else if (text[i] === delimiter) parts.push('');
    else parts[parts.length - 1] += text[i]!;
  }
  return parts;
}

/**
 * Whether sed may run a program: by the command `e`, the flag `e`, or a script that is not known. A value in the place of a
 * number, a pattern, a text or a file name is taken for just that: `sed "s/a/$B/"` and `sed "${N}p"` have to pass, although
 * B may hold the delimiter or a line end and then a command. A value in any other place may be a command.
 */
export function sedMayRun(words: readonly BashWord[]): boolean {
  const script = sedScript(words);
  return script.kind === 'unknown' || (script.kind === 'script' && mayRun(script.text));
}

const number = String.raw`[\d${someValue}]+`;
/** A pattern between slashes, or between two of the character that group number `group` holds. */
function regex(group: number): string {
  const again = `\\${group}`;
  return String.raw`(?:/(?:[^/\\]|\\[\s\S])*/|\\([^\\\n${someValue}])(?:(?!${again})[^\\]|\\[\s\S])*${again})[IM]*`;
}

const before = new RegExp(
  String.raw`^[\s;{}]*((?:(?:${number}(?:~${number})?|\$|${regex(2)})\s*(?:,\s*(?:[+~]?${number}|\$|${regex(3)})\s*)?)?[!\s]*)`,
);

/** Reads a script command by command; one that it can't read may do anything. */
function mayRun(script: string): boolean {
  return readScript(script).runs;
}

/**
 * What a script does besides printing: whether it may run something, and the files that it reads and writes, with
 * `someValue` where a name is not known. Of a script that may run something they are those before that place, and any.
 */
export function readScript(script: string): { runs: boolean; read: string[]; written: string[] } {
  const read: string[] = [];
  const written: string[] = [];
  for (let rest = script; ;) {
    const [prefix, address] = before.exec(rest)!;
    rest = rest.slice(prefix.length);
    const command = rest[0];
    if (address!.includes(someValue) && isWholeCommand(address!, command))
      return { runs: true, read, written: [...written, someValue] };
    if (command === undefined) return { runs: false, read, written };
    if (command === 'e') return { runs: true, read, written: [...written, someValue] };
    const replaces = command === 's' || command === 'y';
    const length = replaces ? lengthOfReplacing(rest) : lengthOf(rest);
    if (length === undefined) return { runs: true, read, written: [...written, someValue] };
    const file = replaces ? fileOfReplacing(rest.slice(0, length)) : /^[rRwW]\s*([^\n]+)/.exec(rest)?.[1];
    if (file !== undefined) (/[rR]/.test(command) && !replaces ? read : written).push(file);
    rest = rest.slice(length);
  }
}

/** Whether what looks like the address of a command is itself one, since none follows that could have it. */
function isWholeCommand(address: string, next: string | undefined): boolean {
  return next === undefined || '}#:'.includes(next) || address.includes('\n');
}

function lengthOf(text: string): number | undefined {
  return /^(?:[aic](?:[^\\\n]|\\[\s\S])*|[rRwW#][^\n]*|[{}]|[:btT][^;\n]*|[=dDgGhHFnNpPqQlLxz][^\S\n]*\d*)/.exec(
    text,
  )?.[0].length;
}

/** `s` and `y`; not known when it can't be read, or when its flags run what comes out. */
function lengthOfReplacing(text: string): number | undefined {
  const delimiter = text[1];
  if (delimiter === undefined || delimiter === someValue || /[\\\n]/.test(delimiter)) return undefined;
  const [first, second, ...others] = splitBy(text.slice(2), delimiter);
  if (first === undefined || second === undefined || others.length === 0) return undefined;
  const start = 2 + first.length + 1 + second.length + 1;
  const flags = /^[gIiMmp0-9]*(?:w[^\n]*)?(?=[\s;}#]|$)/.exec(text.slice(start));
  return flags ? start + flags[0].length : undefined;
}

/** The file behind the flag `w`. */
function fileOfReplacing(text: string): string | undefined {
  const flags = splitBy(text.slice(2), text[1]!).slice(2).join(text[1]);
  return /^[gIiMmp0-9]*w\s*([^\n]+)/.exec(flags)?.[1];
}
