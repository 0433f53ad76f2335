import { parse } from 'unbash';
import { analyse } from '../permissions/bash.ts';
import { programName } from '../permissions/bash-analysis.ts';
import { gitSubcommand } from '../permissions/bash-git.ts';
import { commandReads } from '../permissions/bash-readonly.ts';
import type { BashWord } from '../permissions/bash-words.ts';

/** A command that does nothing but one `git commit`. */
export type GitCommit = {
  /** The options of git itself, such as `-C dir`. */
  git: string[];
  amend: boolean;
  /** The first line of its message, when the command gives it as plain text. */
  subject?: string;
};

/** Reads a command as one `git commit`; undefined for any other, for one that commits nothing, and for one whose words are not all known. */
export function gitCommit(command: string): GitCommit | undefined {
  if (!/\bgit\b[^]*\bcommit\b/.test(command) || !isOneCommand(command)) return undefined;
  const { problem, unclear, commands, redirects, processSubstitution } = analyse(command);
  if (problem !== undefined || unclear.length > 0 || redirects.length > 0 || processSubstitution) return undefined;
  // What stands inside its words comes first, such as the `cat` of a message.
  const inner = commands.slice(0, -1);
  const words = commands.at(-1)?.words ?? [];
  if (programName(words) !== 'git' || !inner.every(commandReads)) return undefined;
  const [name, ...args] = gitSubcommand(words);
  const git = words.slice(1, words.length - args.length - 1).map(textOf);
  if (name === undefined || textOf(name) !== 'commit' || !git.every((text) => text !== undefined)) return undefined;
  const read = readOptions(args);
  return read && { git, ...read };
}

/** Whether bash runs one simple command and nothing before, behind or around it. */
function isOneCommand(command: string): boolean {
  const { commands, errors } = parse(command);
  const [only, ...more] = commands;
  return (
    !errors?.length &&
    more.length === 0 &&
    only?.background !== true &&
    only?.command.type === 'Command' &&
    only.command.prefix.length === 0
  );
}

/** These only say what would be committed. */
const ONLY_SAYS = /^--(?:dr|sho|por|lo|he)|^-[aeinoqsv]*h/;
/** Ends with the message itself, or says that the next word is it. */
const MESSAGE = /^(?:--message=|-[aeinoqsv]*m)/;
const MESSAGE_NEXT = /^(?:--message|-[aeinoqsv]*m)$/;
/** Makes another subject of the message. */
const REWORDS = /^--(?:fix|sq)/;

function readOptions(args: readonly BashWord[]): Omit<GitCommit, 'git'> | undefined {
  let amend = false;
  let rewords = false;
  const messages: (string | undefined)[] = [];
  for (let i = 0; i < args.length; i += 1) {
    const word = args[i]!;
    const text = textOf(word);
    if (text === '--') break;
    if (text !== undefined && MESSAGE_NEXT.test(text)) {
      const message = args[(i += 1)];
      if (message === undefined || message.splits) return undefined;
      messages.push(textOf(message));
    } else if (MESSAGE.test(startOf(word)) && !word.splits) {
      messages.push(text?.replace(MESSAGE, ''));
    } else if (text === undefined || ONLY_SAYS.test(text)) return undefined;
    else if (text.startsWith('--am')) amend = true;
    else if (REWORDS.test(text)) rewords = true;
  }
  const subject = rewords ? undefined : messages[0]?.trim().split('\n', 1)[0]!.trim();
  return { amend, ...(subject === undefined ? {} : { subject }) };
}

const textOf = (word: BashWord): string | undefined => (word.splits ? undefined : word.value);

function startOf({ pieces: [first] }: BashWord): string {
  return first?.kind === 'text' ? first.text : '';
}
