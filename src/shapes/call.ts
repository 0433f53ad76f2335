import type { CallId, Micros, Sha } from './ids.ts';
import type { Mode } from './permission.ts';
import type { Effect, Outcome } from './effect.ts';
import type { Answer, Prompt } from './prompt.ts';

/** Why something ended before its own end. */
export type Reason =
  | 'user'
  | 'interrupt'
  | 'sibling_error'
  | 'denied'
  | 'unanswered'
  | 'budget'
  | 'deadline'
  | 'shutdown'
  | 'broken';

/** One call of a reply as the workflow knows it; its input stays in the reply node. */
export type CallRef = {
  id: CallId;
  index: number;
  name: string;
  /** May run beside its neighbours. */
  safe: boolean;
  interrupt: 'cancel' | 'block';
  runs: 'host' | 'anywhere';
};

/** A finished result. `body` is a blob with the content of the `tool_result` block; `brief` (at most 200 bytes) is for watchers. */
export type ResultRef = { body: Sha; bytes: number; isError?: boolean; brief: string };

/** What a turn knows of the world between calls. `files`: what the model has read; `fresh`: deltas of the open step. */
export type Ctx = { cwd?: string; mode?: Mode; todos?: Sha; files?: Sha; fresh?: Sha[] };
/** A call's change to the context; `files` is a delta blob. */
export type Patch = { cwd?: string; mode?: Mode; todos?: Sha; files?: Sha };

/** Something to be put into the transcript once, known by its id. `body` is a blob of text. */
export type Note = { id: string; kind: 'prompt' | 'message' | 'task' | 'reminder' | 'hook'; body: Sha };

/** A call that has no result of its own; the activity that seals the step writes its text. */
export type Dropped = { reason: Reason; by?: CallId; text?: string };

/** How a call ended. Exactly one of `result` and `dropped` is there. Absent fields mean none. */
export type Done = {
  patch?: Patch;
  /** A hook asked that the turn ends after this step; the text is its reason. */
  stop?: string;
  /** A person denied the call with `interrupt`: the turn ends. */
  interrupt?: true;
  /** A shell really ran and really failed: its unfinished neighbours are cancelled. */
  aborts?: true;
  notes?: Note[];
  /** Its result tells of the end of this background task: once it is in the transcript, the note of that id is none. */
  told?: string;
  spent?: Micros;
} & ({ result: ResultRef; dropped?: undefined } | { result?: undefined; dropped: Dropped });

/** What the workflow learned since the last pass of a call. */
export type Known = {
  resume?: Sha;
  grant?: Answer;
  outcome?: Outcome;
  alone?: boolean;
  /** The changes of permissions that its hooks asked for are made. */
  updated?: true;
};

export type ToolInput = {
  agent: Sha;
  /** The node that holds the call. */
  reply: Sha;
  step: number;
  call: CallRef;
  pass: number;
  ctx: Ctx;
  rules: Sha;
  /** What the call may spend on its own, on a model that is asked about it; absent: nothing. */
  purse?: Micros;
  known?: Known;
};

/** What one pass came to. `alone`: after a rewrite the call is not safe beside others any more. */
export type ToolResult = { spent?: Micros } & (
  | { kind: 'done'; done: Done }
  | { kind: 'ask'; prompt: Prompt; resume: Sha }
  | { kind: 'effect'; effect: Effect; resume: Sha }
  | { kind: 'alone'; resume: Sha }
  /** Hooks that allowed the call want permissions changed, blob: `HookUpdates[]`. It goes on in the `mode` it was asked in. */
  | { kind: 'update'; updates: Sha; mode: Mode; resume: Sha }
);
