import { join } from 'node:path';
import { z } from 'zod';
import type { SearchRun } from '../core/ports.ts';
import type { ToolIo, ToolOutput } from '../core/tool.ts';
import { defineTool } from './define.ts';
import { absolutePath, pathFault, refusal, shownPath } from './paths.ts';
import { searchPlace, searchTrouble } from './search-place.ts';
import { briefText, countText, numberText } from './text.ts';

const DEFAULT_LIMIT = 250;
const TIMEOUT_MS = 20_000;
const MAX_BYTES = 16 * 1024 * 1024;
const MAX_LINE_CHARS = 500;

const lines = (what: string) => z.int().nonnegative().optional().describe(`${what} Only in output mode content.`);

const GrepInput = z.strictObject({
  pattern: z.string().min(1).describe('Regular expression in the syntax of ripgrep.'),
  path: z.string().optional().describe('File or folder to search. Leave it out for the working directory.'),
  glob: z
    .string()
    .optional()
    .describe('Only files whose path matches, for example `*.ts`; several are separated by commas.'),
  type: z.string().optional().describe("Only files of this kind, as ripgrep's --type knows it: js, py, rust, go, …"),
  output_mode: z
    .enum(['content', 'files_with_matches', 'count'])
    .default('files_with_matches')
    .describe('content: matching lines. files_with_matches: paths only, newest first. count: matches per file.'),
  '-i': z.boolean().optional().describe('Ignore case.'),
  '-n': z.boolean().optional().describe('Line numbers, on unless false. Only in output mode content.'),
  '-o': z.boolean().optional().describe('Only the matching part of each line. Only in output mode content.'),
  '-A': lines('Lines to show after each match.'),
  '-B': lines('Lines to show before each match.'),
  '-C': lines('Lines to show around each match.'),
  context: lines('The same as -C.'),
  head_limit: z
    .int()
    .nonnegative()
    .optional()
    .describe(`How many lines or files to return, ${DEFAULT_LIMIT} if not given, 0 for all.`),
  offset: z
    .int()
    .nonnegative()
    .optional()
    .describe('How many of them to leave out first, to page through a long result.'),
  multiline: z.boolean().optional().describe('Let the pattern match across lines, `.` included.'),
});
type GrepInput = z.infer<typeof GrepInput>;

const description = `Searches the content of files with ripgrep.
- The pattern is a regular expression: escape braces and other special characters to find them literally, as in \`interface\\{\\}\`.
- Files that git ignores, binary files and \`.git\` are left out; hidden files are searched.
- Narrow it with path, glob or type. Paths in the result are relative to the working directory where they lie below it.
- Lines over ${MAX_LINE_CHARS} characters are cut.`;

/** Searches the content of files. */
export const grep = defineTool<GrepInput>({
  name: 'Grep',
  description,
  input: GrepInput,
  isConcurrencySafe: () => true,
  brief: (input) => briefText(input.path === undefined ? input.pattern : `${input.pattern} in ${input.path}`),
  access: (input, cwd) => ({ kind: 'read', paths: [absolutePath(input.path ?? '.', cwd)] }),
  validate: (input) => (input.path === undefined ? undefined : pathFault(input.path)) ?? patternFault(input),
  run: searchFiles,
});

function patternFault(input: GrepInput): string | undefined {
  const texts = [input.pattern, input.glob ?? '', input.type ?? ''];
  return texts.some((text) => text.includes('\0'))
    ? 'The pattern holds a NUL character: write \\x00 instead.'
    : undefined;
}

async function searchFiles(input: GrepInput, io: ToolIo): Promise<ToolOutput> {
  const path = absolutePath(input.path ?? '.', io.cwd);
  try {
    const place = await searchPlace(path, io);
    if (place.kind === 'refused') return refusal(place.text);
    const target = place.file === undefined ? [] : ['--', place.file];
    const search = (...more: string[]) =>
      io.search.rg([...more, ...argumentsOf(input), ...target], {
        cwd: place.dir,
        signal: io.signal,
        timeoutMs: TIMEOUT_MS,
        maxBytes: MAX_BYTES,
      });
    const first = await search();
    // The usual engine is quicker, and knows neither look-around nor backreferences.
    const found = /look-around|backreferences/.test(first.stderr) ? await search('--pcre2') : first;
    // Trouble with single files is not told, so what is left is about the request.
    if (found.stderr !== '' && found.code === 2) return refusal(found.stderr.trim());
    const rows = rowsOf(input.output_mode, found.lines).filter((row) => isShown(row, place.dir, io));
    return { content: report(input, rows, found, (name) => shownPath(join(place.dir, name), io.cwd)) };
  } catch (error) {
    return searchTrouble(error, path, io);
  }
}

