import { z } from 'zod';
import type { Seen, ToolIo } from '../core/tool.ts';
import { changeFile, foresee, type Plan, type Target } from './change-file.ts';
import { defineTool } from './define.ts';
import { page } from './page.ts';
import { absolutePath, pathFault } from './paths.ts';
import { compareFile } from './recover.ts';
import { type Replaced, replaceText } from './replace-text.ts';
import { decodeText, encodeText, linesOf, textFault } from './text-file.ts';
import { briefText, countText, numberText } from './text.ts';

const SNIPPET_AROUND = 4;
const SNIPPET_LINES = 60;
const SNIPPET_BYTES = 8000;

const EditInput = z.strictObject({
  file_path: z.string().describe('Absolute path of the file.'),
  old_string: z
    .string()
    .describe('The text to replace, exactly as it is in the file. Empty: make a new file of new_string.'),
  new_string: z.string().describe('The text to put in its place.'),
  replace_all: z.boolean().default(false).describe('Replace every occurrence instead of the only one.'),
});
type EditInput = z.infer<typeof EditInput>;

const description = `Replaces text in a file by exact match.
- The file must have been read before. Give old_string exactly as the file has it, white space included, without the line numbers that Read shows.
- old_string must occur exactly once: add lines around it until it does, or set replace_all to change every occurrence.
- With an empty old_string it makes a new file.
- Line ends and a byte order mark stay as they are.`;

/** Replaces text in a file. */
export const edit = defineTool<EditInput>({
  name: 'Edit',
  description,
  input: EditInput,
  brief: (input) => briefText(input.file_path),
  access: (input, cwd) => ({ kind: 'edit', paths: [absolutePath(input.file_path, cwd)] }),
  validate: (input, io) => inputFault(input, io) ?? foresee(input, io, planEdit),
  run: (input, io) => changeFile(input, io, planEdit),
  recover: (claim, _input, io) => compareFile(claim, io),
});

function inputFault(input: EditInput, io: ToolIo): string | undefined {
  const fault = pathFault(input.file_path) ?? textFault(input.new_string, 'new_string');
  if (fault !== undefined) return fault;
  if (input.old_string === input.new_string)
    return 'old_string and new_string are the same: there is nothing to change.';
  const path = absolutePath(input.file_path, io.cwd);
  const isKnown = io.seen.has(io.files.real(path));
  return input.old_string === '' || isKnown ? undefined : unreadText(path);
}

function unreadText(path: string): string {
  return `You have not read ${path}. Read it first, then edit it.`;
}

function planEdit(input: EditInput, target: Target, io: ToolIo): Plan {
  const { path } = target;
  if (input.old_string === '') return planNew(input, target, io);
  if (target.kind === 'new')
    return refused(`${path} does not exist. To make it, use Write, or leave old_string empty.`);
  const { known, sha, bytes } = target;
  if (known === undefined) return refused(unreadText(path));
  if (known.partial && known.via !== 'range') {
    return refused(
      `You have read only the first page of ${path}. Read the part to change with offset and limit, then edit it.`,
    );
  }
  const file = decodeText(bytes);
  if (file.kind === 'binary')
    return refused(`${path} is ${file.what}: Edit would damage it. Change it with a program in Bash.`);
  if (!file.exact) {
    return refused(
      `${path} is not valid UTF-8: Edit would damage it. Change it with Bash, for example with \`sed\` or \`iconv\`.`,
    );
  }
  const isChanged = known.sha !== sha;
  const result = replaceText(file.text, input.old_string, input.new_string, input.replace_all);
  if (result.kind === 'missing') {
    return refused(isChanged ? changedText(path, 'is not in it') : missingText(path, file.text, input.old_string));
  }
  if (isChanged && result.count > 1) return refused(changedText(path, `is in it ${numberText(result.count)} times`));
  if (result.kind === 'ambiguous') {
    return refused(
      `old_string occurs ${numberText(result.count)} times in ${path}. Add lines around it so that it occurs once, or set replace_all.`,
    );
  }
  if (result.text === file.text)
    return refused(`new_string differs from old_string only in line ends, which ${path} keeps.`);
  const after = encodeText(result.text, file.bom);
  return {
    kind: 'change',
    bytes: after,
    text: doneText(path, result),
    seen: seenAfter(known, isChanged, io.sha(after)),
  };
}

function planNew(input: EditInput, target: Target, io: ToolIo): Plan {
  if (target.kind === 'existing' && target.bytes.length > 0) {
    return refused(
      `${target.path} exists and is not empty, so old_string may not be empty. Read it, then say what to replace.`,
    );
  }
  const bytes = new TextEncoder().encode(input.new_string);
  const size = countText(linesOf(input.new_string).length, 'line');
  return {
    kind: 'change',
    bytes,
    text: `Created ${target.path} (${size}).`,
    seen: { sha: io.sha(bytes), via: 'write' },
  };
}

/** What the model now knows of the file; of one that somebody else changed it knows only the place that it replaced. */
function seenAfter(known: Seen, isChanged: boolean, sha: string): Seen {
  return known.partial || isChanged ? { sha, partial: true, via: 'range' } : { sha, via: 'write' };
}

function doneText(path: string, result: Extract<Replaced, { kind: 'done' }>): string {
  const places = result.count === 1 ? '' : ` in ${numberText(result.count)} places, the first one`;
  const lines = linesOf(result.text);
  if (lines.length === 0) return `Edited ${path}. It is empty now.`;
  const firstChanged = lineAt(result.text, result.at);
  const lastChanged = lineAt(result.text, result.end);
  const first = Math.max(1, Math.min(firstChanged, lines.length) - SNIPPET_AROUND);
  const count = Math.min(SNIPPET_LINES, lastChanged + SNIPPET_AROUND - first + 1);
  return `Edited ${path}${places}:\n${page(lines, first, count, SNIPPET_BYTES).text}`;
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

function changedText(path: string, where: string): string {
  return `${path} was changed since you read it, and old_string ${where}. Read it again, then edit it.`;
}

function missingText(path: string, text: string, wanted: string): string {
  const said = `old_string is not in ${path}.`;
  if (wanted.split('\n').every((line) => /^\s*\d+(\t|→)/.test(line))) {
    return `${said} It begins with the line numbers that Read shows: leave them out.`;
  }
  const line = looseLine(text, wanted);
  if (line === undefined) return `${said} Read the place again and copy it exactly.`;
  return `${said} Line ${numberText(line)} differs from it only in white space: read it again and copy it exactly.`;
}

/** The line where the wanted text stands if white space at both ends of lines does not count. */
function looseLine(text: string, wanted: string): number | undefined {
  const trim = (part: string) =>
    part
      .split('\n')
      .map((line) => line.trim())
      .join('\n');
  const needle = trim(wanted).trim();
  const at = needle === '' ? -1 : trim(text).indexOf(needle);
  return at === -1 ? undefined : trim(text).slice(0, at).split('\n').length;
}

function refused(text: string): Plan {
  return { kind: 'refused', text };
}
