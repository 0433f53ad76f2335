import { programName } from './bash-analysis.ts';
import type { BashWord } from './bash-words.ts';

type Words = readonly BashWord[];

/** Shell code that stands in a word. */
export type Code = { kind: 'known'; text: string } | { kind: 'unknown'; why: string };

const shells = new Set(['bash', 'sh', 'dash', 'zsh', 'ksh', 'ash', 'mksh', 'rbash']);

/** The code that an inner shell, `eval` or `trap` would run from its words. */
export function codeOf(name: string, words: Words): Code | undefined {
  if (name === 'eval') return joined(words.slice(1), 'eval runs text that is computed');
  if (name === 'trap' && words.length > 2) return joined(words.slice(1, 2), 'trap runs text that is computed');
  if ((name === 'source' || name === '.') && programName(words.slice(1)) === undefined)
    return { kind: 'unknown', why: `${name} runs a file that is computed` };
  if (!shells.has(name)) return undefined;
  const start = startOf(words);
  if (start.kind === 'unknown') return { kind: 'unknown', why: `what ${name} runs is computed` };
  return start.kind === 'code' ? joined(start.words, `${name} -c runs text that is computed`) : undefined;
}

/** Whether a shell takes its commands from its input. */
export function readsInput(name: string, words: Words): boolean {
  const device = /^\/(?:dev|proc)\//;
  if (name === 'source' || name === '.') return device.test(words[1]?.value ?? '');
  if (!shells.has(name)) return false;
  const start = startOf(words);
  return start.kind === 'input' || (start.kind === 'file' && device.test(start.path));
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
    if (text === undefined) return { kind: 'unknown' };
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
    if (/^(?:[-+]\w*[oO]|--rcfile|--init-file)$/.test(text)) i++;
  }
  const operand = words[i];
  if (code) return { kind: 'code', words: operand ? [operand] : [] };
  if (input || operand === undefined) return { kind: 'input' };
  return operand.value === undefined || operand.splits ? { kind: 'unknown' } : { kind: 'file', path: operand.value };
}

function joined(words: Words, why: string): Code | undefined {
  if (words.some((word) => word.value === undefined || word.splits)) return { kind: 'unknown', why };
  return words.length === 0 ? undefined : { kind: 'known', text: words.map((word) => word.value).join(' ') };
}
