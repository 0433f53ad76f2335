import { programName } from './bash-analysis.ts';
import { plainWord, type BashWord } from './bash-words.ts';

type Words = readonly BashWord[];

/** What a command hides behind its own name. */
export type Unwrapped = {
  layers: readonly Words[];
  beneath: readonly Words[];
  /** Shell code that it would run. */
  code: readonly string[];
  /** It reads shell code from its input. */
  readsCode: boolean;
  exactOnly: boolean;
  unclear: readonly string[];
};

/** Options of transparent wrappers that take a value, as the next word or attached. */
const transparent: ReadonlyMap<string, { valued: RegExp; plain: RegExp; operands: number }> = new Map([
  [
    'timeout',
    {
      valued: /^(?:-[ks]|--kill-after|--signal)$/,
      plain: /^(?:-[ks].+|--(?:kill-after|signal)=.+|--preserve-status|--foreground|-v|--verbose)$/,
      operands: 1,
    },
  ],
  ['nice', { valued: /^(?:-n|--adjustment)$/, plain: /^(?:-n?[-+]?\d+|--adjustment=.+)$/, operands: 0 }],
  [
    'stdbuf',
    {
      valued: /^(?:-[ioe]|--input|--output|--error)$/,
      plain: /^(?:-[ioe].+|--(?:input|output|error)=.+)$/,
      operands: 0,
    },
  ],
  ['time', { valued: /^$/, plain: /^-p$/, operands: 0 }],
  ['nohup', { valued: /^$/, plain: /^$/, operands: 0 }],
  ['command', { valued: /^$/, plain: /^-p$/, operands: 0 }],
  ['builtin', { valued: /^$/, plain: /^$/, operands: 0 }],
  ['noglob', { valued: /^$/, plain: /^$/, operands: 0 }],
  ['xargs', { valued: /^$/, plain: /^$/, operands: 0 }],
]);

/** Programs that run the command behind them; only an exact rule approves those marked `true`. */
const runners: ReadonlyMap<string, boolean> = new Map([
  ...[
    'watch',
    'setsid',
    'ionice',
    'flock',
    'env',
    'exec',
    'chrt',
    'taskset',
    'strace',
    'ltrace',
    'parallel',
    'script',
  ].map((name) => [name, true] as const),
  ...[
    'unbuffer',
    'nsenter',
    'unshare',
    'chroot',
    'setpriv',
    'prlimit',
    'numactl',
    'systemd-run',
    'dbus-run-session',
  ].map((name) => [name, true] as const),
  ...[
    'gtimeout',
    'gnice',
    'gstdbuf',
    'chronic',
    'rlwrap',
    'fakeroot',
    'proot',
    'faketime',
    'xvfb-run',
    'caffeinate',
    'pkexec',
    'runuser',
  ].map((name) => [name, true] as const),
  ...['sudo', 'doas', 'su', 'busybox', 'toybox', 'coproc'].map((name) => [name, false] as const),
]);

/** Operands that some of them take before the command. */
const operandsBefore: ReadonlyMap<string, number> = new Map([
  ['timeout', 1],
  ['gtimeout', 1],
  ['flock', 1],
  ['chroot', 1],
  ['taskset', 1],
  ['chrt', 1],
  ['su', 1],
  ['runuser', 1],
  ['script', 1],
  ['faketime', 1],
]);

const shells = new Set(['bash', 'sh', 'dash', 'zsh', 'ksh', 'ash', 'mksh', 'rbash']);
const findRuns = new Set(['-exec', '-execdir', '-ok', '-okdir']);
const findActs = new Set(['-delete', '-fprint', '-fprint0', '-fprintf', '-fls']);

/** Looks behind wrappers, runners and inner shells. */
export function unwrap(words: Words): Unwrapped {
  const layers: Words[] = [words];
  const found = {
    beneath: [] as Words[],
    code: [] as string[],
    unclear: [] as string[],
    readsCode: false,
    exactOnly: false,
  };
  let current = words;
  for (let inner = strip(current); inner !== undefined && inner.length > 0; inner = strip(current)) {
    layers.push(inner);
    current = inner;
  }
  look(current, found, 0);
  return { layers, ...found };
}

type Found = { beneath: Words[]; code: string[]; unclear: string[]; readsCode: boolean; exactOnly: boolean };

/** Takes one transparent wrapper off; `undefined` when there is none, or when its options are not understood. */
function strip(words: Words): Words | undefined {
  const name = plainName(words);
  const options = name === undefined ? undefined : transparent.get(name);
  if (!options) return undefined;
  let i = 1;
  for (; i < words.length; i++) {
    const text = words[i]!.splits ? undefined : words[i]!.value;
    if (text === undefined || !text.startsWith('-')) break;
    if (text === '--') {
      i++;
      break;
    }
    if (options.valued.test(text)) i++;
    else if (!options.plain.test(text)) return undefined;
  }
  const operands = words.slice(i, i + options.operands);
  if (operands.length < options.operands || operands.some((word) => word.splits)) return undefined;
  return words.slice(i + options.operands);
}

