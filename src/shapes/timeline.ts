import type { CallOutcome, CallPlace } from './event.ts';
import type { HookDecision, HookEvent, HookOutcome } from './hook.ts';
import type { Micros } from './ids.ts';
import type { JobStatus, JobWhy } from './job.ts';
import type { TaskEntry } from './task.ts';
import type { Usage } from './message.ts';
import type { Behavior, DecisionReason } from './permission.ts';

/** `queued`: asked for; `executing`: a process has it; `completed`: it has a result; `yielded`: the model has the result. */
export type CallState = 'queued' | 'executing' | 'completed' | 'yielded';

/** One call as far as it is known; times in milliseconds since the epoch. */
export type TimelineCall = {
  index: number;
  id: string;
  name: string;
  brief: string;
  input?: unknown;
  state: CallState;
  /** How many processes had it. */
  owners: number;
  /** Absent for a call that was never decided. */
  decision?: { behavior: Behavior; reason: DecisionReason; text: string };
  startedAt?: number;
  endedAt?: number;
  end?: { isError: boolean; outcome: CallOutcome; bytes: number; preview: string; path?: string };
  /** What it cost to ask a small model about it. */
  described?: Micros;
  /** The open question to a person. */
  asked?: { key: string; text: string; suggestions: string[]; since: number };
  /** The last that was seen of a running call. */
  progress?: { text: string; bytes: number; at: number };
};

/** One reply of the model; `ids`: of its calls. */
export type TimelineReply = {
  text: string;
  stop: string | null;
  usage: Usage;
  spent: Micros;
  cut: boolean;
  ids: string;
};

/** One step: usually one reply, more when a reply was cut at a limit and went on. */
export type TimelineStep = {
  n: number;
  /** What people wrote into the turn before this step; `id`: of the note. */
  messages: { id: string; text: string }[];
  replies: TimelineReply[];
  failures: { at: number; error: string; until: number | null; spent: Micros }[];
  calls: TimelineCall[];
  /** The request that runs now, with what the model has said so far. */
  live?: { attempt: number; since: number; text: string; thinking: string };
  /** The results are with the model. */
  sealed: boolean;
};

/** `status`: `running`, `answered`, or how else it ended. */
export type TimelineTurn = {
  n: number;
  status: string;
  input: string;
  startedAt: number;
  endedAt?: number;
  steps: TimelineStep[];
};

/** Background work as its events tell it; `summary` says how it ended. */
export type TimelineTask = Omit<TaskEntry, 'untold'> & {
  outputFile: string;
  exitCode?: number | null;
  summary?: string;
};

/** A handler of a hook that decided or said something, or did not work; its place as far as the event has one. */
export type TimelineHook = {
  at: number;
  event: HookEvent;
  hook: string;
  status: HookOutcome['status'];
  decision?: HookDecision;
  text?: string;
} & Partial<CallPlace>;

/** A job as its events tell it. */
export type Timeline = {
  title?: string;
  dir?: string;
  model?: string;
  mode?: string;
  warnings: string[];
  status: JobStatus;
  why?: JobWhy;
  error?: string;
  /** What the job waits for, `until` in milliseconds since the epoch. */
  waiting?: { why: JobWhy; until: number | null; text: string; since: number };
  /** Questions that nobody has answered yet. */
  prompts: { id: string; key: string; tool: string; brief: string; since: number }[];
  turns: TimelineTurn[];
  /** Background work, in the order of its start. */
  tasks: TimelineTask[];
  hooks: TimelineHook[];
  /** Events that could not be written. */
  lost: number;
};
