import { programName } from './bash-analysis.ts';
import { codeOf, readsInput } from './bash-shells.ts';
import type { BashWord } from './bash-words.ts';

type Words = readonly BashWord[];

/** What a program would run besides itself. */
export type Hidden = {
  /** Commands, as words. */
  beneath: readonly Words[];
  /** Shell code. */
  code: readonly string[];
  /** It reads shell code from its input. */
  readsCode: boolean;
  /** Only an exact rule can approve it. */
  exactOnly: boolean;
  /** Why what it runs is not known. */
  unclear: readonly string[];
};

const names = (text: string): string[] => text.split(' ');

/** Programs that run the command behind them and are never approved by a pattern. */
const runners = new Set(
  names(
    'watch setsid ionice flock env exec chrt taskset strace ltrace parallel script unbuffer nsenter unshare chroot setpriv prlimit numactl systemd-run dbus-run-session gtimeout gnice gstdbuf chronic rlwrap fakeroot proot faketime xvfb-run caffeinate pkexec runuser',
  ),
);
/** Programs that run the command behind them; a rule that names them means it. */
const openRunners = new Set(names('sudo doas su busybox toybox'));
/** Wrappers that count as runners when they stand behind another one. */
const wrappers = new Set(names('timeout nice stdbuf time nohup command builtin noglob xargs'));
/** Words that some of them take before the command. */
const operandsBefore = new Set(names('timeout gtimeout flock chroot taskset chrt su runuser script faketime'));

const findRuns = new Set(['-exec', '-execdir', '-ok', '-okdir']);
const findActs = new Set(['-delete', '-fprint', '-fprint0', '-fprintf', '-fls']);

/** Tails that are looked at before a command counts as not understood. */
const mostTails = 40;

type Found = {
  beneath: Words[];
  code: string[];
  unclear: string[];
  readsCode: boolean;
  exactOnly: boolean;
  /** Lengths of the tails that were looked at: a row of runners costs no more than its length. */
  tails: Set<number>;
};

/** Finds what a program would run. `stuck`: it is a wrapper whose options are not understood. */
export function hiddenIn(words: Words, stuck: boolean): Hidden {
  const found: Found = { beneath: [], code: [], unclear: [], readsCode: false, exactOnly: false, tails: new Set() };
  if (stuck) {
    found.exactOnly = programName(words) !== 'xargs';
    everyTail(words, found);
  }
  look(words, found, false);
  const { beneath, code, unclear, readsCode, exactOnly } = found;
  return { beneath, code, unclear, readsCode, exactOnly };
}

function look(words: Words, found: Found, nested = true): void {
  const name = programName(words)?.replace(/^.*\//, '');
  if (name === undefined) return;
  if (words.length > 1 && (runners.has(name) || openRunners.has(name) || (nested && wrappers.has(name)))) {
    found.exactOnly ||= runners.has(name);
    everyTail(words, found);
  }
  if (name === 'find') lookAtFind(words, found);
  if (changesNames(name, words)) found.unclear.push(`${name} changes what names mean, or runs text`);
  const code = codeOf(name, words);
  if (code?.kind === 'known') found.code.push(code.text);
  if (code?.kind === 'unknown') found.unclear.push(code.why);
  found.readsCode ||= readsInput(name, words);
}

/** Every tail of the words that may be the command behind a runner, since options differ between versions. */
function everyTail(words: Words, found: Found): void {
  let before = operandsBefore.has(programName(words)?.replace(/^.*\//, '') ?? '') ? 1 : 0;
  let named = false;
  for (let i = 1; i < words.length; i++) {
    const tail = words.slice(i);
    const text = programName(tail);
    if (text === undefined) {
      if (!named && !/^\w+=/.test(tail[0]!.raw)) found.unclear.push(`what ${words[0]!.raw} runs is computed`);
      continue;
    }
    if (text.startsWith('-') || /^\w+=/.test(text)) continue;
    const isValue = i > 1 && words[i - 1]!.raw.startsWith('-');
    if (!isValue && before-- <= 0) named = true;
    if (/[\s;&|]/.test(text)) found.code.push(text);
    if (found.tails.has(tail.length)) continue;
    if (found.tails.size >= mostTails) {
      found.unclear.push('it runs one program by another too many times');
      return;
    }
    found.tails.add(tail.length);
    found.beneath.push(tail);
    look(tail, found);
  }
}

function lookAtFind(words: Words, found: Found): void {
  const unknown = words.filter((word) => word.pieces.some((piece) => piece.kind === 'unknown'));
  const ends = words.some((word) => word.value === ';' || word.value === '+');
  if (unknown.some((word) => word.splits) || unknown.length > (ends ? 0 : 1))
    found.unclear.push('what find does is computed');
  for (let i = 1; i < words.length; i++) {
    const text = words[i]!.value;
    if (text === undefined || findActs.has(text)) found.exactOnly = true;
    if (text === undefined || !findRuns.has(text)) continue;
    found.exactOnly = true;
    const end = words.findIndex((word, at) => at > i && (word.value === ';' || word.value === '+'));
    const inner = words.slice(i + 1, end < 0 ? undefined : end);
    if (inner.length === 0) continue;
    if (programName(inner) === undefined) found.unclear.push('what find runs is computed');
    found.beneath.push(inner);
    look(inner, found);
  }
}

/** Programs that give names another meaning, or run what stands in an argument of theirs. */
function changesNames(name: string, words: Words): boolean {
  const has = (option: RegExp): boolean => words.slice(1).some((word) => option.test(word.raw));
  switch (name) {
    case 'alias':
      return words.length > 1;
    case 'hash':
      return has(/^-\w*p/);
    case 'mapfile':
    case 'readarray':
      return has(/^-\w*C/);
    case 'declare':
    case 'typeset':
    case 'local':
    case 'export':
    case 'readonly':
      return has(/^[-+]\w*[in]/) || has(/^(?:PS4|BASH_ENV|ENV|PROMPT_COMMAND|SHELLOPTS|BASHOPTS)\+?=/);
    case 'git':
      return has(/^(?:-c|--config-env)/) && has(/alias\./);
    case 'env':
      return has(/^(?:-[a-zA-Z]*S|--s)/);
    default:
      return /^(?:enable|complete|compgen|compopt|bind|fc)$/.test(name);
  }
}
