import type { CallRef, Ctx, Done, Note } from './call.ts';
import type { Micros, Sha } from './ids.ts';
import type { Block, Usage } from './message.ts';

export type ModelInput = {
  agent: Sha;
  step: number;
  /** Changes only when the workflow itself asks again; part of the spool's key. */
  try?: number;
  head: Sha | null;
  append?: Note[];
  /** Ends of the calls of the reply at `head`, in call order; null when there is no open step. */
  results?: Done[];
  /** Why the last reply of this step did not end it. */
  after?: 'max_tokens' | 'pause_turn';
  /** Stop hooks that kept this turn going, in a row; absent: none did. */
  stopBlocks?: number;
  ctx: Ctx;
  purse: Micros;
};

/** What one model call came to. `spent` counts lost attempts too. `files`: the fresh deltas folded in. */
export type ModelResult = { spent: Micros; head: Sha | null; files?: Sha } & (
  | { kind: 'calls'; calls: CallRef[]; same: string; cut?: true }
  | { kind: 'answer'; brief: string }
  | { kind: 'again'; why: 'pause_turn' | 'max_tokens' }
  /** A hook keeps the turn going and says why. */
  | { kind: 'again'; why: 'stop_hook'; note: Note }
  | { kind: 'too_long'; text: string }
  | { kind: 'wait'; until: number | null; why: WaitWhy; text: string }
  | { kind: 'over_budget'; need: Micros }
  | { kind: 'stopped'; why: 'hook' | 'refusal'; text?: string }
  | { kind: 'failed'; error: string }
  | { kind: 'cancelled' }
);

/** What a job may wait for at the model's side. */
export type WaitWhy = 'rate_limit' | 'credentials' | 'api';

/** One reply as it was sealed. `cut`: the stream broke off after the last kept block. */
export type Reply = { content: Block[]; stop: string | null; usage: Usage; model: string; cut?: true };

/** A tool as the model sees it. */
export type ToolSchema = { name: string; description: string; input_schema: Record<string, unknown> };

/** A request as our side makes it, before the SDK. */
export type ModelRequest = {
  model: string;
  maxTokens: number;
  system: string;
  tools: ToolSchema[];
  messages: { role: 'user' | 'assistant'; content: Block[] }[];
  /** The tool that the reply has to call. */
  force?: string;
};
