import { byteLength, formatBytes } from '../core/preview.ts';
import type { Shell, ShellExit } from '../core/ports.ts';
import type { ToolOutput } from '../core/tool.ts';
import { exitIsFine } from './exit-is-fine.ts';
import { countText, numberText } from './text.ts';

/** What of a successful command's output is taken at most, in bytes. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
/** What of a failed command's output is shown, in characters: half from its start, half from its end when it is longer. */
const FAILURE_CHARS = 10_000;
const MAX_UTF8_BYTES = 4;

/** A command and the limits it ran under. */
export type Ran = { command: string; timeoutMs: number; maxBytes: number };

/** A result that is all text. */
export type ShellReport = ToolOutput & { content: string };

/** What the model is told of a command that ended: its output when it did well, else how it ended and both ends of its output. */
export async function shellReport(shell: Shell, outputPath: string, ran: Ran, exit: ShellExit): Promise<ShellReport> {
  if (exit.why === 'exit' && exit.code !== null && exitIsFine(ran.command, exit.code)) {
    return { content: await wholeOutput(shell, outputPath) };
  }
  return {
    content: failureText(ran, exit, await bothEnds(shell, outputPath)),
    isError: true,
    // A command that somebody killed has not failed by itself.
    ...(exit.why !== 'killed' && { failedShell: true }),
  };
}

/** What was seen of a command that was killed or lost; `how` says what became of it. */
export async function unfinishedText(shell: Shell, outputPath: string, how: string): Promise<string> {
  return soFar(how, await bothEnds(shell, outputPath));
}

/** The whole of what a failed command's result says. */
function failureText(ran: Ran, exit: ShellExit, output: string): string {
  switch (exit.why) {
    case 'exit': {
      const code = `Exit code ${exit.code}${exit.signal === undefined ? '' : ` (ended by ${exit.signal})`}`;
      return output === '' ? code : `${code}\n${output}`;
    }
    case 'deadline': {
      const limit = `${numberText(ran.timeoutMs / 1000)} s, its time limit`;
      return soFar(
        `The command was killed after ${limit}; it may have acted. Give it more time with timeout, or split it.`,
        output,
      );
    }
    case 'size': {
      const limit = formatBytes(ran.maxBytes);
      return soFar(
        `The command was killed because its output passed ${limit}; it may have acted. Print less, or into a file.`,
        output,
      );
    }
    case 'killed':
      return soFar('The command was killed from outside; it may have acted.', output);
    default:
      return exit.why satisfies never;
  }
}

function soFar(how: string, output: string): string {
  return output === '' ? `${how} It had printed nothing.` : `${how} It had printed:\n${output}`;
}

async function wholeOutput(shell: Shell, path: string): Promise<string> {
  const { head, bytes, missing } = await shell.readOutput(path, { headBytes: MAX_OUTPUT_BYTES, tailBytes: 0 });
  if (missing) return '[What this command printed is gone: its file was removed.]';
  const text = head.replace(/\n+$/, '');
  if (bytes <= MAX_OUTPUT_BYTES) return text;
  return `${text}\n[Only the first ${formatBytes(MAX_OUTPUT_BYTES)} of ${formatBytes(bytes)} are kept.]`;
}

/** A failed command's output, the middle left out when it is long. */
async function bothEnds(shell: Shell, path: string): Promise<string> {
  const half = FAILURE_CHARS / 2;
  const limit = half * MAX_UTF8_BYTES;
  const { head, tail, bytes } = await shell.readOutput(path, { headBytes: limit, tailBytes: limit });
  const text = (head + tail).replace(/\n+$/, '');
  // Nothing lies between head and tail when the file is no larger than both.
  const isWhole = bytes <= limit * 2;
  if (isWhole && text.length <= FAILURE_CHARS) return text;
  // Never half of a surrogate pair.
  const start = text.slice(0, half).replace(/[\uD800-\uDBFF]$/, '');
  const end = text.slice(-half).replace(/^[\uDC00-\uDFFF]/, '');
  const gap = isWhole
    ? countText(text.length - start.length - end.length, 'character')
    : formatBytes(bytes - byteLength(start) - byteLength(end));
  return `${start}\n\n[${gap} left out here]\n\n${end}`;
}
