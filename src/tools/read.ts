import { extname } from 'node:path';
import { z } from 'zod';
import { checkImage } from '../core/image.ts';
import { formatBytes } from '../core/preview.ts';
import type { Seen, ToolIo, ToolOutput } from '../core/tool.ts';
import { defineTool } from './define.ts';
import { imageType } from './image-type.ts';
import { page } from './page.ts';
import { absolutePath, fileTrouble, missingText, pathFault, refusal } from './paths.ts';
import { decodeText, linesOf, MAX_FILE_BYTES } from './text-file.ts';
import { briefText, countText, numberText } from './text.ts';

const DEFAULT_LINES = 2000;
const DEFAULT_TOKENS = 25_000;
const BYTES_PER_TOKEN = 4;

const ReadInput = z.strictObject({
  file_path: z.string().describe('Absolute path of the file.'),
  offset: z
    .int()
    .nonnegative()
    .optional()
    .describe('Line to start at, counted from 1. Only for files too large to read at once.'),
  limit: z.int().positive().optional().describe('How many lines to read. Only for files too large to read at once.'),
});
type ReadInput = z.infer<typeof ReadInput>;

const description = `Reads a file.
- Give an absolute path. Without offset and limit it reads up to ${numberText(DEFAULT_LINES)} lines from the start; longer lines are cut at 2,000 characters.
- Each line is shown as its number, a tab, and its text; number and tab are no part of the file.
- A result that ends with a PARTIAL notice holds only the first page: read on with offset and limit.
- Images (png, jpg, gif, webp) are shown to you as images. Folders, PDFs and notebooks can't be read with it.
- Several files that you need are best read in one reply.`;

/** Shows a text file with line numbers, or an image. */
export const read = defineTool<ReadInput>({
  name: 'Read',
  description,
  input: ReadInput,
  isConcurrencySafe: () => true,
  maxChars: Infinity,
  brief: (input) => briefText(input.file_path),
  access: (input, cwd) => ({ kind: 'read', paths: [absolutePath(input.file_path, cwd)] }),
  validate: (input) => pathFault(input.file_path),
  run: readFile,
});

async function readFile(input: ReadInput, io: ToolIo): Promise<ToolOutput> {
  const path = absolutePath(input.file_path, io.cwd);
  try {
    const stat = await io.files.stat(path);
    if (stat === undefined) return refusal(await missingText(path, io.cwd, io.files));
    if (stat.kind === 'directory') return refusal(`${path} is a folder. List it with Glob, or with \`ls\` in Bash.`);
    if (stat.kind === 'other') return refusal(`${path} is a device, pipe or socket, not a file that can be read.`);
    const other = otherTool(path);
    if (other !== undefined) return refusal(other);
    if (stat.bytes > MAX_FILE_BYTES) {
      return refusal(
        `${path} is ${formatBytes(stat.bytes)}, too large to read. Search it with Grep, or cut a part out with \`sed -n '1,200p'\` in Bash.`,
      );
    }
    return show(path, io.files.real(path), await io.files.read(path), input, io);
  } catch (error) {
    return fileTrouble(error, path);
  }
}

/** What to use for kinds of files that are no plain text though they could be opened. */
function otherTool(path: string): string | undefined {
  switch (extname(path).toLowerCase()) {
    case '.pdf':
      return `${path} is a PDF, which Read can't show. Turn it into text in Bash, for example with \`pdftotext -layout FILE -\`.`;
    case '.ipynb':
      return `${path} is a notebook, which Read can't show. Print its cells in Bash, for example with \`jq -r '.cells[].source | if type == "array" then join("") else . end' FILE\`.`;
    default:
      return undefined;
  }
}

function show(path: string, real: string, bytes: Uint8Array, input: ReadInput, io: ToolIo): ToolOutput {
  const sha = io.sha(bytes);
  const known = io.seen.get(real);
  const wholeFile = input.offset === undefined && input.limit === undefined;
  const isKnown = known?.sha === sha && known.partial === undefined;
  if (wholeFile && isKnown && known.via === undefined) {
    return { content: `${path} is unchanged since you read it: what you saw then still holds.` };
  }
  const image = imageType(bytes);
  if (image !== undefined) return showImage(path, bytes, image, { [real]: { sha } });
  const file = decodeText(bytes);
  if (file.kind === 'binary') return refusal(binaryText(path, file.what));
  if (file.text === '') return { content: `${path} exists but is empty.`, seen: { [real]: { sha } } };

  const lines = linesOf(file.text);
  const first = Math.max(1, input.offset ?? 1);
  if (first > lines.length) {
    return refusal(`${path} has only ${countText(lines.length, 'line')}: there is no line ${numberText(first)}.`);
  }
  const tokens = tokenLimit(io.env);
  const count = input.limit ?? DEFAULT_LINES;
  const part = page(lines, first, count, tokens * BYTES_PER_TOKEN);
  const end = Math.min(lines.length, first + count - 1);
  if (!wholeFile && part.last < end) {
    return refusal(
      `Lines ${numberText(first)}-${numberText(end)} of ${path} are more than the ${numberText(tokens)} tokens that one read may hold. ` +
        `Ask for fewer: limit ${part.last - first + 1} fits from line ${numberText(first)} on. Or search with Grep.`,
    );
  }
  const isWhole = first === 1 && part.last === lines.length;
  const seen = isKnown && !wholeFile ? known : seenAs(sha, isWhole, wholeFile, part.cutLines);
  const notes = [
    ...(isWhole ? [] : [partText(wholeFile, first, part.last, lines.length)]),
    ...(file.exact
      ? []
      : ['[Not valid UTF-8: bytes that could not be read are shown as \uFFFD. Edit refuses this file.]']),
  ];
  return { content: [part.text, ...notes].join('\n\n'), seen: { [real]: seen } };
}

function seenAs(sha: string, isWhole: boolean, wholeFile: boolean, cutLines: number): Seen {
  if (isWhole && cutLines === 0) return { sha };
  // The model may not have noticed that it got only the first page; a part that it asked for it knows to be one.
  return isWhole || !wholeFile ? { sha, partial: true, via: 'range' } : { sha, partial: true };
}

function partText(wholeFile: boolean, first: number, last: number, total: number): string {
  const range = `lines ${numberText(first)}-${numberText(last)} of ${numberText(total)}`;
  if (!wholeFile) return `[${range}]`;
  return (
    `[PARTIAL: this is only the first page, ${range}. Go on with offset ${last + 1} and a limit. ` +
    'Before it may be changed, read the part to change with offset and limit.]'
  );
}

function showImage(path: string, bytes: Uint8Array, type: string, seen: Record<string, Seen>): ToolOutput {
  const data = Buffer.from(bytes).toString('base64');
  const image = checkImage({ type: 'image', source: { type: 'base64', media_type: type, data } });
  if ('ok' in image) return { content: [image.ok], seen };
  return refusal(
    `${path} is an image that can't be shown: ${image.refused}. ` +
      'Make a smaller copy in Bash, for example with `convert FILE -resize 1600x1600 SMALLER`.',
  );
}

function binaryText(path: string, what: string): string {
  if (what === 'UTF-16 text') {
    return `${path} is UTF-16 text, which Read can't show. Convert it in Bash: \`iconv -f UTF-16 -t UTF-8 FILE\`.`;
  }
  return `${path} is a binary file, which Read can't show. Look at it in Bash, for example with \`file FILE\` or \`xxd FILE | head\`.`;
}

function tokenLimit(env: Record<string, string>): number {
  const limit = Number(env['CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS']);
  return Number.isSafeInteger(limit) && limit > 0 ? limit : DEFAULT_TOKENS;
}