function argumentsOf(input: GrepInput): string[] {
  const common = ['--hidden', '--no-messages', '--color=never', '--with-filename', `--regexp=${input.pattern}`];
  const narrow = [...globs(input.glob).map((glob) => `--glob=${glob}`), '--glob=!.git'];
  const flags = [
    ...(input['-i'] ? ['--ignore-case'] : []),
    ...(input.multiline ? ['--multiline', '--multiline-dotall'] : []),
    ...(input.type === undefined ? [] : [`--type=${input.type}`]),
  ];
  return [...common, ...narrow, ...flags, ...modeArguments(input)];
}

function modeArguments(input: GrepInput): string[] {
  switch (input.output_mode) {
    case 'files_with_matches':
      return ['--files-with-matches', '--sortr=modified'];
    case 'count':
      return ['--count-matches', '--sort=path', '--null'];
    case 'content': {
      const around = input['-C'] ?? input.context;
      const before = input['-B'] ?? around;
      const after = input['-A'] ?? around;
      return [
        '--sort=path',
        '--no-heading',
        '--null',
        `--max-columns=${MAX_LINE_CHARS}`,
        '--max-columns-preview',
        input['-n'] === false ? '--no-line-number' : '--line-number',
        ...(input['-o'] ? ['--only-matching'] : []),
        ...(before === undefined ? [] : [`--before-context=${before}`]),
        ...(after === undefined ? [] : [`--after-context=${after}`]),
      ];
    }
    default:
      return input.output_mode satisfies never;
  }
}

/** Splits at commas that are not inside of braces. */
function globs(glob: string | undefined): string[] {
  return (glob ?? '')
    .split(/,(?![^{]*\})/)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** One unit of a result: the file's name as ripgrep gave it and what is said of it; a row without a name separates groups. */
type Row = { file?: string; text: string };

function rowsOf(mode: GrepInput['output_mode'], output: string[]): Row[] {
  if (mode === 'files_with_matches') return output.map((file) => ({ file, text: '' }));
  return output.map((line) => {
    const end = line.indexOf('\0');
    return end === -1 ? { text: line } : { file: line.slice(0, end), text: line.slice(end + 1) };
  });
}

function isShown(row: Row, dir: string, io: ToolIo): boolean {
  return row.file === undefined || io.hidden?.(join(dir, row.file)) !== true;
}

function report(input: GrepInput, rows: Row[], found: SearchRun, shown: (name: string) => string): string {
  const offset = input.offset ?? 0;
  const limit = input.head_limit ?? DEFAULT_LIMIT;
  const part = rows.slice(offset, limit === 0 ? undefined : offset + limit);
  const isFiles = input.output_mode === 'files_with_matches';
  const noun = isFiles ? 'file' : 'line';
  const body = part.map((row) => rowText(row, input, shown));
  const notes = [...pageNote(part.length, offset, rows.length, noun), ...stopNote(found)];
  if (rows.length === 0) return [isFiles ? 'No files found.' : 'No matches found.', ...notes].join('\n');
  const head = isFiles ? [`Found ${countText(rows.length, 'file')}`] : [];
  const total = input.output_mode === 'count' ? ['', totalText(rows)] : [];
  return [...head, ...body, ...total, ...notes].join('\n');
}

function rowText(row: Row, input: GrepInput, shown: (name: string) => string): string {
  if (row.file === undefined) return row.text;
  const name = shown(row.file);
  if (input.output_mode === 'files_with_matches') return name;
  return `${name}${separator(row.text, input)}${row.text}`;
}

/** `:` before a match and `-` before a line of context, as grep does it; without line numbers they can't be told apart. */
function separator(text: string, input: GrepInput): ':' | '-' {
  return input.output_mode === 'content' && input['-n'] !== false && /^\d+-/.test(text) ? '-' : ':';
}

function totalText(rows: Row[]): string {
  const total = rows.reduce((sum, row) => sum + Number(row.text), 0);
  return `${countText(total, 'match', 'matches')} in ${countText(rows.length, 'file')}`;
}

function pageNote(shown: number, offset: number, total: number, noun: string): string[] {
  if (offset >= total && total > 0)
    return [`[There are only ${countText(total, noun)}: nothing is left from offset ${numberText(offset)} on.]`];
  const end = offset + shown;
  if (end >= total) return [];
  return [
    `[Shown: ${noun}s ${numberText(offset + 1)}-${numberText(end)} of ${numberText(total)}. Go on with offset ${end}, or narrow the search.]`,
  ];
}

function stopNote(found: SearchRun): string[] {
  if (found.timedOut)
    return [
      `[The search was stopped after ${TIMEOUT_MS / 1000} s, so matches may be missing. Narrow it with path, glob or type.]`,
    ];
  if (found.truncated) return ['[The result was too large and was cut. Narrow the search with path, glob or type.]'];
  return [];
}
