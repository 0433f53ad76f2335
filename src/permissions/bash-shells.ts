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
  if (name === 'source' || name === '.') return codeOfFile(name, args[0]);
  if (!shells.has(name)) return undefined;
  const { kind, code, scripts } = startOf(words);
  if (kind === 'unknown') return { kind, why: `what ${name} runs is computed` };
  const doubt = scripts.map(([file]) => codeOfFile(name, file)).find((found) => found !== undefined);
  return doubt ?? joined(code, `${name} -c runs text that is computed`);
}

/** Whether a shell takes its commands from its input. */
export function readsInput(name: string, words: Words): boolean {
  if (name === 'source' || name === '.') return isInput(operandsOf(words)[0]?.value ?? '');
  if (!shells.has(name)) return false;
  const { kind, scripts } = startOf(words);
  return kind === 'input' || scripts.some(([file]) => isInput(file?.value ?? ''));
}

/**
 * The files that a shell, `source` or `.` takes its commands from, each with the words behind it. They are looked for in PATH
 * too, so `bash rm x` runs the program `rm` if that is a script.
 */
export function scriptsOf(name: string, words: Words): readonly Words[] {
  if (name === 'source' || name === '.') return [operandsOf(words)].filter((script) => script.length > 0);
  return shells.has(name) ? startOf(words).scripts : [];
}

/** Whether a shell has been told to run code, but not which: `sh -c` alone. */
export function lacksCode(name: string, words: Words): boolean {
  if (!shells.has(name)) return false;
  const { kind, code } = startOf(words);
  return kind === 'code' && code.length === 0;
}

/** The words behind the name, the folders that `.` may be told to look in, and a `--` that ends the options. */
function operandsOf(words: Words): Words {
  const isDot = /^(?:\.|source)$/.test(words[0]?.value ?? '');
  const option = isDot ? (words[1]?.value ?? '') : '';
  const start = option === '-p' ? 3 : option.startsWith('-p') ? 2 : 1;
  return words.slice(words[start]?.value === '--' ? start + 1 : start);
}

/** A file may hold any code; what only leads to an open descriptor holds what this command puts there. */
function codeOfFile(name: string, file: BashWord | undefined): Code | undefined {
  const path = file?.splits ? undefined : file?.value;
  if (path === undefined) return { kind: 'unknown', why: `${name} runs a file that is computed` };
  return leadsToDescriptor(path) && !isInput(path)
    ? { kind: 'unknown', why: `${name} runs what ${path} leads to` }
    : undefined;
}

/** Whether what stands behind a path may depend on who opens it, from whatever folder. */
export function leadsToDescriptor(path: string): boolean {
  return isInput(path) || /^\/(?:dev|proc)\/|(?:^|\/)fd\/\d+$/.test(straight(path));
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

/** What a shell begins with, by its options: the code behind `-c`, a file, or its input. `scripts`: all files that it takes commands from. */
type Start = { kind: 'code' | 'file' | 'input' | 'nothing' | 'unknown'; code: Words; scripts: readonly Words[] };

function startOf(words: Words): Start {
  const scripts: Words[] = [];
  const start = (kind: Start['kind'], code: Words = []): Start => ({ kind, code, scripts });
  if (onlyReads(words)) return start('nothing');
  let code = false;
  let input = false;
  let i = 1;
  for (; i < words.length; i++) {
    const text = words[i]!.splits ? undefined : words[i]!.value;
    if (text === undefined) return start('unknown');
    if (text === '--version' || text === '--help') return start('nothing');
    if (!/^[-+]/.test(text)) break;
    if (text === '--' || text === '-') {
      i++;
      break;
    }
    if (!text.startsWith('--')) {
      code ||= text.includes('c');
      input ||= text.includes('s');
      i += text.replaceAll(/[^oO]/g, '').length;
    } else if (/^--(?:rcfile|init-file)$/.test(text) && words[++i]) scripts.push([words[i]!]);
  }
  const operand = words[i];
  if (code) return start('code', operand ? [operand] : []);
  if (input || operand === undefined) return start('input');
  if (operand.value === undefined || operand.splits) return start('unknown');
  scripts.push(words.slice(i));
  return start('file');
}

/** `-n FILE` runs nothing; `{}` is what `find` puts in as a word of its own. */
function onlyReads([, option, file, ...others]: Words): boolean {
  if (option?.value !== '-n' || !file || file.splits) return false;
  return file.raw === '{}' ? others.length === 0 : file.value !== undefined && !/^[-+]/.test(file.value);
}

function joined(words: Words, why: string): Code | undefined {
  if (words.some((word) => word.value === undefined || word.splits)) return { kind: 'unknown', why };
  return words.length === 0 ? undefined : { kind: 'known', text: words.map((word) => word.value).join(' ') };
}
