import type { TaskStatus } from '../shapes/task.ts';
import type { ShellExit } from './ports.ts';

/** How a background command came to its end: as it was seen, by our own kill, or seen by nobody. */
export type TaskSight = { kind: 'ended'; exit: ShellExit } | { kind: 'stopped' } | { kind: 'gone' };

/** What its end means: the status, and the rest of the sentence that begins with its name. */
export function taskEnding(sight: TaskSight): { status: Exclude<TaskStatus, 'running'>; how: string } {
  if (sight.kind === 'stopped') return STOPPED;
  if (sight.kind === 'gone') return LOST;
  const { code, signal, why } = sight.exit;
  switch (why) {
    case 'exit':
      if (code === 0) return { status: 'completed', how: 'completed (exit code 0)' };
      return { status: 'failed', how: `failed with exit code ${code}${signal ? ` (ended by ${signal})` : ''}` };
    case 'deadline':
      return { status: 'failed', how: 'was killed at its time limit' };
    case 'size':
      return { status: 'failed', how: 'was killed because it printed too much' };
    case 'killed':
      // Without a code its supervisor was killed too, which is nobody of ours.
      return code === null ? LOST : STOPPED;
  }
}

const STOPPED = { status: 'stopped', how: 'was stopped' } as const;
const LOST = { status: 'lost', how: 'is gone: nobody saw how it ended, and it may have acted' } as const;

/** What the model is told of the end of a background command. */
export function taskNote(end: { id: string; status: TaskStatus; summary: string; outputFile: string }): string {
  return [
    '<task-notification>',
    `<task-id>${end.id}</task-id>`,
    `<status>${end.status}</status>`,
    `<summary>${withoutTags(end.summary)}</summary>`,
    `<output-file>${end.outputFile}</output-file>`,
    '</task-notification>',
  ].join('\n');
}

/** One sentence about a background command's end. */
export const taskSummary = (brief: string, how: string): string => `Background command "${brief}" ${how}`;

/** What somebody else wrote must not look like the end of the text around it. */
const withoutTags = (text: string): string => text.replaceAll(/<(?=\/?[a-z])/gi, '&lt;');
