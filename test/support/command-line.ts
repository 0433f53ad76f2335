import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ModelServer, startModelServer } from '../../src/app/model-server/start-model-server.ts';
import type { Script } from '../../src/app/model-server/script.ts';
import { distFile } from '../../src/app/service/dist-file.ts';
import { removeFolder } from './remove-folder.ts';
import { temporalProgram } from './temporal.ts';

/** How a command ended, and what it printed. */
export type Ran = { code: number | null; out: string; err: string };

/** A command that runs. */
export type Running = {
  child: ChildProcess;
  /** Resolves when stdout and stderr together hold this text. */
  said(text: string): Promise<void>;
  end: Promise<Ran>;
};

/** The compiled program in a home and a workspace of its own, with the scripted model behind it. */
export type CommandLine = {
  dir: string;
  env: Record<string, string>;
  model: ModelServer;
  /** Runs a command to its end. */
  run(args: string[], stdin?: string): Promise<Ran>;
  /** Runs one that prints JSON and must succeed. */
  json(args: string[]): Promise<unknown>;
  begin(args: string[], stdin?: string): Running;
  close(): Promise<void>;
};

/** Brings one up; its service starts with the first command that needs it. `over`: variables in place of its own. */
export async function commandLine(script: Script, over: Record<string, string> = {}): Promise<CommandLine> {
  const top = mkdtempSync(join(tmpdir(), 'nightshift-cli-'));
  const dir = join(top, 'work');
  mkdirSync(dir);
  const [model, { program }] = await Promise.all([startModelServer({ script }), temporalProgram()]);
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: top,
    NIGHTSHIFT_HOME: join(top, 'home'),
    NIGHTSHIFT_TEMPORAL_CLI: program,
    ANTHROPIC_BASE_URL: model.url,
    ANTHROPIC_API_KEY: 'rehearsal',
    ...over,
  };

  function begin(args: string[], stdin?: string): Running {
    const child = spawn(process.execPath, [distFile('src/app/cli.js'), ...args], {
      cwd: dir,
      env,
      stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    child.stdin?.end(stdin);
    let out = '';
    let err = '';
    child.stdout?.on('data', (text) => (out += String(text)));
    child.stderr?.on('data', (text) => (err += String(text)));
    const end = once(child, 'close').then(([code]): Ran => ({ code: code as number | null, out, err }));
    const said = (text: string): Promise<void> =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if ((err + out).includes(text)) resolve();
        };
        child.stdout?.on('data', look);
        child.stderr?.on('data', look);
        void end.then(() => reject(new Error(`it ended without saying "${text}":\n${out}\n${err}`)));
        look();
      });
    return { child, said, end };
  }

  const run = (args: string[], stdin?: string): Promise<Ran> => begin(args, stdin).end;

  return {
    dir,
    env,
    model,
    begin,
    run,
    async json(args) {
      const { code, out, err } = await run([...args, '--json']);
      if (code !== 0) throw new Error(`nightshift ${args.join(' ')} ended with ${code}:\n${out}\n${err}`);
      return JSON.parse(out);
    },
    async close() {
      await run(['down', '--now']);
      await model.close();
      await removeFolder(top);
    },
  };
}
