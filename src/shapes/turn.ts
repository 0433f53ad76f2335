import type { CallRef, Ctx, Done, Note, Reason } from './call.ts';
import type { Host } from './host.ts';
import type { Limits } from './limits.ts';
import type { Micros, Sha } from './ids.ts';

/** A step whose calls are not all sealed into the transcript yet; `done` and `early` by call index. */
export type OpenStep = { reply: Sha; calls: CallRef[]; done: Record<number, Done> };

/** All that outlives one run of a turn. */
export type TurnState = {
  head: Sha | null;
  /** Steps of this turn that have a reply. */
  step: number;
  inbox: Note[];
  taken: string[];
  ctx: Ctx;
  open?: OpenStep;
  rules: Sha;
  rulesRev: number;
  purse: Micros;
  spent: Micros;
  /** The same call again and again: its key and how often in a row. */
  same?: { key: string; n: number };
  /** Replies in a row that were cut at the output limit. */
  cuts?: number;
  /** Model requests that the workflow itself asked for again; part of the spool's key. */
  tries?: number;
  /** Why the last reply did not end its step. */
  after?: 'max_tokens' | 'pause_turn';
  /** Stop hooks that kept this turn going, in a row since its last call; absent: none ever did. */
  stopBlocks?: number;
  reason?: Reason;
  rollOver?: boolean;
};

export type TurnInput = {
  v: 1;
  agent: Sha;
  limits: Limits;
  state: TurnState;
  host?: Host;
};

/** Why a turn stopped without an answer. */
export type StopWhy = Reason | 'hook' | 'turns' | 'steps' | 'same_call' | 'refill' | 'refusal';

export type TurnResult = { state: TurnState } & (
  | { kind: 'answer'; answer: Sha; brief: string }
  /** Rolled over: start me again. */
  | { kind: 'more' }
  | { kind: 'stopped'; why: StopWhy; text?: string }
  | { kind: 'failed'; error: string }
);

/** What `turn` answers to the query `turnView`. `yielded`: its result is sealed into the transcript. */
export type TurnView = {
  step: number;
  head: Sha | null;
  open?: OpenStep;
  activity: 'model' | 'tool_exec' | 'prompt' | 'wait';
  calls: { id: string; name: string; state: 'queued' | 'executing' | 'completed' | 'yielded' }[];
  /** An interrupt now would stop everything that runs. */
  interruptible: boolean;
};
