import { programName } from './bash-analysis.ts';
import { printfCounts } from './bash-doubts.ts';
import { gitReads } from './bash-git.ts';
import { sedScriptIsPlain } from './bash-sed.ts';
import type { BashWord } from './bash-words.ts';

type Words = readonly BashWord[];

/** Programs that change nothing whatever their arguments are. */
const harmless = new Set(
  'ls cat echo pwd head tail wc which stat du df cut tr comm paste nl tac rev fold expand unexpand column basename dirname realpath readlink id groups whoami uname nproc arch true false : seq sleep type whereis grep egrep fgrep diff cmp join md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum strings od hexdump base64 base32 tty getconf uptime free cd'.split(
    ' ',
  ),
);

/** Programs that may be asked for their version. */
const versioned = new Set(
  'node npm pnpm yarn python python3 pip pip3 go cargo rustc ruby java gcc make bash docker-compose'.split(' '),
);

const isVersion = (args: readonly string[]): boolean => args.length === 1 && /^(?:--version|-V)$/.test(args[0]!);

/**
 * Whether a program is asked for its version. It may be one of a version manager that starts what a file of the folder
 * names, as rustup does with `rust-toolchain.toml`.
 */
export function asksVersion(words: Words): boolean {
  return versioned.has(programName(words) ?? '');
}

/** Programs that change nothing with these arguments, all of them known text. */
const checked: ReadonlyMap<string, (args: readonly string[]) => boolean> = new Map([
  ['find', (args: readonly string[]) => findReads(args)],
  [
    'sort',
    (args: readonly string[]) =>
      optionsWithin(
        args,
        /^(?:-[bdfgiMhnRrVcCmsuz]+|-[bdfgiMhnRrVcCmsuz]*[kt].*|--(?:ignore-leading-blanks|dictionary-order|ignore-case|general-numeric-sort|month-sort|human-numeric-sort|numeric-sort|random-sort|reverse|version-sort|check|merge|stable|unique|zero-terminated)|--(?:key|field-separator|sort|parallel)=.+)$/,
      ),
  ],
  ['sed', (args: readonly string[]) => sedReads(args)],
  [
    'rg',
    (args: readonly string[]) =>
      optionsWithin(
        args,
        /^(?:-[nilLcvwxsSFPaoquUHINhp.0]+|-[nilcvwxsSFPoHNh]*[ABCmgtTeEMjr](?:.+)?|--(?:line-number|no-line-number|ignore-case|smart-case|case-sensitive|files|files-with-matches|files-without-match|count|count-matches|invert-match|word-regexp|line-regexp|fixed-strings|pcre2|multiline|multiline-dotall|only-matching|no-heading|heading|with-filename|no-filename|column|vimgrep|json|stats|hidden|no-ignore|no-ignore-vcs|no-config|null|trim|follow|pretty|quiet|text)|--(?:color|colors|glob|iglob|type|type-not|max-count|max-depth|max-columns|max-filesize|context|after-context|before-context|sort|sortr|regexp|replace|encoding|threads)(?:=.+)?)$/,
      ),
  ],
  ['uniq', (args: readonly string[]) => operands(args).length < 2],
  [
    'xxd',
    (args: readonly string[]) => operands(args).length < 2 && optionsWithin(args, /^-(?:[aublpi]|[cgsl]\d*|ps)$/),
  ],
  [
    'date',
    (args: readonly string[]) =>
      args.every(
        (arg) =>
          arg.startsWith('+') ||
          /^(?:-u|-I\w*|-R|--utc|--iso-8601(?:=\w+)?|--rfc-\w+(?:=\w+)?|--date=.+|-d.+)$/.test(arg),
      ),
  ],
  ['hostname', (args: readonly string[]) => args.every((arg) => /^-[fsidIA]+$/.test(arg))],
  [
    'tree',
    (args: readonly string[]) =>
      optionsWithin(
        args,
        /^(?:-[adfilpsughDFCAtcrvUnNqxJSX]+|-[LPI]|--(?:noreport|dirsfirst|filesfirst|gitignore|du|si|prune)|--(?:filelimit|charset|sort)(?:=.+)?)$/,
      ),
  ],
  [
    'file',
    (args: readonly string[]) =>
      optionsWithin(
        args,
        /^(?:-[bihLknNr0]+|--(?:brief|mime|mime-type|mime-encoding|dereference|no-dereference|keep-going))$/,
      ),
  ],
  [
    'jq',
    (args: readonly string[]) =>
      // A filter may read further files by these.
      !args.some((arg) => /\b(?:import|include|modulemeta)\b/.test(arg)) &&
      optionsWithin(
        args,
        /^(?:-[ncrjaSCMesR]+|--(?:null-input|compact-output|raw-output|join-output|ascii-output|sort-keys|color-output|monochrome-output|exit-status|slurp|raw-input|tab|arg|argjson|args|jsonargs)|--indent)$/,
      ),
  ],
  // Without a dash, `e` shows the environment of other processes.
  [
    'ps',
    (args: readonly string[]) =>
      args.every((arg) => /^(?:aux|ax|-[efA]+|-p|\d+|-o|pid[\w,]*|--sort=[\w%-]+)$/.test(arg)),
  ],
  [
    'docker',
    (args: readonly string[]) => /^(?:ps|images|logs|inspect|version|info|top|port|diff|history)$/.test(args[0] ?? ''),
  ],
  ['command', (args: readonly string[]) => /^-p?[vV]$/.test(args[0] ?? '')],
  ...[...versioned].map((name) => [name, isVersion] as const),
]);

