import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rgPath } from '@vscode/ripgrep';
import type { Seen, Tool, ToolIo, ToolOutput } from '../../src/core/tool.ts';
import { childEnv } from '../../src/host/child-env.ts';
import { createFiles } from '../../src/host/files.ts';
import { createSearch } from '../../src/host/search.ts';
import { createShell } from '../../src/host/shell.ts';
import { removeFolder } from './remove-folder.ts';

/** What a bench may be given: fields of the `ToolIo` of its calls, and variables of the job. */
export type BenchOptions = Partial<
  Pick<ToolIo, 'signal' | 'cwd' | 'directories' | 'hidden' | 'mode' | 'jobMode' | 'said'>
> & {
  env?: Record<string, string>;
};

/** What a call came to, and what it wrote down before it acted. */
type Called = ToolOutput & { text: string; claims: unknown[] };

/** A workspace in a temporary folder in which tools are called as the runner calls them, one after another. */
export interface Bench {
  /** Real path of the workspace. */
  readonly root: string;
  readonly seen: Map<string, Seen>;
  path(name: string): string;
  /** The world of the next call: every one has a folder of its own. */
  io(options?: BenchOptions): ToolIo & { claims: unknown[]; progressed: { tail: string; bytes: number }[] };
  /** Parses the input, validates, runs, and takes over what the call taught. A refused input is a result, as for the model. */
  call<I>(tool: Tool<I>, input: unknown, options?: BenchOptions): Promise<Called>;
  /** Takes over what an output taught. */
  learn(output: ToolOutput): void;
  cwd: string;
  remove(): Promise<void>;
}

export const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');

/** Opens a bench over real files, real ripgrep and real bash under the real supervisor. Remove it after use. */
export function createBench(): Bench {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'tools-')));
  const root = join(top, 'workspace');
  mkdirSync(root);
  const seen = new Map<string, Seen>();
  let calls = 0;
  const taskIds: string[] = [];
  const taskOutput = (id: string) => join(top, 'tasks', `${id}.output`);
  /** A call has become a task when its output was published. */
  const tasks: ToolIo['tasks'] = {
    find: async (id) =>
      existsSync(taskOutput(id)) ? { dir: join(top, 'calls', id), outputPath: taskOutput(id) } : undefined,
    ids: async () => taskIds.filter((id) => existsSync(taskOutput(id))),
  };

  const bench: Bench = {
    root,
    seen,
    cwd: root,
    path: (name) => join(root, name),
    io(options = {}) {
      calls += 1;
      const id = String(calls);
      taskIds.push(id);
      const dir = join(top, 'calls', id);
      mkdirSync(dir, { recursive: true });
      const mark = `test-${process.pid}/${top.slice(top.lastIndexOf('-') + 1)}/${id}`;
      const claims: unknown[] = [];
      const progressed: { tail: string; bytes: number }[] = [];
      return {
        signal: options.signal ?? new AbortController().signal,
        cwd: options.cwd ?? bench.cwd,
        root,
        directories: options.directories ?? [],
        env: childEnv(process.env, options.env ?? {}, mark),
        dir,
        mark,
        files: createFiles(),
        search: createSearch(rgPath),
        shell: createShell(),
        seen,
        mode: options.mode ?? 'default',
        jobMode: options.jobMode ?? 'default',
        ...(options.said === undefined ? {} : { said: options.said }),
        ...(options.hidden && { hidden: options.hidden }),
        sha: sha256,
        claim: async (fact) => void claims.push(structuredClone(fact)),
        waits: () => () => Promise.resolve(),
        progress: (tail, bytes) => void progressed.push({ tail, bytes }),
        task: { id, outputPath: taskOutput(id) },
        tasks,
        resultPath: join(top, 'tool-results', `${id}.txt`),
        claims,
        progressed,
      };
    },
    async call(tool, input, options) {
      const io = bench.io(options);
      const parsed = tool.input.parse(input);
      const refusal = await tool.validate?.(parsed, io);
      const output = refusal === undefined ? await tool.run!(parsed, io) : { content: refusal, isError: true };
      bench.learn(output);
      return { ...output, text: textOf(output), claims: io.claims };
    },
    learn(output) {
      for (const [path, what] of Object.entries(output.seen ?? {})) seen.set(path, what);
      bench.cwd = output.cwd ?? bench.cwd;
    },
    remove: () => removeFolder(top),
  };
  return bench;
}

/** The text of an output; images are left out. */
export function textOf(output: ToolOutput): string {
  if (typeof output.content === 'string') return output.content;
  return output.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}
