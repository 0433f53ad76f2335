import { parse, type Command, type Word } from 'unbash';
import type { Seen, ToolIo } from '../core/tool.ts';
import { absolutePath } from './paths.ts';
import { decodeText, MAX_FILE_BYTES } from './text-file.ts';

/** Programs that print a file as it is: every other word of theirs has to be an option, or the number that belongs to one. */
const PRINTERS = new Set(['cat', 'nl', 'bat', 'head', 'tail']);
const SEARCHERS = new Set(['grep', 'rg']);
/** Options with which a search prints something else than lines of the file, or reads its pattern from elsewhere. */
const NO_LINES = /^-([A-Za-z]*[lLcqrRfe]|-(files|count|quiet|recursive|file|regexp|replace))/;

/**
 * The one file that a command does nothing but print (as it stands in the command), `whole` when all of it; undefined for
 * any other command. Who has seen a file this way may edit it as after Read.
 */
export function readByShell(command: string): { path: string; whole: boolean } | undefined {
  const script = parse(command);
  const [only, ...more] = script.commands;
  if (script.errors?.length || more.length > 0 || only === undefined || only.background) return undefined;
  const node = only.command;
  if (node.type !== 'Command' || node.prefix.length > 0 || node.redirects.length > 0) return undefined;
  const words = literalWords(node);
  if (words === undefined) return undefined;
  const [program = '', ...rest] = words;
  const path = rest.pop();
  if (path === undefined || path.startsWith('-') || !printsIt(program, rest)) return undefined;
  return { path, whole: program === 'cat' && rest.length === 0 };
}

/** What the model knows of a file after this command printed `shown` of it, in full view. */
export async function seenByShell(command: string, shown: string, io: ToolIo): Promise<Record<string, Seen>> {
  const reading = shown === '' ? undefined : readByShell(command);
  if (reading === undefined) return {};
  const path = io.files.real(absolutePath(reading.path, io.cwd));
  const stat = await io.files.stat(path);
  if (stat?.kind !== 'file' || stat.bytes > MAX_FILE_BYTES) return {};
  const bytes = await io.files.read(path);
  const sha = io.sha(bytes);
  const known = io.seen.get(path);
  if (known?.sha === sha && known.partial === undefined) return {};
  const file = decodeText(bytes);
  const isWhole = reading.whole && file.kind === 'text' && file.exact && file.text.replace(/\n+$/, '') === shown;
  return { [path]: isWhole ? { sha } : { sha, partial: true, via: 'range' } };
}

function printsIt(program: string, words: string[]): boolean {
  const others = words.filter((word) => !word.startsWith('-'));
  if (PRINTERS.has(program)) return others.every((word) => /^[+-]?\d+$/.test(word));
  if (program === 'sed') return words.length === 2 && words[0] === '-n' && /^\d+(,(\d+|\$))?p$/.test(words[1]!);
  return SEARCHERS.has(program) && others.length === 1 && !words.some((word) => NO_LINES.test(word));
}

/** Name and arguments when none of them is expanded by the shell. */
function literalWords(node: Command): string[] | undefined {
  const words = [node.name, ...node.args];
  const values = words.map((word) => (word?.type === 'Word' && isLiteral(word) ? word.value : undefined));
  return values.every((value) => value !== undefined) ? values : undefined;
}

function isLiteral(word: Word): boolean {
  if (word.text.startsWith('~')) return false;
  return (word.parts ?? []).every((part) => {
    if (part.type === 'DoubleQuoted') return part.parts.every((inner) => inner.type === 'Literal');
    return part.type === 'Literal' || part.type === 'SingleQuoted' || part.type === 'AnsiCQuoted';
  });
}
