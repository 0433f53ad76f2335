import { z } from 'zod';
import { byteLength, persistedOutput, PREVIEW_BYTES } from '../core/preview.ts';
import type { ShellExit } from '../core/ports.ts';
import type { ToolIo, ToolOutput } from '../core/tool.ts';
import { taskEnding, type TaskSight } from '../core/task-note.ts';
import { awaitExit } from './await-exit.ts';
import { defineTool } from './define.ts';
import { refusal } from './paths.ts';
import { type TaskPlace, unknownTask } from './task.ts';
import { briefText } from './text.ts';

const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_TIMEOUT_MS = 600_000;
/** Bytes of output that stand in the result; of more, both ends do. */
const WHOLE_BYTES = 30_000;
const TAIL_BYTES = 4_000;

const TaskOutputInput = z.strictObject({
  task_id: z.string().describe('The ID of the background command.'),
  block: z.boolean().default(true).describe('Wait for its end, at most for the time limit.'),
  timeout: z
    .number()
    .nonnegative()
    .max(MAX_TIMEOUT_MS)
    .default(DEFAULT_TIMEOUT_MS)
    .describe(`How long to wait in milliseconds, at most ${MAX_TIMEOUT_MS}.`),
});
type TaskOutputInput = z.infer<typeof TaskOutputInput>;

const description = `Says how a background command stands and what it printed so far, after it has ended or after the time limit.
- With block: false it answers at once. You are told of every end by a <task-notification>, unless this tool told you of it, so wait only for what you need now.
- The output is also a file, whose path you were given: Read and Grep work on it while it grows.`;

/** Waits for a background command and shows what it printed. */
export const taskOutput = defineTool<TaskOutputInput>({
  name: 'TaskOutput',
  description,
  input: TaskOutputInput,
  isConcurrencySafe: () => true,
  interrupt: 'cancel',
  maxChars: Infinity,
  brief: (input) => briefText(input.task_id),
  access: () => ({ kind: 'none' }),
  run: async (input, io) => {
    const place = await io.tasks.find(input.task_id);
    return place === undefined ? unknownTask(input.task_id, io) : waitFor(input, place, io);
  },
});

async function waitFor(input: TaskOutputInput, place: TaskPlace, io: ToolIo): Promise<ToolOutput> {
  const found = await io.shell.adopt(place.dir);
  if (found.kind === 'ended') return report(input.task_id, found, place, io);
  if (found.kind !== 'running') return report(input.task_id, { kind: 'gone' }, place, io);
  if (!input.block) return report(input.task_id, undefined, place, io);
  const limit = AbortSignal.timeout(Math.ceil(input.timeout));
  let exit: ShellExit | undefined;
  try {
    exit = await awaitExit(found.run, AbortSignal.any([io.signal, limit]), io);
  } catch (error) {
    if (io.signal.aborted) return refusal('The wait was cancelled. The command runs on.');
    if (!limit.aborted) throw error;
  }
  return report(input.task_id, exit && { kind: 'ended', exit }, place, io);
}

/** How it stands, then its output, whole or both ends of it. */
async function report(id: string, sight: TaskSight | undefined, place: TaskPlace, io: ToolIo): Promise<ToolOutput> {
  const how = sight === undefined ? 'is still running' : taskEnding(sight).how;
  const { head, tail, bytes } = await io.shell.readOutput(place.outputPath, {
    headBytes: WHOLE_BYTES - TAIL_BYTES,
    tailBytes: TAIL_BYTES,
  });
  const lines = [`${id} ${how}.`];
  if (bytes === 0) lines.push('It has printed nothing.');
  else if (bytes <= WHOLE_BYTES) lines.push('', head.trimEnd());
  else {
    const start = head.slice(0, PREVIEW_BYTES);
    lines.push('', persistedOutput({ bytes: Math.max(bytes, byteLength(start)), path: place.outputPath, head: start }));
    lines.push('', 'Its end:', tail.trimEnd());
  }
  return { content: lines.join('\n'), ...(sight && { told: id }) };
}
