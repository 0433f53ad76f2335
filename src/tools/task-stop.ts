import { z } from 'zod';
import type { ToolIo, ToolOutput } from '../core/tool.ts';
import { taskEnding } from '../core/task-note.ts';
import { defineTool } from './define.ts';
import { unknownTask } from './task.ts';
import { briefText } from './text.ts';

const TaskStopInput = z.strictObject({
  task_id: z.string().optional().describe('The ID of the background command.'),
  shell_id: z.string().optional().describe('An older name of task_id.'),
});
type TaskStopInput = z.infer<typeof TaskStopInput>;

const description = `Ends a background command with all that it started.
- What it printed stays readable in its output file. That is all you hear of its end: no <task-notification> follows.`;

/** Ends a background command. */
export const taskStop = defineTool<TaskStopInput>({
  name: 'TaskStop',
  aliases: ['KillShell'],
  description,
  input: TaskStopInput,
  brief: (input) => briefText(idOf(input) ?? ''),
  access: () => ({ kind: 'none' }),
  validate: (input) => (idOf(input) === undefined ? 'Say which task to stop: give its task_id.' : undefined),
  run: (input, io) => stop(idOf(input) ?? '', io),
});

const idOf = (input: TaskStopInput): string | undefined => input.task_id ?? input.shell_id;

async function stop(id: string, io: ToolIo): Promise<ToolOutput> {
  const place = await io.tasks.find(id);
  if (place === undefined) return unknownTask(id, io);
  const found = await io.shell.adopt(place.dir);
  if (found.kind === 'running') {
    await found.run.kill();
    return { content: `Stopped ${id}.`, told: id };
  }
  const sight = found.kind === 'ended' ? found : { kind: 'gone' as const };
  return { content: `There is nothing to stop: ${id} ${taskEnding(sight).how}.`, told: id };
}
