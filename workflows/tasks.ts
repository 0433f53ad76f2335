import { condition, getExternalWorkflowHandle, log, patched, setHandler } from '@temporalio/workflow';
import { taskWorkflowId } from '../src/core/paths.ts';
import type { Note } from '../src/shapes/call.ts';
import type { JobState } from '../src/shapes/job.ts';
import type { TaskEnd, TaskEntry } from '../src/shapes/task.ts';
import { endNow, taskEnded, taskStarted } from './messages.ts';
import { TASKS_END_LIMIT } from './steps.ts';

/** Ended tasks that a job remembers. */
const KEPT = 100;

/** The background work of a job. */
export type Tasks = {
  running(): TaskEntry[];
  /** Ends what runs, and waits until it has ended, though not for ever. */
  end(): Promise<void>;
};

/** Registers the doors by which tasks tell of their start and end. `tell` gets each note for the model, once; none of a task of whose end it knows. */
export function listenToTasks(job: string, s: JobState, tell: (note: Note) => void): Tasks {
  let ending = false;
  setHandler(taskStarted, (entry) => {
    s.tasks[entry.id] ??= entry;
  });
  setHandler(taskEnded, ({ id, status, note }: TaskEnd) => {
    const entry = s.tasks[id];
    if (entry?.status !== 'running') return; // told before, or given up
    entry.status = status;
    entry.endedAt = Date.now();
    // What the job ends itself is no news for its model, as long as the job is not opened again.
    if (entry.told && patched('told-task')) delete entry.told;
    else if (ending && status === 'stopped') entry.untold = note;
    else tell(note);
    forget();
  });
  return { running, end };

  function running(): TaskEntry[] {
    return Object.values(s.tasks).filter((entry) => entry.status === 'running');
  }

  async function end(): Promise<void> {
    ending = true;
    for (const entry of running()) void endOne(entry);
    await condition(() => running().length === 0, TASKS_END_LIMIT);
    for (const entry of running()) lose(entry, 'it did not end in time');
    ending = false;
  }

  async function endOne(entry: TaskEntry): Promise<void> {
    try {
      await getExternalWorkflowHandle(taskWorkflowId(job, entry.id)).signal(endNow);
    } catch (error) {
      // Nobody watches it any more. One that has just ended has told so before.
      if (entry.status === 'running') lose(entry, String(error));
    }
  }

  function lose(entry: TaskEntry, error: string): void {
    log.warn('a background task was given up', { task: entry.id, error });
    entry.status = 'lost';
    entry.endedAt = Date.now();
  }

  function forget(): void {
    const ended = Object.values(s.tasks).filter((entry) => entry.status !== 'running');
    for (const { id } of ended.slice(0, -KEPT)) delete s.tasks[id];
  }
}

/** A job that is opened again tells its model what became of the background work that its end stopped. */
export function tellUntold(s: JobState): void {
  for (const entry of Object.values(s.tasks)) {
    if (entry.untold) s.queue.push(entry.untold);
    delete entry.untold;
  }
}
