import { parse } from 'unbash';
import type { BashAnalysis } from './bash-analysis.ts';
import { walkScript } from './bash-walk.ts';

/** Characters that a command may have at most before it is no longer analysed. */
export const longestCommand = 10_000;

/** Control and format characters, and every space but the plain one, tab and line end. */
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;

/** Reads a command line as bash would. Never throws; what it can't read is a `problem`. */
export function analyse(command: string): BashAnalysis {
  const nothing = { command, unclear: [], commands: [], redirects: [], empty: true, processSubstitution: false };
  if (command.length > longestCommand)
    return { ...nothing, problem: `the command is longer than ${longestCommand} characters` };
  if (invisible.test(command.replaceAll(/[\t\n]/g, '')))
    return { ...nothing, problem: 'the command holds invisible or control characters' };
  if (/\$'(?:[^'\\]|\\[^\n])*\\\n/.test(command))
    return { ...nothing, problem: "the command continues a line inside $'…'" };
  try {
    return { command, ...walkScript(parse(command), command) };
  } catch {
    return { ...nothing, problem: 'the command is nested too deeply to be read' };
  }
}
