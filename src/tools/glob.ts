import { dirname, isAbsolute, join, resolve } from 'node:path';
import { z } from 'zod';
import type { ToolIo, ToolOutput } from '../core/tool.ts';
import { defineTool } from './define.ts';
import { absolutePath, pathFault, refusal, shownPath } from './paths.ts';
import { searchPlace, searchTrouble } from './search-place.ts';
import { briefText, numberText } from './text.ts';

const MAX_FILES = 100;
const TIMEOUT_MS = 20_000;
const MAX_BYTES = 64 * 1024 * 1024;

const GlobInput = z.strictObject({
  pattern: z.string().min(1).describe('For example `**/*.ts`, `src/**/*.{js,jsx}`, `package.json`.'),
  path: z.string().optional().describe('Folder to look in. Leave it out for the working directory.'),
});
type GlobInput = z.infer<typeof GlobInput>;

const description = `Finds files by a pattern of their names, newest first, at most ${MAX_FILES}.
- A pattern without a slash matches at any depth; \`**\` crosses folders, \`{a,b}\` means either.
- Files that git ignores and hidden files are found too, what is in \`.git\` is not.
- Paths are relative to the working directory where they lie below it.
- To search in the content of files use Grep.`;

/** Finds files by name. */
export const glob = defineTool<GlobInput>({
  name: 'Glob',
  description,
  input: GlobInput,
  isConcurrencySafe: () => true,
  brief: (input) => briefText(input.path === undefined ? input.pattern : `${input.pattern} in ${input.path}`),
  access: (input, cwd) => ({ kind: 'read', paths: [rooted(input, cwd).dir] }),
  validate: (input) => (input.path === undefined ? undefined : pathFault(input.path)) ?? pathFault(input.pattern),
  run: findFiles,
});

async function findFiles(input: GlobInput, io: ToolIo): Promise<ToolOutput> {
  const { dir, pattern } = rooted(input, io.cwd);
  try {
    const place = await searchPlace(dir, io);
    if (place.kind === 'refused') return refusal(place.text);
    if (place.file !== undefined) return refusal(`${dir} is a file, not a folder. To see what is in it use Read.`);
    const found = await io.search.rg(
      ['--files', '--hidden', '--no-ignore', '--no-messages', '--sortr=modified', `--glob=${pattern}`, '--glob=!.git'],
      { cwd: dir, signal: io.signal, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES },
    );
    if (found.stderr !== '') return refusal(found.stderr.trim());
    const files = found.lines.map((name) => join(dir, name)).filter((path) => io.hidden?.(path) !== true);
    return { content: [...listed(files, io.cwd), ...notices(files.length, found)].join('\n') };
  } catch (error) {
    return searchTrouble(error, dir, io);
  }
}

function listed(files: string[], cwd: string): string[] {
  if (files.length === 0) return ['No files found.'];
  return files.slice(0, MAX_FILES).map((path) => shownPath(path, cwd));
}

function notices(count: number, found: { timedOut: boolean; truncated: boolean }): string[] {
  const narrow = 'Use a narrower pattern or path.';
  if (found.timedOut)
    return [`[The search was stopped after ${TIMEOUT_MS / 1000} s, so files may be missing. ${narrow}]`];
  if (found.truncated) return [`[Too many files match, so some are missing. ${narrow}]`];
  if (count <= MAX_FILES) return [];
  return [`[Only the ${MAX_FILES} newest of ${numberText(count)} files are shown. ${narrow}]`];
}

/** The folder where the search begins, and the pattern below it: leading parts without wildcards are taken as folders where they lead elsewhere. */
function rooted(input: GlobInput, cwd: string): { dir: string; pattern: string } {
  const base = absolutePath(input.path ?? '.', cwd);
  const pattern = input.pattern.replace(/^(\.\/+)+/, '');
  if (!isAbsolute(pattern) && !/(^|\/)\.\.(\/|$)/.test(pattern)) return { dir: base, pattern: escaped(pattern) };
  const wildcard = pattern.search(/[*?[{\\]/);
  if (wildcard === -1) {
    const whole = resolve(base, pattern);
    return { dir: dirname(whole), pattern: `/${whole.slice(whole.lastIndexOf('/') + 1)}` };
  }
  const slash = pattern.lastIndexOf('/', wildcard) + 1;
  return { dir: resolve(base, pattern.slice(0, slash)), pattern: `/${pattern.slice(slash)}` };
}

/** A leading `!` would turn the pattern into its opposite. */
function escaped(pattern: string): string {
  return pattern.startsWith('!') ? `\\${pattern}` : pattern;
}
