import { firstText, optionValues, type ValueOptions } from './bash-options.ts';
import { isTameProgram } from './bash-variables.ts';
import type { BashWord } from './bash-words.ts';

type Words = readonly BashWord[];

/** What a program runs besides itself because its words say so: a command, shell code, or something that can't be told. */
export type ToldRun =
  | { kind: 'command'; words: Words }
  | { kind: 'code'; text: string }
  | { kind: 'unknown'; why: string };

/** Shell code that a program is given; `text` is absent when it is computed. */
export function runOfCode(text: string | undefined, program: string): ToldRun {
  return text === undefined ? unknownRun(`what ${program} runs is computed`) : { kind: 'code', text };
}

/** What can't be told. */
export function unknownRun(why: string): ToldRun {
  return { kind: 'unknown', why };
}

/** Everything that words make a program run, as far as it is known what that program is told programs by. Git has its own. */
export function toldRuns(name: string, words: Words): ToldRun[] {
  const args = words.slice(1);
  const [first] = args;
  switch (name) {
    case 'tar':
    case 'bsdtar':
      return tarRuns(args) ? [unknownRun('tar is told a program')] : [];
    case 'fd':
    case 'fdfind':
      return fdRuns(args);
    case 'capsh':
      return args.some((word) => /^(?:--|-\+|==)$/.test(firstText(word))) ? [unknownRun('capsh starts a shell')] : [];
    case 'npx':
    case 'pnpx':
    case 'bunx':
    case 'uvx':
      return packageRuns(args);
    case 'npm':
    case 'pnpm':
    case 'yarn':
    case 'bun':
      return /^(?:exec|x|dlx)$/.test(first?.value ?? '') ? packageRuns(args.slice(1)) : [];
    case 'uv':
    case 'poetry':
    case 'pipenv':
    case 'pipx':
      return first?.value === 'run' ? packageRuns(args.slice(1)) : [];
    case 'bundle':
      return first?.value === 'exec' ? packageRuns(args.slice(1)) : [];
    case 'split':
      return optionValues(args, { long: ['filter'] }).map((word) => runOfCode(word.value, 'split'));
    case 'ssh':
    case 'scp':
    case 'sftp':
      return [...tableRuns(name, args), ...connectionRuns(name, args)];
    default:
      return tableRuns(name, args);
  }
}

/** Options by which programs are told another one. */
const told: ReadonlyMap<string, ValueOptions> = new Map([
  ['sort', { long: ['compress-program'], valued: 'koStT' }],
  ['rg', { long: ['pre', 'hostname-bin'], exact: true }],
  ['rsync', { long: ['rsh'], short: 'e', valued: 'BfMT' }],
  ['scp', { short: 'S', valued: 'cDFiJloPX' }],
  ['sftp', { short: 'S', valued: 'BbcDFiJloPRs' }],
  ['install', { long: ['strip-program'] }],
  ['sdiff', { long: ['diff-program'] }],
  ['wget', { long: ['use-askpass'] }],
  ['zip', { long: ['unzip-command'] }],
  ['man', { long: ['pager', 'html'], short: 'PH', valued: 'CLmMSseErRT' }],
  ['bat', { long: ['pager'] }],
]);

/** Whether one more word could tell a program what to run. That of rg is taken for a name of a file. */
export function takesProgram(name: string): boolean {
  return name !== 'rg' && (told.has(name) || /^(?:tar|bsdtar|fd|fdfind|split|ssh|npx|pnpx|bunx|uvx)$/.test(name));
}

function tableRuns(name: string, args: Words): ToldRun[] {
  const options = told.get(name);
  const tame = (word: BashWord): boolean => isTameProgram(word.value) || compressor.test(word.value ?? '');
  return options === undefined || optionValues(args, options).every(tame)
    ? []
    : [unknownRun(`${name} is told a program`)];
}

/** Settings of a connection that are run on this machine. */
function connectionRuns(name: string, args: Words): ToldRun[] {
  const set = optionValues(args, { short: 'o', valued: 'bcDEeFIiJLlmOpPQRSsWwX' });
  return set.some((word) => !/^\s*(?!proxycommand|localcommand|knownhostscommand)[a-z0-9]+[\s=]/i.test(firstText(word)))
    ? [unknownRun(`${name} is told a program`)]
    : [];
}

const compressor =
  /^(?:gzip|pigz|bzip2|pbzip2|lbzip2|xz|pixz|pxz|lzma|lz4|zstd|zstdmt|brotli|lzop|compress)(?: -[\w=-]+)*$/;

/** Whether tar is told a program: by an option, or in a bundle of letters, which for the first word needs no dash and may have `I` or `F` with its value attached. */
function tarRuns(args: Words): boolean {
  const other = optionValues(args, {
    long: ['to-command', 'info-script', 'new-volume-script', 'rsh-command', 'rmt-command'],
  });
  const acts = optionValues(args, { long: ['checkpoint-action'] });
  const compresses = optionValues(args, { long: ['use-compress-program'] });
  return (
    other.length > 0 ||
    acts.some((word) => word.value === undefined || word.value.startsWith('exec')) ||
    compresses.some((word) => !compressor.test(word.value ?? '')) ||
    args.some((word, i) => tarBundleRuns(firstText(word), args[i + 1], i === 0))
  );
}

function tarBundleRuns(text: string, next: BashWord | undefined, first: boolean): boolean {
  const [, letter, attached] =
    (first ? /^(?!--)-?[a-zA-EGHJ-Z]*?([IF])(.*)$/s : /^-[a-zA-BDEGHJ-Z]*?([IF])(.*)$/s).exec(text) ?? [];
  if (letter === undefined) return false;
  return !(letter === 'I' && compressor.test((attached === '' ? next?.value : attached) ?? ''));
}

function fdRuns(args: Words): ToldRun[] {
  return args.flatMap((word, i): ToldRun[] => {
    const text = firstText(word);
    if (!/^-[a-zA-Z]*[xX]|^--exec/.test(text)) return [];
    const end = args.findIndex((one, at) => at > i && one.value === ';');
    const words = args.slice(i + 1, end < 0 ? undefined : end);
    const plain = /^(?:-[a-zA-Z]*[xX]|--exec(?:-batch)?)$/.test(text);
    return plain && words[0] && !firstText(words[0]).includes('{')
      ? [{ kind: 'command', words }]
      : [unknownRun('what fd runs is not known')];
  });
}

/** Options that take no value, so that the word behind them is the program. */
const flags = /^(?:-[yq]|--(?:yes|no|no-install|quiet|ignore-existing|silent|bun|frozen|locked|offline)|--|--.*=.*)$/;

/** The program behind the options; behind an option that may take a value, both words that may be it. */
function packageRuns(args: Words): ToldRun[] {
  const found: ToldRun[] = [];
  for (let i = 0; i < args.length; i++) {
    const text = firstText(args[i]!);
    const before = i === 0 ? '' : firstText(args[i - 1]!);
    const [, attached] = /^--call=([\s\S]*)$/.exec(text) ?? [];
    if (attached !== undefined) found.push(runOfCode(args[i]!.value?.slice('--call='.length), 'it'));
    if (text.startsWith('-')) continue;
    if (before === '-c' || before === '--call') found.push(runOfCode(args[i]!.value, 'it'));
    else found.push({ kind: 'command', words: args.slice(i) });
    if (!before.startsWith('-') || flags.test(before)) break;
  }
  return found;
}
