import { z } from 'zod';
import type { Note } from './call.ts';
import { Hook } from './hook.ts';
import type { Host } from './host.ts';
import { JobId, type Micros, type Sha } from './ids.ts';
import { LadderStep } from './ladder.ts';
import { Limits } from './limits.ts';
import { PriceOverride } from './price.ts';
import type { Answer, AnswerRecord, OpenPrompt } from './prompt.ts';
import { Rules } from './permission.ts';
import type { TaskEntry } from './task.ts';
import type { OpenStep, TurnState } from './turn.ts';
import type { WaitWhy } from './model.ts';

/** A job's settings, taken once when it starts: nothing that happens to files later changes them. */
export const JobConfig = z.object({
  v: z.literal(1),
  id: JobId,
  title: z.string(),
  /** Absolute path of the workspace. */
  dir: z.string(),
  model: z.string(),
  /** Output tokens of one reply at most. */
  maxTokens: z.int().positive().optional(),
  appendSystemPrompt: z.string().optional(),
  rules: Rules,
  limits: Limits,
  onLimit: z.enum(['end', 'ask']),
  /** Stay open for `send` when the work is done. */
  stay: z.boolean(),
  siblingAbort: z.enum(['bash', 'off']),
  /** In the order of their settings, the strongest first; what an untrusted folder brings is not among them. */
  hooks: z.array(Hook).default([]),
  /** What happens while a question waits, in the order of time; empty: it waits for ever. */
  ladder: z.array(LadderStep).default([]),
  /** Commands that need no question when a small model finds one of these descriptions to fit. */
  allowDescribed: z.array(z.string()).default([]),
  /** The model that is asked about them. */
  classifierModel: z.string().optional(),
  /** Job variables: from the settings' `env` blocks and the shell of `run` or `start`. */
  env: z.record(z.string(), z.string()),
  /** Prices that a user gave, by model. */
  prices: PriceOverride.optional(),
  warnings: z.array(z.string()),
});
export type JobConfig = z.infer<typeof JobConfig>;

/** What every request of a job has in common, written once when it opens. */
export type Agent = {
  model: string;
  maxTokens: number;
  system: string;
  /** Instruction files, sent ahead of the first prompt. */
  memory: string;
  tools: { name: string; description: string; input_schema: Record<string, unknown> }[];
  dir: string;
  env: Record<string, string>;
  siblingAbort: 'bash' | 'off';
  prices?: unknown;
  /** As they were when the job opened; absent: none. */
  hooks?: Hook[];
  /** What a small model may find a command to fall under; absent: nothing. */
  described?: { descriptions: string[]; model: string };
};

export type JobInput = {
  v: 1;
  config: Sha;
  /** First inputs; empty when `from` has them. */
  inputs: Note[];
  /** From `resume`, `send` to a closed job, or continue-as-new. */
  from?: JobState;
  /** Continue-as-new: the job is open already. */
  continued?: true;
};

/** All that outlives one run of a job. */
export type JobState = {
  v: 1;
  head: Sha | null;
  /** Number of the last turn that was started; numbers never repeat in a job. */
  turn: number;
  /** That turn has not answered: it goes on when the job does. */
  turnOpen: boolean;
  /** Nothing to do and not to be closed: waits for `send`. */
  idle: boolean;
  agent: Sha;
  rules: Sha;
  rulesRev: number;
  limits: Limits;
  onLimit: 'end' | 'ask';
  stay: boolean;
  spent: Micros;
  steps: number;
  queue: Note[];
  /** Background work by id: what runs, and the last that ended. */
  tasks: Record<string, TaskEntry>;
  prompts: OpenPrompt[];
  /** How many prompts were ever asked. */
  asked: number;
  /** Answers to prompts that are not known yet. */
  early: Answer[];
  answers: AnswerRecord[];
  /** Of the last turn: context, open step and counters go on. */
  last?: TurnState;
  answer?: { node: Sha; brief: string };
  /** Hooks want to hear of each question. */
  notifies?: true;
  /** What happens while a question waits; absent: it waits for ever. */
  ladder?: LadderStep[];
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** Where its activities run; absent where all workers of the home are on one machine. */
  host?: Host;
};

/** What `openJob` finds out; the rest of the state is as it was. */
export type OpenResult =
  | {
      kind: 'opened';
      fresh:
        | Pick<JobState, 'agent' | 'rules' | 'limits' | 'onLimit' | 'stay' | 'notifies' | 'ladder' | 'host'>
        | Record<string, never>;
      /** What hooks have to say to the model ahead of the first input. */
      notes?: Note[];
    }
  /** A hook wants the job not to begin. */
  | { kind: 'stopped'; why: 'hook'; text: string; fresh: Extract<OpenResult, { kind: 'opened' }>['fresh'] }
  | { kind: 'failed'; error: string };

export const JobStatus = z.enum(['running', 'waiting', 'idle', 'done', 'failed', 'stopped', 'cancelled']);
export type JobStatus = z.infer<typeof JobStatus>;

/** Why a job waits, stopped or failed. */
export type JobWhy =
  | WaitWhy
  | 'permission'
  /** Runs on until what can't be stopped has ended. */
  | 'interrupting'
  | 'host'
  | 'limit'
  | 'turns'
  | 'steps'
  | 'usd'
  | 'deadline'
  | 'hook'
  | 'refusal'
  | 'same_call'
  | 'refill'
  | 'denied'
  | 'error';

export type JobEnd = { status: Exclude<JobStatus, 'running' | 'waiting'>; why?: JobWhy; error?: string };

/** What `job` answers to the query `view`. */
export type JobView = {
  status: JobStatus;
  why?: JobWhy;
  /** What it waits for, in a sentence. */
  text?: string;
  until?: number;
  turn?: string;
  /** The transcript as it was when no turn ran; a running turn has its own, see `TurnView`. */
  head: Sha | null;
  open?: OpenStep;
  prompts: OpenPrompt[];
  tasks: TaskEntry[];
  queue: number;
  spent: Micros;
  limits: Limits;
  answers: AnswerRecord[];
};

/** What a job shows of itself in the server's list, readable with no worker up. Written only when the status changes. */
export type JobMemo = {
  title: string;
  dir: string;
  status: JobStatus;
  why?: JobWhy;
  text?: string;
  until?: number;
  /** Milliseconds since the epoch. */
  updatedAt: number;
  prompts: { id: string; key: string; tool: string; body: Sha; since: number }[];
  asked: number;
  host?: Host;
};

/** `record.json`: what is left of a job when the server has forgotten it. */
export type JobRecord = {
  v: 1;
  id: string;
  config: Sha;
  status: JobEnd['status'];
  why?: JobWhy;
  error?: string;
  result: string;
  startedAt: number;
  endedAt: number;
  state: JobState;
};
