import type { Readable, Writable } from 'node:stream';
import type { Env } from './service/home.ts';

export type { Env };

/** Where a command reads and writes, so that tests call commands in their own process. */
export type Io = {
  stdin: Readable & { isTTY?: boolean };
  /** Data only. */
  stdout: Writable & { columns?: number };
  /** Everything else. */
  stderr: Writable & { columns?: number; isTTY?: boolean };
  env: Env;
  /** Whether stdout is a terminal. */
  isTTY: boolean;
  cwd: string;
  /** Takes over Ctrl-C until the returned function is called. */
  onInterrupt(listener: () => void): () => void;
};

/** Columns that lines may take; `piped`: where nobody says how many there are. */
export function lineWidth({ columns }: { columns?: number }, piped = 80): number {
  // A terminal that does not know its own size says 0.
  return columns === 0 ? 80 : (columns ?? piped);
}

/** Prints one value as JSON. */
export function printJson(io: Io, value: unknown): void {
  io.stdout.write(`${JSON.stringify(value, null, io.isTTY ? 2 : undefined)}\n`);
}

/** Prints lines of data. */
export function print(io: Io, text: string): void {
  io.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
}

/** Tells the person something that is not data. */
export function tell(io: Io, text: string): void {
  io.stderr.write(`${text}\n`);
}
