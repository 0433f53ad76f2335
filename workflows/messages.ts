import { defineQuery, defineSignal } from '@temporalio/workflow';
import type { Note, Reason } from '../src/shapes/call.ts';
import type { Sha } from '../src/shapes/ids.ts';
import type { JobView } from '../src/shapes/job.ts';
import type { Limits } from '../src/shapes/limits.ts';
import type { WaitWhy } from '../src/shapes/model.ts';
import type { Mode } from '../src/shapes/permission.ts';
import type { Answer, Prompt } from '../src/shapes/prompt.ts';
import type { TaskEnd, TaskEntry } from '../src/shapes/task.ts';
import type { TurnView } from '../src/shapes/turn.ts';

// The job: the only door for people. Signals, because all of it must work with no worker alive.
export const answerPermission = defineSignal<[Answer]>('answerPermission');
export const send = defineSignal<[Note]>('send');
/** `now`: calls that block are stopped too. `press`: names this one, where the turn is told directly as well. */
export const interrupt = defineSignal<[{ now?: boolean; press?: string }]>('interrupt');
export const extend = defineSignal<[Partial<Limits>]>('extend');
/** Continue as new at the next quiet point. */
export const rollOver = defineSignal('rollOver');
/** What was waited for may be there: credentials, a host. */
export const wake = defineSignal('wake');
export const view = defineQuery<JobView>('view');

// The job, from its own workflows.
export const prompted = defineSignal<[Prompt]>('prompted');
/** Nobody waits for the answer to that prompt any more, by its key; `text` says why. */
export const withdrawn = defineSignal<[{ key: string; text: string }]>('withdrawn');
/** A turn waits for longer than a moment, or waits no more; `host` comes from a worker of another host. */
export const waiting = defineSignal<[{ why: WaitWhy | 'host'; until: number | null; text: string } | null]>('waiting');
/** Hooks that allowed a call want permissions changed. */
export const updated = defineSignal<[PermissionsUpdated]>('updated');
export const taskStarted = defineSignal<[TaskEntry]>('taskStarted');
export const taskEnded = defineSignal<[TaskEnd]>('taskEnded');

/** Blob of `HookUpdates[]`, and the call whose hooks they are. */
export type PermissionsUpdated = { updates: Sha; turn: number; step: number; index: number };

// A task, from its job. A signal, because a cancel of a task that is gone would look like a success.
export const endNow = defineSignal('endNow');

// A turn, from its job; `stop` also from people, while no worker is there to pass it on.
export const answer = defineSignal<[Answer]>('answer');
export const note = defineSignal<[Note]>('note');
/** `mode`: the job goes on in that one. */
export const rules = defineSignal<[{ sha: Sha; rev: number; mode?: Mode }]>('rules');
export const stop = defineSignal<[{ why: Reason; now?: boolean; press?: string }]>('stop');
export const turnView = defineQuery<TurnView>('turnView');
