import type { Hook, HookRun } from '../shapes/hook.ts';
import type { JobRecord } from '../shapes/job.ts';
import type { Message, NodeMeta, TranscriptNode, Usage } from '../shapes/message.ts';
import type { JobEvent } from '../shapes/event.ts';
import type { Micros, Sha } from '../shapes/ids.ts';
import type { ModelRequest, Reply, WaitWhy } from '../shapes/model.ts';

/** Content-addressed blobs of one job. `put` returns after the bytes are safe on disk; `get` checks the hash. */
export interface Blobs {
  put(bytes: Uint8Array | string): Promise<Sha>;
  /** @throws StoreError `missing` or `corrupt`, with path and remedy. */
  get(sha: Sha): Promise<Uint8Array>;
  has(sha: Sha): Promise<boolean>;
}

/** The conversation: append is idempotent (equal nodes are one), load costs what is new since the last load of this process. */
export interface Transcript {
  append(parent: Sha | null, message: Message, meta: NodeMeta): Promise<Sha>;
  read(node: Sha): Promise<TranscriptNode>;
  /** From the first node to `head`, in order. */
  load(head: Sha | null): Promise<readonly TranscriptNode[]>;
}

/** `events.jsonl`: appended whole lines, never awaited for durability. */
export interface Events {
  write(event: JobEvent): void;
  /** Resolves when what was written is in the file. */
  flush(): Promise<void>;
}

/** What an owner of a call left behind. `corrupt`: a fact was there and can't be read. */
export type Previous = { owners: number; claim?: unknown; ran?: unknown; corrupt?: true };

/** A call that this process owns. The facts are written by rename, each at most once. */
export interface OwnedCall {
  /** Absolute folder of the call. */
  readonly dir: string;
  readonly owners: number;
  readonly previous?: Previous;
  /** Before its effect: enough to find out later whether it happened. */
  claim(value: unknown): Promise<void>;
  /** After its effect: what it came to, before others had their say about it. */
  ran(value: unknown): Promise<void>;
  result(value: unknown): Promise<void>;
  /** From here on this owner only waits for a process that lives without it. The returned function says that it acts again. */
  waits(): () => Promise<void>;
  /** Gives the call back. Without a result (somebody must be waited for) the next pass starts clean. */
  release(): Promise<void>;
}
export type Ownership =
  | { kind: 'owned'; call: OwnedCall }
  /** Another pass of a living process has it: its result. */
  | { kind: 'joined'; result: Promise<unknown> }
  | { kind: 'done'; result: unknown }
  /** This many owners died in it, too many of them while they acted. */
  | { kind: 'exhausted'; owners: number };

/** Per-call record of how far a call got, so that nobody does it a second time. Keys: `callDir`. */
export interface Ledger {
  own(key: string, signal: AbortSignal): Promise<Ownership>;
  /** The recorded result, if there is one. */
  resultOf(key: string): Promise<unknown>;
}

/** How a command ended. `cwd`: where it was at its end, if it told. */
export type ShellExit = {
  code: number | null;
  signal?: string;
  why: 'exit' | 'deadline' | 'size' | 'killed';
  cwd?: string;
  /** What the files that were to be run ahead of it complained about. */
  setup?: string;
};
export type ShellSpec = {
  command: string;
  cwd: string;
  env: Record<string, string>;
  timeoutMs: number;
  maxBytes: number;
  /** Value of NIGHTSHIFT_CALL in the environment of every process of the command. */
  mark: string;
  /** Files of bash that are run in its shell ahead of it, in this order. The command runs whatever becomes of them. */
  setup?: readonly string[];
};
/** A command under its supervisor. */
export interface ShellRun {
  readonly outputPath: string;
  /** How long ago it was started, in ms. */
  ageMs(): number;
  /** Waits for its end; an abort of the signal stops the waiting, not the command. */
  exit(signal: AbortSignal, onProgress?: (tail: string, bytes: number) => void): Promise<ShellExit>;
  /** Resolves when the whole tree is dead. */
  kill(): Promise<void>;
}
export type Adoption =
  | { kind: 'running'; run: ShellRun }
  | { kind: 'ended'; exit: ShellExit; outputPath: string }
  /** The supervisor is gone and left no exit: nobody knows how it ended. */
  | { kind: 'gone'; outputPath: string }
  | { kind: 'never-started' };
/** Commands that outlive the worker; `dir` is the call's folder. */
export interface Shell {
  start(dir: string, spec: ShellSpec): Promise<ShellRun>;
  adopt(dir: string): Promise<Adoption>;
  /** Makes the folder of a run that is `gone` ready for another one. */
  forget(dir: string): Promise<void>;
  /** Makes a command's output readable at another path too, while it grows and afterwards; repeating it is harmless. */
  publish(outputPath: string, path: string): Promise<void>;
  /** At most `headBytes` from the start and `tailBytes` from the end, as text; what lies between is left out. */
  readOutput(
    path: string,
    limits: { headBytes: number; tailBytes: number },
  ): Promise<{ head: string; tail: string; bytes: number; missing?: true }>;
  /** What git answers to a question about a repository; undefined when it fails. It runs without a supervisor, for a moment. */
  askGit(args: readonly string[], place: { cwd: string; env: Record<string, string> }): Promise<string | undefined>;
}

