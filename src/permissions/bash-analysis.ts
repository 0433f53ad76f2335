import type { BashWord } from './bash-words.ts';

/** Folders that a command may run in, each as the words of the `cd`s on the way; `unknown` when they can't be told. */
export type Folders = readonly (readonly BashWord[])[] | 'unknown';

/** A simple command that bash may run. */
export type BashCommand = {
  /** `run`: bash runs it itself. `seen`: another program of the command runs it, so it matters for what is forbidden only. */
  role: 'run' | 'seen';
  /** As written, with assignments and redirections. */
  source: string;
  /** Name and arguments; empty for assignments alone. */
  words: readonly BashWord[];
  /** The command itself, then what is left after each transparent wrapper such as `timeout 5`. */
  layers: readonly (readonly BashWord[])[];
  /** Further commands that it would run, such as the one behind `sudo`, or a script that a shell is given. */
  beneath: readonly (readonly BashWord[])[];
  /** Those among all of these that get further words from the input of `xargs`. */
  fed: readonly (readonly BashWord[])[];
  assignments: readonly { raw: string; safe: boolean }[];
  folders: Folders;
  background: boolean;
  /** It runs another program in a way that only an exact rule can approve. */
  exactOnly: boolean;
};

/** A file that bash itself opens. */
export type BashRedirect = { use: 'read' | 'write'; target: BashWord; folders: Folders };

/** What a command line would do, as far as its text tells. */
export type BashAnalysis = {
  command: string;
  /** Why it can't be understood at all: a person must look, in every mode. */
  problem?: string;
  /** Why the programs that it runs are not all known. */
  unclear: readonly string[];
  /** Without tests such as `[[ -f x ]]`, which run nothing. */
  commands: readonly BashCommand[];
  redirects: readonly BashRedirect[];
  /** It has no statement at all. */
  empty: boolean;
  /** It opens pipes to commands by a file name. */
  processSubstitution: boolean;
};

/** The words of what a command really runs, behind its transparent wrappers. */
export function programOf(command: BashCommand): readonly BashWord[] {
  return command.layers.at(-1) ?? command.words;
}

/** The name of a program without the folders in front of it, `undefined` when it is computed. */
export function baseName(words: readonly BashWord[]): string | undefined {
  return programName(words)?.replace(/^.*\//, '');
}

/** The known name of a program, `undefined` when it is computed. */
export function programName(words: readonly BashWord[]): string | undefined {
  const [name] = words;
  return name && !name.splits ? name.value : undefined;
}
