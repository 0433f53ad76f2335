import type { Behavior, Mode } from '../shapes/permission.ts';

/** One path that a call touches. `search` reads and `tree` changes everything below it. Relative paths start at the working directory. */
export type PathUse = { path: string; use: 'read' | 'search' | 'edit' | 'tree' };

/** What a call is about, as its tool says. */
export type CallTraits = {
  access: 'read' | 'edit' | 'bash' | 'fetch' | 'other' | 'none';
  paths: PathUse[];
  command?: string;
  url?: string;
  /** Only a person, or a hook that brings the answer, can let it through. */
  requiresInteraction?: boolean;
  mcp?: { server: string; readOnly: boolean };
  /** The tool's own verdict on this input. */
  check?: { behavior: Behavior; text: string };
};

/** A call whose input its tool accepted. `input` is what the model wrote, before any normalisation. */
export type CheckedCall = {
  tool: string;
  /** Other names that the tool goes by. */
  aliases?: readonly string[];
  input: unknown;
  traits: CallTraits;
  /** The merged answer of the PreToolUse hooks; `answered`: it came with a new input. */
  hook?: { behavior: Behavior; reason: string; answered?: boolean } | undefined;
};

/** A path as it was named (absolute, without `.` and `..`) and where it leads once every link is followed. */
export type ResolvedPath = { path: string; real: string };

/** Where a call happens. All paths are absolute. */
export type PermissionContext = {
  cwd: string;
  /** Where the job started: relative rules and the first working directory. */
  root: string;
  home: string;
  nightshiftHome?: string;
  /** Files and folders that count as protected whatever they are called; the rules bring them. */
  guarded?: readonly string[];
  /** Folders that may be read without asking although they lie elsewhere, such as the job's kept results. */
  readable?: readonly string[];
  /** Nobody said that the folder may bring programs of its own; the rules bring it. */
  untrusted?: boolean;
  /** Bash runs inside a sandbox that makes its commands harmless. */
  sandboxed?: boolean;
  /** The mode the job is in now, when it changed since the rules were taken. */
  mode?: Mode;
  resolve: (path: string) => ResolvedPath;
  /** The names in a folder, so that a wildcard is judged by the links that it finds; without it only by its folder. */
  list?: (folder: string) => readonly string[];
};
