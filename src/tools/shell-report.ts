import { formatBytes } from '../core/preview.ts';
import type { Shell, ShellExit, ToolOutput } from '../core/ports.ts';
import { exitIsFine } from './exit-is-fine.ts';
import { numberText } from './text.ts';

/** What of a successful command's output is taken at most, in bytes. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
/** What of a failed command's output is shown, in characters: half from its start, half from its end when it is longer. */
const FAILURE_CHARS = 10_000;
const MAX_UTF8_BYTES = 4;

/** A command and the limits it ran under. */
export type Ran = { command: string; timeoutMs: number; maxBytes: number };

/** What the model is told of a command that ended: its output when it did well, else how it ended and both ends of its output. */
export async function shellReport(shell: Shell, outputPath: string, ran: Ran, exit: ShellExit): Promise<ToolOutput> {
  if (exit.why === 'exit' && exit.code !== null && exitIsFine(ran.command, exit.code)) {
    return { content: await wholeOutput(shell, outputPath) };
  }
  return {
    content: joined(howItEnded(ran, exit), await bothEnds(shell, outputPath)),
    isError: true,
    // A command that somebody killed has not failed by itself.
    ...(exit.why !== 'killed' && { failedShell: true }),
  };
}

/** What was seen of a command that was killed or lost: it may have acted. */
export async function unfinishedText(shell: Shell, outputPath: string, how: string): Promise<string> {
  return joined(how, await bothEnds(shell, outputPath));
}

function howItEnded(ran: Ran, exit: ShellExit): string {
  switch (exit.why) {
    case 'exit':
      return `Exit code ${exit.code}${exit.signal === undefined ? '' : ` (ended by ${exit.signal})`}`;
    case 'deadline':
      return (
        `The command was killed after ${numberText(ran.timeoutMs / 1000)} s, its time limit; it may have acted. ` +
        'Give it more time with timeout, or split it. Its output so far:'
      );
    case 'size':
      return (
        `The command was killed because its output passed ${formatBytes(ran.maxBytes)}; it may have acted. ` +
        'Send the output to a file, or print less. Its output:'
      );
    case 'killed':
      return 'The command was killed from outside; it may have acted. Its output so far:';
    default:
      return exit.why satisfies never;
  }
}

async function wholeOutput(shell: Shell, path: string): Promise<string> {
  const { head, bytes } = await shell.readOutput(path, { headBytes: MAX_OUTPUT_BYTES, tailBytes: 0 });
  const text = head.replace(/\n+$/, '');
  if (bytes <= MAX_OUTPUT_BYTES) return text;
  return `${text}\n[Only the first ${formatBytes(MAX_OUTPUT_BYTES)} of ${formatBytes(bytes)} are kept.]`;
}

async function bothEnds(shell: Shell, path: string): Promise<string> {
  const half = (FAILURE_CHARS / 2) * MAX_UTF8_BYTES;
  const { head, tail, bytes } = await shell.readOutput(path, { headBytes: half, tailBytes: half });
  // Nothing lies between head and tail when the file is no larger than both.
  if (bytes <= half * 2 && head.length + tail.length <= FAILURE_CHARS) return (head + tail).replace(/\n+$/, '');
  const text = head + tail;
  const start = text.slice(0, FAILURE_CHARS / 2).replace(/[\uD800-\uDBFF]$/, '');
  const end = text
    .slice(-FAILURE_CHARS / 2)
    .replace(/^[\uDC00-\uDFFF]/, '')
    .replace(/\n+$/, '');
  const shown = Buffer.byteLength(start) + Buffer.byteLength(end);
  return `${start}\n\n[${formatBytes(Math.max(0, bytes - shown))} left out here]\n\n${end}`;
}

function joined(first: string, output: string): string {
  return output === '' ? first : `${first}\n${output}`;
}
