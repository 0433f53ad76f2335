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

/** Whether sed may run a program: by the command `e`, the flag `e`, or a script that comes from an input. Files and what is not known are not looked into. */
export function sedMayRun(words: readonly BashWord[]): boolean {
  const args = words.slice(1).map((word) => word.value);
  if (args.includes('--sandbox')) return false;
  const scripts: string[] = [];
  let given = false;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? '';
    const [, letter, attached = ''] = /^-[nErsuzbi]*([ef])([\s\S]*)$/.exec(arg) ?? [];
    const [, long, value] = /^--(e|fi)[a-z]*(?:=([\s\S]*))?$/.exec(arg) ?? [];
    const option = letter ?? long?.slice(0, 1);
    if (option === undefined) continue;
    given = true;
    const text = value ?? (attached === '' ? args[++i] : attached);
    if (option === 'e') scripts.push(text ?? '');
    else if (text === '-' || text?.startsWith('/dev/')) return true;
  }
  if (!given) scripts.push(args.find((arg) => arg === undefined || !/^-./.test(arg)) ?? '');
  return mayRun(scripts.join('\n'));
}

const regex = String.raw`(?:/(?:[^/\\]|\\[\s\S])*/|\\([^\\\n])(?:(?!\1)[^\\]|\\[\s\S])*\1)[IM]*`;
const before = new RegExp(
  String.raw`^[\s;{}]*(?:(?:\d+(?:~\d+)?|\$|${regex})\s*(?:,\s*(?:[+~]?\d+|\$|${regex.replaceAll('\\1', '\\2')})\s*)?)?[!\s]*`,
);

/** Reads a script command by command; one that it can't read may do anything. */
function mayRun(script: string): boolean {
  for (let rest = script; ;) {
    rest = rest.slice(before.exec(rest)![0].length);
    const command = rest[0];
    if (command === undefined) return false;
    if (command === 'e') return true;
    const length = command === 's' || command === 'y' ? lengthOfReplacing(rest) : lengthOf(rest);
    if (length === undefined) return true;
    rest = rest.slice(length);
  }
}

function lengthOf(text: string): number | undefined {
  return /^(?:[aic](?:[^\\\n]|\\[\s\S])*|[rRwW#][^\n]*|[{}]|[:btT][^;\n]*|[=dDgGhHFnNpPqQlLxz]\s*\d*)/.exec(text)?.[0]
    .length;
}

/** `s` and `y`; not known when it can't be read, or when its flags run what comes out. */
function lengthOfReplacing(text: string): number | undefined {
  const delimiter = text[1];
  if (delimiter === undefined || /[\\\n]/.test(delimiter)) return undefined;
  const [first, second, ...others] = splitBy(text.slice(2), delimiter);
  if (first === undefined || second === undefined || others.length === 0) return undefined;
  const start = 2 + first.length + 1 + second.length + 1;
  const flags = /^[gIiMmp0-9]*(?:w[^\n]*)?(?=[\s;}#]|$)/.exec(text.slice(start));
  return flags ? start + flags[0].length : undefined;
}
