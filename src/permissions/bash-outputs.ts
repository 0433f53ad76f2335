import { hasOption, mayBringOption, operandsBeside, optionValues, type ValueOptions } from './bash-options.ts';
import { plainWord, type BashWord } from './bash-words.ts';
import { aside, edit, tree, within, type FileUse } from './file-use.ts';

type Words = readonly BashWord[];

const names = (text: string): string[] => text.split(' ');

/** Options by which programs are told a file or folder to write to. `aside`: they are there to show something. */
const outputs: ReadonlyMap<string, ValueOptions & { aside?: true }> = new Map([
  ['sort', { long: ['output'], short: 'o', valued: 'kStT', aside: true }],
  ['shuf', { long: ['output'], short: 'o', valued: 'in', aside: true }],
  ['iconv', { long: ['output'], short: 'o', valued: 'ft', aside: true }],
  ['sdiff', { long: ['output'], short: 'o', valued: 'wI', aside: true }],
  ['less', { long: ['log-file', 'LOG-FILE'], short: 'oO', valued: 'bDhjkpPTtxyz', aside: true }],
  ['patch', { long: ['output', 'reject-file', 'directory'], short: 'ord', valued: 'BDFgipVYz' }],
  [
    'curl',
    {
      long: names('output output-dir cookie-jar dump-header trace trace-ascii stderr hsts alt-svc etag-save libcurl'),
      short: 'ocD',
      valued: 'AbCdeEFhHKmPQrtTuUwxXyYz',
    },
  ],
  [
    'wget',
    {
      long: names(
        'output-document output-file append-output directory-prefix save-cookies rejected-log warc-file hsts-file',
      ),
      short: 'OoaP',
      valued: 'ABDeiIlQRTtUwX',
    },
  ],
  ['unzip', { short: 'd', valued: 'P' }],
  ['rsync', { long: ['backup-dir', 'log-file', 'partial-dir', 'temp-dir', 'write-batch'], short: 'T', valued: 'efBM' }],
  ['cpio', { long: ['directory', 'file'], short: 'DFO', valued: 'CEHMRI' }],
  ...['7z', '7za', '7zr'].map((name) => [name, { short: 'o', valued: 'imptvwx' }] as const),
]);

/** Programs that put something in the place of the files they are given, unless they are told to show it. */
const packers = new Set('gzip gunzip bzip2 bunzip2 xz unxz lzma unlzma zstd unzstd lz4 dos2unix unix2dos'.split(' '));

/** Whether a program that is there to show something may be told by a word that is not known yet to write a file. */
export function mayBeTold(name: string, args: Words): boolean {
  return outputs.get(name)?.aside === true && mayBringOption(args);
}

/** The files and folders that programs write to which are no plain tools for files: because of an option, or to unpack there. */
export function outputFiles(name: string, words: Words): FileUse[] {
  const args = words.slice(1);
  const options = outputs.get(name);
  const told = options ? optionValues(args, options).filter((word) => word.value !== '-') : [];
  return [...told.map(options?.aside ? aside : tree), ...operandFiles(name, args, told)];
}

function operandFiles(name: string, args: Words, told: Words): FileUse[] {
  const here = tree(plainWord('.'));
  if (packers.has(name))
    return hasOption(args, 'clt', ['stdout', 'list', 'test']) ? [] : operandsBeside(args, {}).map(edit);
  switch (name) {
    case 'tar':
    case 'bsdtar':
      return tarFiles(args);
    case 'unzip':
      return told.length > 0 || hasOption(args, 'lptzZ') ? [] : [here];
    case 'curl':
      return hasOption(args, 'OJ', ['remote-name', 'remote-name-all']) ? [here] : [];
    case 'wget':
      return told.length > 0 ? [] : [here];
    case 'patch':
      return operandsBeside(args, outputs.get('patch')!).slice(0, 1).map(edit);
    case 'zip':
      return operandsBeside(args, {}).slice(0, 1).map(edit);
    case 'cpio':
      return operandsBeside(args, { short: 'CDEFHIMOR' }).map(tree);
    case 'split':
      return operandsBeside(args, { short: 'abCln', long: ['bytes', 'lines', 'line-bytes', 'number'] })
        .slice(1)
        .map(tree);
    case 'csplit':
      return optionValues(args, { long: ['prefix'], short: 'f', valued: 'bn' }).map(tree);
    // A letter of its bundles takes the next word.
    case 'tree':
      return args.filter((_, i) => /^-[a-zA-Z]*o/.test(args[i - 1]?.value ?? '')).map(aside);
    case 'uniq':
      return operandsBeside(args, { long: ['skip-fields', 'skip-chars', 'check-chars'], short: 'fsw' })
        .slice(1)
        .map(aside);
    case 'xxd':
      return operandsBeside(args, { short: 'cglmnRs' }).slice(1).map(aside);
    default:
      return [];
  }
}

const tarValued = 'bCfFgHIKLNTVX';
const tarWrites = ['create', 'append', 'update', 'catenate', 'concatenate', 'delete'];

/** The archive that tar writes, or the folders that it unpacks into; each `-C` starts where the one before it led. */
function tarFiles(args: Words): FileUse[] {
  const bundle = /^[a-zA-Z]+$/.test(args[0]?.value ?? '');
  const letters = bundle ? args[0]!.value! : '';
  const valued = Array.from(letters).filter((letter) => tarValued.includes(letter));
  const rest = bundle ? args.slice(1 + valued.length) : args;
  const values = (letter: string, ...long: string[]): BashWord[] => [
    ...valued.flatMap((one, i) => (one === letter ? args.slice(1 + i, 2 + i) : [])),
    ...optionValues(rest, { long, short: letter, valued: tarValued }),
  ];
  const does = (some: string, long: readonly string[]): boolean =>
    Array.from(some).some((letter) => letters.includes(letter)) || hasOption(rest, some, long);
  const writes = does('cruA', tarWrites);
  const unpacks = does('x', ['extract', 'get']);
  const folders = values('C', 'directory');
  const unpacked =
    folders.length > 0 ? folders.map((_, i) => folders.slice(0, i + 1).reduce(within)) : [plainWord('.')];
  return [
    ...(writes ? values('f', 'file').filter((word) => word.value !== '-') : []).map(edit),
    ...values('g', 'listed-incremental', 'index-file').map(edit),
    ...(unpacks ? unpacked.map(tree) : []),
    ...(unpacks ? optionValues(rest, { long: ['one-top-level'] }).map(tree) : []),
  ];
}
