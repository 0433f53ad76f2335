import { spawn } from 'node:child_process';
import { stat } from 'node:fs/promises';
import type { HookJob, HookRunner } from '../core/ports.ts';
import type { Hook, HookRun } from '../shapes/hook.ts';
import { ifThere } from './if-there.ts';
import { killTree, MARK } from './kill-tree.ts';
import { postHook } from './post-hook.ts';

type CommandHook = Extract<Hook, { type: 'command' }>;

/** Bytes of each output that are kept. */
const KEPT = 1 << 20;
/** Bytes of both outputs after which a handler is taken for one that never ends. */
const FLOOD = 64 << 20;
/** So long the outputs of an ended handler are read on, in ms: a process that it left behind may hold them open for ever. */
const DRAIN_MS = 500;

/** Runs the handlers of hooks: commands as process groups of their own without a terminal, requests by HTTP. */
export function createHookRunner(): HookRunner {
  return {
    run: (hook, job) => (hook.type === 'http' ? postHook(hook, job) : runCommand(hook, job)),
    async kill(mark) {
      await killTree({ mark, below: true });
    },
  };
}

async function runCommand(hook: CommandHook, job: HookJob): Promise<HookRun> {
  const began = performance.now();
  const timeout = AbortSignal.timeout(job.timeoutMs);
  const flood = new AbortController();
  const cut = AbortSignal.any([job.signal, timeout, flood.signal]);
  const end = await attempt(hook, job, cut, () => flood.abort()).catch((error: unknown) => ({
    ...nothing,
    failed: `it could not be run: ${messageOf(error)}`,
  }));
  const ms = Math.round(performance.now() - began);
  if (job.signal.aborted) return { ...end, ms, aborted: true };
  if (flood.signal.aborted) return { ...end, ms, failed: `it wrote more than ${FLOOD >> 20} MB and was ended` };
  return timeout.aborted && end.exit === null ? { ...end, ms, timedOut: true } : { ...end, ms };
}

const nothing = { exit: null, stdout: '', stderr: '' };

/** Resolves when the process has ended by itself, or when its whole tree was killed because `cut` aborted. */
async function attempt(
  hook: CommandHook,
  job: HookJob,
  cut: AbortSignal,
  onFlood: () => void,
): Promise<Omit<HookRun, 'ms'>> {
  if (cut.aborted) return nothing;
  const [file, args] = programOf(hook, job.projectDir);
  const child = spawn(file, args, {
    cwd: await livingFolder([job.cwd, job.projectDir]),
    env: { ...withoutTelemetry(job.env), [MARK]: job.mark, CLAUDE_PROJECT_DIR: job.projectDir },
    detached: true, // a session of its own: no terminal, one group
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.on('error', () => undefined); // one that does not read its input is free to
  child.stdin.end(job.input);
  let bytes = 0;
  const count = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > FLOOD) onFlood();
  };
  const stdout = collect(child.stdout, count);
  const stderr = collect(child.stderr, count);
  const end = await new Promise<Pick<HookRun, 'exit' | 'signal'>>((resolve, reject) => {
    const kill = (): void => {
      killTree({ mark: job.mark }).then(() => resolve(nothing), reject);
    };
    const settle = (exit: number | null, signal: NodeJS.Signals | null): void => {
      cut.removeEventListener('abort', kill);
      if (!cut.aborted) resolve({ exit, ...(signal ? { signal } : {}) });
    };
    cut.addEventListener('abort', kill, { once: true });
    child.once('error', reject);
    child.once('close', settle);
    child.once('exit', (exit, signal) => setTimeout(() => settle(exit, signal), DRAIN_MS).unref());
  }).finally(() => {
    child.stdout.destroy();
    child.stderr.destroy();
  });
  return { ...end, stdout: stdout(), stderr: stderr() };
}

/** With `args` the program as it stands, its placeholder filled in; else a line for the shell, which has it as a variable. */
function programOf(hook: CommandHook, projectDir: string): [string, string[]] {
  if (hook.args === undefined) return [hook.shell ?? 'sh', ['-c', hook.command]];
  const fill = (text: string): string => text.replaceAll('${CLAUDE_PROJECT_DIR}', projectDir);
  return [fill(hook.command), hook.args.map(fill)];
}

/** Where the worker sends its own measurements is none of a handler's business. */
function withoutTelemetry(env: HookJob['env']): HookJob['env'] {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('OTEL_')));
}

/** The first of these folders that is still there. */
async function livingFolder(folders: string[]): Promise<string> {
  for (const folder of folders) if ((await ifThere(stat(folder)))?.isDirectory()) return folder;
  return '/';
}

/** Keeps the start of a stream and reads the rest away, so that nobody has to wait for us. */
function collect(stream: NodeJS.ReadableStream, onChunk: (chunk: Buffer) => void): () => string {
  const kept: Buffer[] = [];
  let room = KEPT;
  stream.on('data', (chunk: Buffer) => {
    if (room > 0) kept.push(chunk.subarray(0, room));
    room -= chunk.length;
    onChunk(chunk);
  });
  stream.on('error', () => undefined);
  return () => Buffer.concat(kept).toString('utf8');
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
