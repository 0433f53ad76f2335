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

/** The text that a word begins with for sure. */
export function firstText(word: BashWord): string {
  const [first] = word.pieces;
  return word.value ?? (first?.kind === 'text' ? first.text : '');
}

/** Everything that the words of tar, fd, rg, capsh, and those that run the programs of a package, make them run. */
export function toldRuns(name: string, words: Words): ToldRun[] {
  const args = words.slice(1);
  const [first] = args;
  switch (name) {
    case 'tar':
    case 'bsdtar':
      return args.some((word, i) => tarRuns(word, args[i + 1], i === 0)) ? [unknownRun('tar is told a program')] : [];
    case 'fd':
    case 'fdfind':
      return fdRuns(args);
    case 'rg':
      return args.some((word) => /^--(?:pre|hostname-bin)(?:=|$)/.test(firstText(word)))
        ? [unknownRun('rg is told a program')]
        : [];
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
    default:
      return [];
  }
}

const tarPrograms = /^--(?:us[e-]|to-c|chec[a-z-]*-a[a-z]*=exec|checkpoint-a[a-z]*$|inf[o-]|new|rsh|rmt)/;
const compressor =
  /^(?:gzip|pigz|bzip2|pbzip2|lbzip2|xz|pixz|pxz|lzma|lz4|zstd|zstdmt|brotli|lzop|compress)(?: -[\w=-]+)*$/;

/** Letters stand in a bundle, for the first word also without a dash; `I` and `F` take a program, which may be attached. */
function tarRuns(word: BashWord, next: BashWord | undefined, first: boolean): boolean {
  const text = firstText(word);
  if (text.startsWith('--')) {
    if (!tarPrograms.test(text)) return false;
    const value = text.includes('=') ? word.value?.slice(text.indexOf('=') + 1) : next?.value;
    return !(text.startsWith('--us') && compressor.test(value ?? ''));
  }
  const [, letter, attached] =
    (first ? /^-?[a-zA-EGHJ-Z]*?([IF])(.*)$/s : /^-[a-zA-BDEGHJ-Z]*?([IF])(.*)$/s).exec(text) ?? [];
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
