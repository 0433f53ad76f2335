import { baseName, programName } from './bash-analysis.ts';
import { filled, filledByXargs } from './bash-filled.ts';
import { undashed } from './bash-git.ts';
import { gitRuns, gitTakesProgram } from './bash-git-runs.ts';
import { firstText } from './bash-options.ts';
import { sedMayRun } from './bash-sed.ts';
import { codeOf, lacksCode, readsInput, scriptsOf } from './bash-shells.ts';
import { takesProgram, toldRuns, type ToldRun } from './bash-told.ts';
import { variableDoubt } from './bash-variables.ts';
import { fromInput, type BashWord } from './bash-words.ts';

type Words = readonly BashWord[];

/** What a program would run besides itself. */
export type Hidden = {
  /** Commands, as words. */
  beneath: readonly Words[];
  /** Those of them that get further words from an input. */
  fed: readonly Words[];
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
const openRunners = new Set(
  names(
    'sudo doas su busybox toybox valgrind perf setarch linux32 linux64 tmux screen hyperfine entr ssh-agent gosu eatmydata cpulimit firejail bwrap torsocks start-stop-daemon',
  ),
);
/** Programs that start a shell, or run what they read, when they are given no command. */
const shellsAlone = new Set(names('su chroot unshare nsenter script newgrp runuser parallel at batch'));
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
  fed: Words[];
  code: string[];
  unclear: string[];
  readsCode: boolean;
  exactOnly: boolean;
  /** Lengths of the tails that were looked at: a row of runners costs no more than its length. */
  tails: Set<number>;
};

/** Finds what a program would run. `stuck`: it is a wrapper whose options are not understood. `fed`: `xargs` adds words to it. */
export function hiddenIn(words: Words, { stuck, fed }: { stuck: boolean; fed: boolean }): Hidden {
  const found: Found = {
    beneath: [],
    fed: [],
    code: [],
    unclear: [],
    readsCode: false,
    exactOnly: stuck && programName(words) !== 'xargs',
    tails: new Set(),
  };
  look(words, found, { wrapped: stuck, fed });
  return found;
}

/** `wrapped`: wrappers count as runners here. */
function look(words: Words, found: Found, { wrapped, fed }: { wrapped: boolean; fed: boolean }): void {
  const name = baseName(words);
  if (name === undefined) return;
  const runs = runners.has(name) || openRunners.has(name) || /^ld(?:-linux.*)?\.so/.test(name);
  const named = (runs || (wrapped && wrappers.has(name))) && words.length > 1 && everyTail(words, found, fed);
  if (words.length > 1) found.exactOnly ||= runners.has(name);
  const open = (runs || wrappers.has(name)) && !named;
  if (fed && (open || name === 'find' || lacksCode(name, words)))
    found.unclear.push(`what ${name} runs comes from an input`);
  if (name === 'find') lookAtFind(words, found);
  if (name === 'sed' && sedMayRun(fed ? [...words, fromInput] : words))
    found.unclear.push('what sed runs is not known');
  if (changesNames(name, words)) found.unclear.push(`${name} changes what names mean, or runs text`);
  const told = toldBy(name, words);
  for (const run of told) addTold(run, found, fed);
  if (
    fed &&
    !words.some((word) => word.value === '--') &&
    (name === 'git' ? gitTakesProgram(words) : takesProgram(name))
  )
    found.unclear.push(`what ${name} runs may come from an input`);
  found.exactOnly ||= told.length > 0 && /^(?:git|fd|fdfind|split)$/.test(name);
  const git = undashed(words);
  if (git) addTold({ kind: 'command', words: git }, found, fed);
  const code = codeOf(name, words);
  if (code?.kind === 'known') found.code.push(code.text);
  if (code?.kind === 'unknown') found.unclear.push(code.why);
  const scripts = scriptsOf(name, words);
  found.beneath.push(...scripts);
  if (fed) found.fed.push(...scripts);
  found.readsCode ||= readsInput(name, words) || (!named && startsShell(name, words));
}

function toldBy(name: string, words: Words): ToldRun[] {
  return name === 'git' ? gitRuns(words) : toldRuns(name, words);
}

