import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { killIdentity } from '../../host/identity.ts';
import { loadScript } from '../model-server/load-script.ts';
import { type ModelServer, startModelServer } from '../model-server/start-model-server.ts';
import { distFile } from '../service/dist-file.ts';
import { homePaths, lookAtHome } from '../service/home.ts';
import { pulseFiles } from '../service/pulse.ts';
import { readRecord } from '../service/service-record.ts';

/** A fresh folder with the sample project, a home of its own, and the scripted model: nothing outside is touched. */
export type Rehearsal = {
  project: string;
  jobDir: string;
  model: ModelServer;
  /** Starts a command of nightshift and hands each line that it prints to `onLine`. */
  nightshift(args: string[], onLine?: (line: string) => void): Promise<number>;
  /** What a command prints. */
  ask(args: string[]): string;
  /** SIGKILL to the worker that runs now; its process id. */
  killWorker(): number;
  /** Ends the service and removes everything. */
  close(): Promise<void>;
};

export const JOB = 'repair';

export async function rehearse(): Promise<Rehearsal> {
  const assets = join(dirname(distFile('.')), 'demo');
  const top = mkdtempSync(join(tmpdir(), 'nightshift-demo-'));
  const project = join(top, 'till');
  cpSync(join(assets, 'project'), project, { recursive: true });
  const git = (...args: string[]): void => {
    execFileSync('git', ['-C', project, '-c', 'core.hooksPath=/dev/null', ...args], { stdio: 'ignore' });
  };
  git('init', '-q');
  git('config', 'user.name', 'Till');
  git('config', 'user.email', 'till@example.org');
  git('add', '-A');
  git('commit', '-qm', 'Sell things');
  const model = await startModelServer({ script: await loadScript(join(assets, 'model.yaml')) });
  const home = join(top, 'home');
  const env = {
    ...process.env,
    NIGHTSHIFT_HOME: home,
    ANTHROPIC_BASE_URL: model.url,
    ANTHROPIC_API_KEY: 'rehearsal',
    CLAUDE_CONFIG_DIR: join(top, 'no-settings'),
    TEMPORAL_ADDRESS: '',
    TEMPORAL_PROFILE: '',
  };
  const running = new Set<ChildProcess>();
  const cli = distFile('src/app/cli.js');

  return {
    project,
    jobDir: join(homePaths(home).jobs, JOB),
    model,
    async nightshift(args, onLine = () => undefined) {
      const child = spawn(process.execPath, [cli, ...args], { cwd: project, env, stdio: ['ignore', 'pipe', 'pipe'] });
      running.add(child);
      const lines = [child.stdout, child.stderr].map((stream) => createInterface(stream).on('line', onLine));
      const ended = once(child, 'exit');
      await Promise.all(lines.map((reader) => once(reader, 'close')));
      const [code] = (await ended) as [number | null];
      running.delete(child);
      return code ?? 1;
    },
    ask: (args) => execFileSync(process.execPath, [cli, ...args], { cwd: project, env, encoding: 'utf8' }),
    killWorker() {
      const worker = readRecord(homePaths(home).record)?.worker;
      if (!worker || !killIdentity(worker.identity, 'SIGKILL')) throw new Error('there is no worker to kill');
      return worker.identity.pid;
    },
    async close() {
      for (const child of running) child.kill('SIGKILL');
      execFileSync(process.execPath, [cli, 'down', '--now'], { env, stdio: 'ignore' });
      await model.close();
      const made = lookAtHome(home);
      if (made !== undefined) rmSync(pulseFiles(made, env).outside, { force: true });
      rmSync(top, { recursive: true, force: true });
    },
  };
}

/** Lines of a text file; none when it is not there. */
export function linesOf(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').filter(Boolean);
  } catch {
    return [];
  }
}
