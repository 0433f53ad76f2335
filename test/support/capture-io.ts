import { Readable, Writable } from 'node:stream';
import type { Env, Io } from '../../src/app/io.ts';

/** An Io whose output is kept, and a way to press Ctrl-C. */
export type CapturedIo = Io & { out(): string; err(): string; interrupt(): void };

/** An Io for commands that run inside a test. `stdin`: what is piped in; without it stdin is a terminal. */
export function captureIo(options: { stdin?: string | Uint8Array; env?: Env; cwd?: string } = {}): CapturedIo {
  const out = collector();
  const err = collector();
  const listeners = new Set<() => void>();
  const { stdin } = options;
  return {
    stdin: Object.assign(Readable.from(stdin === undefined ? [] : [Buffer.from(stdin)]), {
      isTTY: stdin === undefined,
    }),
    stdout: out.stream,
    stderr: err.stream,
    env: options.env ?? {},
    isTTY: false,
    cwd: options.cwd ?? process.cwd(),
    onInterrupt(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    out: out.text,
    err: err.text,
    interrupt: () => listeners.forEach((listener) => listener()),
  };
}

function collector(): { stream: Writable; text: () => string } {
  let text = '';
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk);
      done();
    },
  });
  return { stream, text: () => text };
}