export type FileStat = { kind: 'file' | 'directory' | 'other'; bytes: number; mtimeMs: number; mode: number };
/** Files of the workspace's host. Paths are absolute. Errors carry Node's `code`. */
export interface Files {
  read(path: string): Promise<Uint8Array>;
  /** `undefined` when there is nothing. Follows links. */
  stat(path: string): Promise<FileStat | undefined>;
  /** Atomic (temp file, fsync, rename); follows a link to its target, keeps the mode, makes missing folders. */
  write(path: string, bytes: Uint8Array | string): Promise<void>;
  list(path: string): Promise<string[]>;
  /** Names in a folder, at once; none where there is no folder that can be read. */
  names(path: string): string[];
  /** The path with every link resolved; of what does not exist, the deepest existing parent is resolved. */
  real(path: string): string;
}

export type SearchRun = { code: number | null; lines: string[]; stderr: string; truncated: boolean; timedOut: boolean };
/** ripgrep on the workspace's host: no configuration file, no shell. Stops by itself past `maxBytes` or `timeoutMs`. */
export interface Search {
  rg(
    args: string[],
    options: { cwd: string; signal: AbortSignal; timeoutMs: number; maxBytes: number },
  ): Promise<SearchRun>;
}

/** How a model request ended. Trouble with the API is a value. `spent` counts what lost attempts cost. */
export type ModelOutcome = { spent: Micros } & (
  | { kind: 'reply'; reply: Reply; fromSpool: boolean }
  | { kind: 'wait'; until: number | null; why: WaitWhy; text: string }
  | { kind: 'too_long'; text: string }
  | { kind: 'over_budget'; need: Micros }
  | { kind: 'failed'; error: string }
  | { kind: 'cancelled' }
);
export interface ModelIo {
  /** What the request may cost at most. */
  purse: Micros;
  signal: AbortSignal;
  /** Absolute folder of the spool of this request. */
  spool: string;
  /**
   * Names this asking: the same when it is repeated because its completion was lost, another one whenever the workflow
   * asks anew (run id and activity id). With it every outcome reports what it cost, exactly once.
   */
  asking?: string;
  prices?: unknown;
  onText(text: string, thinking: boolean): void;
  /** Any sign of life from the API. */
  onActivity(): void;
  /** Attempts begun so far for this spool, this one included. */
  onAttempt(attempt: number): void;
}
/** The model's API. The only door to it: whoever asks a model pays through here. */
export interface ModelClient {
  request(request: ModelRequest, io: ModelIo): Promise<ModelOutcome>;
  /** What an asking cost of which no outcome came back, in micro-dollars; `spool` and `asking` as in `ModelIo`. */
  costOfLost(spool: string, asking: string): Promise<Micros>;
  cost(model: string, usage: Usage, at: number, prices?: unknown): Micros | undefined;
}

/** What a handler is run with. `env` is its whole environment. */
export type HookJob = {
  /** JSON: the standard input of a command, the body of a request. */
  input: string;
  cwd: string;
  /** The job's workspace. */
  projectDir: string;
  env: Record<string, string>;
  /** Value of NIGHTSHIFT_CALL in the environment of all its processes. */
  mark: string;
  timeoutMs: number;
  /** Its abort kills the handler with all that it started. */
  signal: AbortSignal;
};
/** Handlers that a user has written for events of a job. */
export interface HookRunner {
  /** Runs one to its end; what goes wrong with it is part of the answer. */
  run(hook: Hook, job: HookJob): Promise<HookRun>;
  /** Kills every process whose mark begins so. */
  kill(mark: string): Promise<void>;
}

/** What became of rules that were to be kept in a workspace's settings. `added`: those that were not there before. */
export type SavedRules =
  | { kind: 'saved'; file: string; added: string[] }
  | { kind: 'refused'; file: string; why: string };

/** Whether somebody got a message; `text` says what the other side said. */
export type Delivery = { ok: boolean; text: string };

/** Everything of one job on this host. */
export interface JobFiles {
  readonly id: string;
  /** Absolute. */
  readonly dir: string;
  readonly blobs: Blobs;
  readonly transcript: Transcript;
  readonly ledger: Ledger;
  readonly events: Events;
  writeRecord(record: JobRecord): Promise<void>;
  removeRecord(): Promise<void>;
  /** An empty file for what the SessionStart hook of this number has to say to the job's commands; its absolute path. */
  emptyEnvFile(hook: number): Promise<string>;
  /** All such files that hold something, in the order of their hooks. */
  envFiles(): Promise<string[]>;
  /** Keeps a large result for the model to read; returns its absolute path. */
  keepResult(relative: string, bytes: Uint8Array | string): Promise<string>;
}
