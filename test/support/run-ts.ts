import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Vite compiles while it loads, on every Node that the tests run on. */
const LOADER = `
  const { runnerImport } = await import('vite');
  await runnerImport(process.argv[1], { root: ${JSON.stringify(root)}, configFile: false, logLevel: 'error' });
`;

/** A real process that runs a TypeScript file of this tree. */
export interface TsProcess {
  readonly child: ChildProcessByStdio<Writable, Readable, null>;
  /** Its next line of stdout; rejects when it ended without one. */
  line(): Promise<string>;
  /** Sends SIGKILL and resolves when it is gone. */
  kill(): Promise<void>;
  readonly ended: Promise<number | null>;
}

/**
 * Runs `file` in a process of its own; it finds its arguments in `process.argv` from index 2, and its stderr is ours.
 * `wrapper`: a command that gets the one of the process as its last arguments.
 */
export function runTs(file: string, args: readonly string[], wrapper: readonly string[] = []): TsProcess {
  const [program, ...before] = [...wrapper, process.execPath];
  const child = spawn(program, [...before, '--input-type=module', '-e', LOADER, file, ...args], {
    cwd: root,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = new Promise<number | null>((resolve) => {
    child.once('exit', (code) => resolve(code));
  });
  return {
    child,
    ended,
    async line() {
      const next = await lines.next();
      if (next.done) throw new Error(`${file} ended without a further line`);
      return next.value;
    },
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
