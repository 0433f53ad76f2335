import { z } from 'zod';
import { formatBytes } from '../core/preview.ts';
import { changeFile, foresee, type Plan, type Target } from './change-file.ts';
import { defineTool } from './define.ts';
import { absolutePath, pathFault } from './paths.ts';
import { compareFile } from './recover.ts';
import type { ToolIo } from '../core/tool.ts';
import { linesOf, textFault } from './text-file.ts';
import { briefText, countText } from './text.ts';

const WriteInput = z.strictObject({
  file_path: z.string().describe('Absolute path of the file.'),
  content: z.string().describe('The whole content of the file.'),
});
type WriteInput = z.infer<typeof WriteInput>;

const description = `Writes a whole file, new or in place of what was there. Missing folders are made.
- An existing file must have been read whole before, and not be changed since.
- To change part of a file use Edit.
- The content is written as it is: nothing is added at its end.`;

/** Writes a whole file. */
export const write = defineTool<WriteInput>({
  name: 'Write',
  description,
  input: WriteInput,
  brief: (input) => briefText(input.file_path),
  access: (input, cwd) => ({ kind: 'edit', paths: [absolutePath(input.file_path, cwd)] }),
  validate: (input, io) =>
    pathFault(input.file_path) ?? textFault(input.content, 'content') ?? foresee(input, io, planWrite),
  run: (input, io) => changeFile(input, io, planWrite),
  recover: (claim, _input, io) => compareFile(claim, io),
});

function planWrite(input: WriteInput, target: Target, io: ToolIo): Plan {
  const bytes = new TextEncoder().encode(input.content);
  const size = `${countText(linesOf(input.content).length, 'line')}, ${formatBytes(bytes.length)}`;
  const change = (how: string): Plan => ({
    kind: 'change',
    bytes,
    text: `${how} ${target.path} (${size}).`,
    seen: { sha: io.sha(bytes), via: 'write' },
  });
  if (target.kind === 'new') return change('Created');
  const { path, sha, known } = target;
  if (known === undefined) {
    return refused(
      `${path} exists and you have not read it. Read it first, then write it. (A file that Read can't show must be removed with Bash first.)`,
    );
  }
  if (known.sha !== sha) return refused(`${path} was changed since you read it. Read it again, then write it.`);
  if (known.partial) {
    return refused(
      `You have read only part of ${path}, and Write replaces all of it. Change it with Edit, or read it whole first.`,
    );
  }
  return change('Updated');
}

function refused(text: string): Plan {
  return { kind: 'refused', text };
}