/** Whether a program, by its bare name, is told something to run, be it known or not. */
export function isTold(name: string, words: Words): boolean {
  return toldBy(name, words).length > 0 || (name === 'sed' && sedMayRun(words));
}

function addTold(run: ToldRun, found: Found, fed: boolean): void {
  if (run.kind === 'unknown') found.unclear.push(run.why);
  else if (run.kind === 'code') found.code.push(run.text);
  else if (programName(run.words) === undefined) found.unclear.push('the name of a program is computed');
  else {
    found.beneath.push(run.words);
    if (fed) found.fed.push(run.words);
    look(run.words, found, { wrapped: true, fed });
  }
}

/** Whether a program that got no command starts a shell, or runs what it reads. */
function startsShell(name: string, words: Words): boolean {
  const asked = words.some((word) => /^-\w*[si]|^--(?:s|l)[a-z]*$/.test(firstText(word)));
  return shellsAlone.has(name) || (asked && (name === 'sudo' || name === 'doas'));
}

/**
 * Every tail of the words that may be the command behind a runner, since options differ between versions. Returns whether
 * there is one for sure.
 */
function everyTail(all: Words, found: Found, outerFed: boolean): boolean {
  const runner = baseName(all) ?? '';
  const fed = outerFed || runner === 'xargs';
  const words = runner === 'xargs' ? filledByXargs(all) : all;
  let before = operandsBefore.has(runner) ? 1 : 0;
  let named = false;
  for (let i = 1; i < words.length; i++) {
    const tail = words.slice(i);
    const text = programName(tail);
    const [, variable, value] = /^([A-Za-z_]\w*)(?:%%)?=([\s\S]*)$/.exec(text ?? tail[0]!.raw) ?? [];
    const doubt = variable === undefined ? undefined : variableDoubt(variable, text === undefined ? undefined : value);
    if (doubt !== undefined) found.unclear.push(doubt);
    if (text === undefined) {
      if (!named && variable === undefined) found.unclear.push(`what ${words[0]!.raw} runs is computed`);
      continue;
    }
    found.code.push(...attachedCode(text));
    if (text.startsWith('-') || variable !== undefined) continue;
    const isValue = i > 1 && takesValue(runner, firstText(words[i - 1]!));
    if (!isValue && before-- <= 0) named = true;
    if (/[\s;&|]/.test(text)) found.code.push(text);
    if (found.tails.has(tail.length)) continue;
    if (found.tails.size >= mostTails) {
      found.unclear.push('it runs one program by another too many times');
      return named;
    }
    found.tails.add(tail.length);
    found.beneath.push(tail);
    if (fed) found.fed.push(tail);
    look(tail, found, { wrapped: true, fed });
  }
  return named;
}

/** Whether the word behind an option may be its value. */
function takesValue(runner: string, option: string): boolean {
  return runner === 'xargs'
    ? /^-[0rtpxo]*[aEIdLnPs]$|^--(?:arg-file|delimiter|max-(?:args|chars|lines|procs)|process-slot-var)$/.test(option)
    : option.startsWith('-');
}

/** Code that stands in the very word of an option, such as `-c'make all'`. */
function attachedCode(text: string): string[] {
  const [, command, other] = /^(?:-\w*?c|--c[a-z]*=)([\s\S]+)$|^-(?:\w|-[\w-]+=)([\s\S]+)$/.exec(text) ?? [];
  if (command !== undefined) return [command];
  return other !== undefined && /[\s;&|]/.test(other) ? [other] : [];
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
    const inner = filled(words.slice(i + 1, end < 0 ? undefined : end), '{}');
    if (inner.length === 0) continue;
    if (programName(inner) === undefined) found.unclear.push('what find runs is computed');
    found.beneath.push(inner);
    look(inner, found, { wrapped: true, fed: false });
  }
}

/** Programs that give names another meaning, or run what stands in an argument of theirs. */
function changesNames(name: string, words: Words): boolean {
  const has = (option: RegExp): boolean => words.slice(1).some((word) => option.test(firstText(word)));
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
      return has(/^[-+]\w*[in]/);
    case 'env':
      return has(/^(?:-[a-zA-Z]*S|--s)/);
    default:
      return /^(?:enable|complete|compgen|compopt|bind|fc)$/.test(name);
  }
}
