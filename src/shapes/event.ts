import type { HookDecision, HookEvent, HookOutcome } from './hook.ts';
import type { Usage } from './message.ts';
import type { Micros } from './ids.ts';
import type { JobStatus, JobWhy } from './job.ts';
import type { TaskEntry, TaskStatus } from './task.ts';
import type { Behavior, DecisionReason } from './permission.ts';

/** How a call ended, as seen from outside. `adopted`: a later owner waited for the running command; `probed`: a later owner found the effect done. */
export type CallOutcome = 'ok' | 'error' | 'denied' | 'cancelled' | 'unknown' | 'adopted' | 'probed';

/** Where in a job something happened; turns and steps count from 1. */
export type Place = { turn: number; step: number };
export type CallPlace = Place & { index: number };

/**
 * What watchers see, one JSON line each in `events.jsonl`, written by activities at least once: a reader takes the last
 * of several equal ones. `at` is in milliseconds since the epoch.
 */
export type JobEvent = { at: number } & (
  | { kind: 'job.opened'; title: string; dir: string; model: string; mode: string; warnings: string[] }
  | { kind: 'job.waiting'; why: JobWhy; until: number | null; text: string }
  | { kind: 'job.resumed' }
  | { kind: 'job.closed'; status: JobStatus; why?: JobWhy; error?: string; spent: Micros }
  /** `input`: the beginning of what people wrote; of other inputs, and in older files of all, only the kind. */
  | { kind: 'turn.started'; turn: number; input: string }
  /** What a person wrote into a running turn, when the model gets it: its beginning. `id`: of the note. */
  | ({ kind: 'message.taken'; id: string; text: string } & Place)
  /** Without an answer, while the job stays open. Other ends are told by the last `model.ended` or by `job.closed`. */
  | { kind: 'turn.ended'; turn: number; how: 'interrupted' | 'stopped'; brief: string }
  | ({ kind: 'model.started'; attempt: number } & Place)
  | ({ kind: 'model.text'; text: string; thinking?: true } & Place)
  | ({
      kind: 'model.ended';
      text: string;
      calls: { index: number; id: string; name: string; brief: string; safe: boolean; input: unknown }[];
      stop: string | null;
      usage: Usage;
      spent: Micros;
      cut?: true;
    } & Place)
  | ({ kind: 'model.failed'; error: string; until: number | null; spent: Micros } & Place)
  | ({ kind: 'call.started'; id: string; name: string; brief: string; owner: number } & CallPlace)
  | ({ kind: 'call.decided'; behavior: Behavior; reason: DecisionReason; text: string } & CallPlace)
  /** What a small model found about a call that nothing else decides; `fits`: the description that covers it. */
  | ({ kind: 'call.described'; model: string; fits: string | null; text: string; spent: Micros } & CallPlace)
  | ({ kind: 'call.asked'; key: string; text: string; suggestions: string[] } & CallPlace)
  | ({ kind: 'call.progress'; text: string; bytes: number } & CallPlace)
  | ({
      kind: 'call.ended';
      isError: boolean;
      outcome: CallOutcome;
      bytes: number;
      preview: string;
      path?: string;
      /** A cancelled call that never began. */
      dropped?: string;
    } & CallPlace)
  /** A call's command goes on in the background. */
  | ({ kind: 'task.started'; id: string; task: TaskEntry['kind']; brief: string; outputFile: string } & CallPlace)
  /** A handler of a hook has ended; turn, step and index as far as the event has them. */
  | ({
      kind: 'hook.ended';
      event: HookEvent;
      hook: string;
      status: HookOutcome['status'];
      ms: number;
      decision?: HookDecision;
      text?: string;
    } & Partial<CallPlace>)
  | { kind: 'task.ended'; id: string; status: TaskStatus; exitCode: number | null; summary: string }
  | { kind: 'prompt.opened'; id: string; key: string; tool: string; brief: string; since: number }
  /** The question needs no answer any more. */
  | { kind: 'prompt.withdrawn'; id: string; text: string }
  /** A step of the ladder has told somebody of a question, or could not. `rung` counts from 0. */
  | { kind: 'prompt.told'; id: string; rung: number; to: string; ok: boolean; text: string }
  /** What a person allowed is kept in a settings file; no rules: that could not be done, and `text` says why. */
  | { kind: 'rules.saved'; id: string; file: string; rules: string[]; text?: string }
  | { kind: 'prompt.answered'; id: string; behavior: string; used: boolean; by?: string; message?: string }
  /** So many events could not be written and are missing at this place. */
  | { kind: 'events.lost'; lines: number; error: string }
);