function plainName(words: Words): string | undefined {
  return programName(words)?.replace(/^\/(?:usr\/)?bin\//, '');
}

function look(words: Words, found: Found, depth: number): void {
  const name = plainName(words);
  if (name === undefined || depth > 8) return;
  const wrapper = transparent.has(name) && words.length > 1 && !isLookup(name, words);
  if (wrapper || (runners.has(name) && words.length > 1)) {
    found.exactOnly ||= name === 'xargs' ? false : (runners.get(name) ?? true);
    everySuffix(words, found, depth);
  }
  if (name === 'env' && words.some((word) => /^(?:-[a-zA-Z]*S|--s)/.test(word.raw)))
    found.unclear.push('env -S splits text into a command');
  if (name === 'find') lookAtFind(words, found, depth);
  if (shells.has(name)) lookAtShell(words, found);
  if (name === 'eval') addCode(words.slice(1), found, 'eval runs text that is computed');
  if ((name === 'source' || name === '.') && programName(words.slice(1)) === undefined)
    found.unclear.push(`${name} runs a file that is computed`);
  if (name === 'trap' && words.length > 2) addCode(words.slice(1, 2), found, 'trap runs text that is computed');
  if (
    name === 'git' &&
    words.some(
      (word, i) => /^-c|^--config-env/.test(word.raw) && /alias\./.test(`${word.raw}${words[i + 1]?.raw ?? ''}`),
    )
  )
    found.unclear.push('git -c defines an alias');
  if (
    (name === 'alias' && words.length > 1) ||
    name === 'enable' ||
    (name === 'hash' && words.some((word) => /^-\w*p/.test(word.raw)))
  )
    found.unclear.push(`${name} changes what names mean`);
}

function isLookup(name: string, words: Words): boolean {
  return name === 'command' && /^-p?[vV]/.test(words[1]?.raw ?? '');
}

/** Every tail of the words that may be the command behind a runner, since options differ between versions. */
function everySuffix(words: Words, found: Found, depth: number): void {
  let skipped = operandsBefore.get(plainName(words) ?? '') ?? 0;
  let named = false;
  for (let i = 1; i < words.length; i++) {
    const tail = words.slice(i);
    const text = programName(tail);
    if (text === undefined) {
      if (!named && !/^\w+=/.test(tail[0]!.raw)) found.unclear.push(`what ${words[0]!.raw} runs is computed`);
      continue;
    }
    if (text.startsWith('-') || /^\w+=/.test(text)) continue;
    const isValue = words[i - 1]!.raw.startsWith('-') && i > 1;
    if (!isValue && skipped-- <= 0) named = true;
    found.beneath.push(tail);
    look(tail, found, depth + 1);
  }
}

function lookAtFind(words: Words, found: Found, depth: number): void {
  const unknown = words.filter((word) => word.pieces.some((piece) => piece.kind === 'unknown'));
  const ends = words.some((word) => word.value === ';' || word.value === '+');
  if (unknown.some((word) => word.splits) || unknown.length > (ends ? 0 : 1))
    found.unclear.push('what find does is computed');
  for (let i = 1; i < words.length; i++) {
    const text = words[i]!.value;
    if (text === undefined) {
      found.exactOnly = true;
      continue;
    }
    if (findActs.has(text)) found.exactOnly = true;
    if (!findRuns.has(text)) continue;
    found.exactOnly = true;
    const end = words.findIndex((word, at) => at > i && (word.value === ';' || word.value === '+'));
    const inner = words.slice(i + 1, end < 0 ? undefined : end);
    if (inner.length === 0) continue;
    if (programName(inner) === undefined) found.unclear.push('what find runs is computed');
    found.beneath.push(inner);
    look(inner, found, depth + 1);
  }
}

function lookAtShell(words: Words, found: Found): void {
  let i = 1;
  let takesCode = false;
  let input = false;
  for (; i < words.length; i++) {
    const text = words[i]!.splits ? undefined : words[i]!.value;
    if (text === undefined) {
      found.unclear.push(`what ${words[0]!.raw} runs is computed`);
      return;
    }
    if (!/^[-+]./.test(text)) break;
    if (text === '--') {
      i++;
      break;
    }
    if (!text.startsWith('--')) {
      takesCode ||= text.includes('c');
      input ||= text.includes('s');
    }
    if (/^(?:[-+]\w*[oO]|--rcfile|--init-file)$/.test(text)) i++;
  }
  const rest = words.slice(i, i + 1);
  if (takesCode) addCode(rest, found, `${words[0]!.raw} -c runs text that is computed`);
  else if (input || rest.length === 0)
    found.readsCode = !words.some((word) => word.value === '--version' || word.value === '--help');
}

function addCode(words: Words, found: Found, why: string): void {
  if (words.some((word) => word.value === undefined || word.splits)) found.unclear.push(why);
  else if (words.length > 0) found.code.push(words.map((word) => word.value).join(' '));
}

/** A command made of known words. */
export function plainCommand(...texts: string[]): Words {
  return texts.map(plainWord);
}
