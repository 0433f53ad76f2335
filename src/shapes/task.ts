import type { Host } from './host.ts';
import type { Note } from './call.ts';
import type { Micros } from './ids.ts';

/** How background work stands. `stopped`: somebody ended it; `lost`: nobody knows how it ended. */
export type TaskStatus = 'running' | 'completed' | 'failed' | 'stopped' | 'lost';

/** Background work as its job knows it. Times in milliseconds since the epoch. */
export type TaskEntry = {
  id: string;
  kind: 'shell';
  status: TaskStatus;
  /** At most 200 bytes: what it is about. */
  brief: string;
  startedAt: number;
  endedAt?: number;
  /** The result of a call has told the model of its end, which the job has not heard of yet. */
  told?: true;
  /** Its end when the job itself brought it about: told when the job is opened again. */
  untold?: Note;
};

/** What the workflow `task` works with; job and task are in its workflow id. */
export type TaskInput = { v: 1; brief: string; host?: Host };

/** The end of a task as its job is told of it. `note`: for the model, once. */
export type TaskEnd = { id: string; status: Exclude<TaskStatus, 'running'>; note: Note; spent?: Micros };
