import { programName } from './bash-analysis.ts';
import type { BashWord } from './bash-words.ts';

type Words = readonly BashWord[];

/** Shell code that stands in a word. */
export type Code = { kind: 'known'; text: string } | { kind: 'unknown'; why: string };

const shells = new Set(['bash', 'sh', 'dash', 'zsh', 'ksh', 'ash', 'mksh', 'rbash']);

/** The code that an inner shell, `eval` or `trap` would run from its words. */
export function codeOf(name: string, words: Words): Code | undefined {
  const args = operandsOf(words);
  if (name === 'eval') return joined(args, 'eval runs text that is computed');
  if (name === 'trap' && args.length > 1) return joined(args.slice(0, 1), 'trap runs text that is computed');
  if (name === 'source' || name === '.') return codeOfFile(name, programName(args));
  if (!shells.has(name)) return undefined;
  const start = startOf(words);
  if (start.kind === 'unknown') return { kind: 'unknown', why: `what ${name} runs is computed` };
  if (start.kind === 'file') return codeOfFile(name, start.path);
  return start.kind === 'code' ? joined(start.words, `${name} -c runs text that is computed`) : undefined;
}

/** Whether a shell takes its commands from its input. */
export function readsInput(name: string, words: Words): boolean {
  if (name === 'source' || name === '.') return isInput(operandsOf(words)[0]?.value ?? '');
  if (!shells.has(name)) return false;
  const start = startOf(words);
  return start.kind === 'input' || (start.kind === 'file' && isInput(start.path));
}

/** Whether a shell has been told to run code, but not which: `sh -c` alone. */
export function lacksCode(name: string, words: Words): boolean {
  if (!shells.has(name)) return false;
  const start = startOf(words);
  return start.kind === 'code' && start.words.length === 0;
}

/** The words behind the name, and behind a `--` that ends the options. */
function operandsOf(words: Words): Words {
  return words.slice(words[1]?.value === '--' ? 2 : 1);
}

/** A file may hold any code; what only leads to an open descriptor holds what this command puts there. */
function codeOfFile(name: string, path: string | undefined): Code | undefined {
  if (path === undefined) return { kind: 'unknown', why: `${name} runs a file that is computed` };
  const open = /^\/(?:dev|proc)\/|(?:^|\/)fd\/\d+$/.test(straight(path));
  return open && !isInput(path) ? { kind: 'unknown', why: `${name} runs what ${path} leads to` } : undefined;
}

/** Whether a path is that of the input, from whatever folder. */
function isInput(path: string): boolean {
  return /(?:^|\/)(?:stdin|fd\/0)$/.test(straight(path));
}

/** A path without detours. */
function straight(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/').filter((one) => one !== '' && one !== '.'))
    if (part === '..' && parts.length > 0) parts.pop();
    else parts.push(part);
  return (path.startsWith('/') ? '/' : '') + parts.join('/');
}

type Start =
  | { kind: 'code'; words: Words }
  | { kind: 'file'; path: string }
  | { kind: 'input' | 'nothing' | 'unknown' };

/** What a shell begins with, by its options: `-c`, a file, or its input. */
function startOf(words: Words): Start {
  let code = false;
  let input = false;
  let i = 1;
  for (; i < words.length; i++) {
    const text = words[i]!.splits ? undefined : words[i]!.value;
    if (text === undefined) return fileOrUnknown(words[i]!);
    if (text === '--version' || text === '--help') return { kind: 'nothing' };
    if (!/^[-+]/.test(text)) break;
    if (text === '--' || text === '-') {
      i++;
      break;
    }
    if (!text.startsWith('--')) {
      code ||= text.includes('c');
      input ||= text.includes('s');
    }
    i += text.startsWith('--') ? Number(/^--(?:rcfile|init-file)$/.test(text)) : text.replaceAll(/[^oO]/g, '').length;
  }
  const operand = words[i];
  if (code) return { kind: 'code', words: operand ? [operand] : [] };
  if (input || operand === undefined) return { kind: 'input' };
  return operand.value === undefined || operand.splits ? fileOrUnknown(operand) : { kind: 'file', path: operand.value };
}

/** What `find` and `xargs` put in as a word of its own is a file like any other. */
function fileOrUnknown(word: BashWord): Start {
  return word.raw === '{}' ? { kind: 'file', path: '{}' } : { kind: 'unknown' };
}

function joined(words: Words, why: string): Code | undefined {
  if (words.some((word) => word.value === undefined || word.splits)) return { kind: 'unknown', why };
  return words.length === 0 ? undefined : { kind: 'known', text: words.map((word) => word.value).join(' ') };
}
