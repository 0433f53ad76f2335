import type { z } from 'zod';
import type { Effect, Outcome } from '../shapes/effect.ts';
import type { Sha } from '../shapes/ids.ts';
import type { ImageBlock, TextBlock } from '../shapes/message.ts';
import type { Mode } from '../shapes/permission.ts';
import type { Files, Search, Shell } from './ports.ts';

/**
 * What the model has read of a file: hash of its bytes at that time; `partial` does not satisfy read-before-write.
 * `via`: `range` when it asked for that part itself, which is enough for an edit; `write` when it knows the file
 * because it wrote it. Absent: it was shown.
 */
export type Seen = { sha: Sha; partial?: true; via?: 'range' | 'write' };

/** The background tasks of a job, also those that have ended. */
export interface TaskFolders {
  /** Folder of its run, and where the model can read its output; undefined when there is no such task. */
  find(id: string): Promise<{ dir: string; outputPath: string } | undefined>;
  ids(): Promise<string[]>;
}

/** The world as a tool gets it: nothing else may be touched by it. */
export interface ToolIo {
  readonly signal: AbortSignal;
  readonly cwd: string;
  /** The job's workspace and its further directories. */
  readonly root: string;
  readonly directories: string[];
  readonly env: Record<string, string>;
  /** Folder of the call's ledger record. */
  readonly dir: string;
  readonly mark: string;
  readonly files: Files;
  readonly search: Search;
  readonly shell: Shell;
  /** Files of bash that are to be run ahead of a command that starts now. Absent: none. */
  readonly setup?: () => Promise<string[]>;
  /** The permission mode now, and the one that the job was started in. */
  readonly mode: Mode;
  readonly jobMode: Mode;
  /** What a person who allowed the call said about it. */
  readonly said?: string;
  /** What the model has read, by real path. */
  readonly seen: ReadonlyMap<string, Seen>;
  /** Whether a rule keeps this file from the model: searches leave it out. Absent: nothing is kept back. */
  readonly hidden?: (path: string) => boolean;
  /** Hash of bytes, as in `Seen`. */
  sha(bytes: Uint8Array | string): Sha;
  /** Writes down what is about to be done. Resolves when it is safe on disk; the effect comes after. */
  claim(fact: unknown): Promise<void>;
  /** Says that this call only waits for its command now, so that a death meanwhile is not the call's; the returned function ends that. */
  waits(): () => Promise<void>;
  /** For watchers: the last few hundred bytes of what is happening. */
  progress(tail: string, bytes: number): void;
  /** The background task that this call may become, and where the model can read its output. */
  readonly task: { id: string; outputPath: string };
  readonly tasks: TaskFolders;
  /** Path, below the job's folder, where a too large output may be kept for the model to read. */
  readonly resultPath: string;
}

/** What a tool hands back; text for the model, never an exception for something the model can act on. */
export type ToolOutput = {
  content: string | (TextBlock | ImageBlock)[];
  isError?: boolean;
  /** New working directory. */
  cwd?: string;
  /** New permission mode. */
  mode?: Mode;
  /** Files that the model now knows, by real path. */
  seen?: Record<string, Seen>;
  /** A shell that really ran and really failed. */
  failedShell?: boolean;
  /** The whole output when `content` is only part of it, already on disk. */
  spilled?: { path: string; bytes: number };
  /** It says of this background task that and how it ended. */
  told?: string;
  /** The call's command goes on in the background: this is the answer once somebody watches it. */
  background?: true;
};

/** How a call that lost its owner stands. */
export type Recovery =
  | { kind: 'done'; output: ToolOutput }
  /** The claim was written, the effect did not happen: run it now. */
  | { kind: 'notDone' }
  | { kind: 'unknown'; check: string }
  | { kind: 'running'; wait: () => Promise<ToolOutput> };

/** What the permission chain has to know of a call; see `src/permissions`. */
export type Access =
  | { kind: 'none' }
  /** `search` reads everything below its paths. */
  | { kind: 'read' | 'search' | 'edit'; paths: string[] }
  | { kind: 'bash'; command: string }
  | { kind: 'fetch'; url: string }
  | { kind: 'other' };

/** Something the model can do. */
export interface Tool<I = unknown> {
  name: string;
  aliases: string[];
  description: string;
  input: z.ZodType<I>;
  /** Only the boolean `true` lets the call run beside its neighbours. */
  isConcurrencySafe(input: I): boolean;
  /** What an interrupt does to a running call. Default `block`: it may end. */
  interrupt: 'cancel' | 'block';
  runs: 'host' | 'anywhere';
  /**
   * Only a person can let it through, whatever mode and rules say; what they add to its input or say is their answer. A
   * hook may stand in for them: to an `approval` a yes is enough, an `answer` has to be in the input.
   */
  asks?: 'approval' | 'answer';
  /** Whether a job that starts in this mode has the tool. Absent: always. */
  offered?: (mode: Mode) => boolean;
  /** Characters of a result that the model gets in place; `Infinity` for tools that bound themselves. */
  maxChars: number;
  /** At most 200 bytes for people: what this call is about. */
  brief(input: I): string;
  access(input: I, cwd: string): Access;
  /** A reason why this input can't be run, for the model; no hook fires. */
  validate?(input: I, io: ToolIo): Promise<string | undefined> | string | undefined;
  /** Asks the workflow to do it instead of running; called again with the outcome. */
  effect?(input: I): Effect;
  afterEffect?(input: I, outcome: Outcome): ToolOutput;
  run?(input: I, io: ToolIo): Promise<ToolOutput>;
  /** After a dead owner that had claimed. Absent: it has no side effect and runs again. */
  recover?(claim: unknown, input: I, io: ToolIo): Promise<Recovery>;
}

/** Finds a tool by its name, then by alias. */
export interface Registry {
  get(name: string): Tool | undefined;
  list(): readonly Tool[];
}