/** Whether a program, known by its bare name, changes nothing and runs nothing else. `appended`: unknown arguments follow. */
export function programReads(words: Words, appended: boolean): boolean {
  const name = programName(words);
  if (name === undefined) return false;
  if (harmless.has(name)) return true;
  if (appended) return false;
  if (name === 'git') return gitReads(words);
  const args = words.slice(1).map((word) => (word.splits ? undefined : word.value));
  if (name === 'printf') return args[0] !== undefined && !args[0].startsWith('-') && !printfCounts(args[0]);
  if (name === 'test' || name === '[') return !words.some((word) => word.splits) && testReads(args);
  return !args.includes(undefined) && (checked.get(name)?.(args as string[]) ?? false);
}

/** `-v` evaluates an index of its operand, so nothing may be able to become `-v` and its operand. */
function testReads(args: readonly (string | undefined)[]): boolean {
  return args.every((arg, i) => {
    if (arg === undefined) return !(i + 1 < args.length && args[i + 1] === undefined);
    return arg !== '-v' && arg !== '-R';
  });
}

function operands(args: readonly string[]): string[] {
  const end = args.indexOf('--');
  return args.filter((arg, i) => i !== end && ((end >= 0 && i > end) || arg === '-' || !arg.startsWith('-')));
}

function optionsWithin(args: readonly string[], allowed: RegExp): boolean {
  const end = args.indexOf('--');
  return (end < 0 ? args : args.slice(0, end)).every((arg) => arg === '-' || !arg.startsWith('-') || allowed.test(arg));
}

const findTests = new Set(
  '-name -iname -path -ipath -wholename -iwholename -regex -iregex -type -xtype -size -mtime -mmin -atime -amin -ctime -cmin -newer -anewer -cnewer -newermt -maxdepth -mindepth -empty -perm -user -group -nouser -nogroup -uid -gid -links -inum -samefile -lname -ilname -not -a -and -o -or -print -print0 -printf -ls -prune -quit -follow -depth -xdev -mount -true -false -readable -writable -executable -regextype -daystart -noleaf -ignore_readdir_race -H -L -P'.split(
    ' ',
  ),
);

function findReads(args: readonly string[]): boolean {
  return args.every((arg) => !arg.startsWith('-') || findTests.has(arg) || /^-\d+$/.test(arg));
}

function sedReads(args: readonly string[]): boolean {
  const scripts: string[] = [];
  let bare = true;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    if (
      /^-[nErsuz]+$/.test(arg) ||
      ['--quiet', '--silent', '--regexp-extended', '--posix', '--sandbox', '--separate', '--null-data'].includes(arg)
    )
      continue;
    if (/^-[nErsuz]*e$/.test(arg)) {
      scripts.push(args[++i] ?? '');
      bare = false;
    } else if (arg.startsWith('--expression=')) {
      scripts.push(arg.slice(13));
      bare = false;
    } else if (arg.startsWith('-') && arg !== '-') return false;
    else if (bare && scripts.length === 0) scripts.push(arg);
  }
  return scripts.length > 0 && scripts.every(sedScriptIsPlain);
}
