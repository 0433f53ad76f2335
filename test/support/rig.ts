import { type ChildProcess, spawn } from 'node:child_process';
import { once, setMaxListeners } from 'node:events';
import { mkdirSync, mkdtempSync, openSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { JobClient } from '../../src/app/client.ts';
import type { JobInfo } from '../../src/app/job-info.ts';
import { type ModelServer, startModelServer } from '../../src/app/model-server/start-model-server.ts';
import type { Script } from '../../src/app/model-server/script.ts';
import { openStore } from '../../src/app/open-store.ts';
import { distFile } from '../../src/app/service/dist-file.ts';
import { type Home, openHome, taskQueue } from '../../src/app/service/home.ts';
import { listWorkers } from '../../src/app/service/worker-folder.ts';
import { TemporalDoor } from '../../src/app/temporal-door.ts';
import { fold } from '../../src/core/transcript.ts';
import { createTranscript } from '../../src/host/transcript-store.ts';
import type { JobEvent } from '../../src/shapes/event.ts';
import type { JobConfig, JobRecord } from '../../src/shapes/job.ts';
import type { Message } from '../../src/shapes/message.ts';
import { removeFolder } from './remove-folder.ts';
import { type TestServer, testServer } from './temporal.ts';

/** A worker process of the product. */
export type WorkerProcess = { child: ChildProcess; kill(): Promise<void>; stop(): Promise<void> };

/** A home with a real server, the scripted model, real worker processes and a workspace: all that a job needs. */
export type Rig = {
  home: Home;
  /** File with what the workers print. */
  log: string;
  /** The workspace. */
  dir: string;
  server: TestServer;
  model: ModelServer;
  client: JobClient;
  temporal: Client;
  workers: WorkerProcess[];
  startWorker(env?: Record<string, string>): Promise<WorkerProcess>;
  /** SIGKILL to every worker. */
  killWorkers(): Promise<void>;
  start(prompt: string, over?: Partial<JobConfig>): Promise<string>;
  events(id: string): JobEvent[];
  /** Resolves with the first event that fits, now or later. */
  event<K extends JobEvent['kind']>(
    id: string,
    kind: K,
    fits?: (event: Extract<JobEvent, { kind: K }>) => boolean,
  ): Promise<Extract<JobEvent, { kind: K }>>;
  /** Rejects, with the end of the workers' log, when it takes longer than `ms` (100 s). */
  settled(id: string, ms?: number): Promise<JobInfo>;
  record(id: string): Promise<JobRecord>;
  /** The conversation as the model would get it now. */
  messages(id: string): Promise<Message[]>;
  /** Requests that the model server refused; a test of a job that works has none. */
  refused(): string[];
  close(): Promise<void>;
};

export const RULES = {
  deny: [],
  ask: [],
  allow: [],
  mode: 'default' as const,
  directories: [],
  trusted: true,
  disableBypass: false,
  warnings: [],
};

let number = 0;

export async function rig(
  script: Script,
  options: { server?: TestServer; workers?: number; env?: Record<string, string>; home?: string } = {},
): Promise<Rig> {
  const server = options.server ?? (await testServer());
  const top = mkdtempSync(join(tmpdir(), 'nightshift-rig-'));
  const home = openHome(options.home ?? join(top, 'home'));
  const dir = join(top, 'work');
  mkdirSync(dir);
  const model = await startModelServer({ script });
  const store = openStore(home.jobs);
  const connection = await Connection.connect({ address: server.address });
  const temporal = new Client({ connection });
  const queue = taskQueue(home.id);
  const client = new JobClient(
    store,
    new TemporalDoor(() =>
      Promise.resolve({
        client: temporal,
        taskQueue: queue,
        workers: () => listWorkers(home.workers).length,
        close: () => Promise.resolve(),
      }),
    ),
  );
  const workers: WorkerProcess[] = [];
  const following = new AbortController();
  setMaxListeners(0, following.signal); // a test may wait for many events at once
  const log = join(top, 'worker.log');

  async function startWorker(env: Record<string, string> = {}): Promise<WorkerProcess> {
    const out = openSync(log, 'a');
    const child = spawn(process.execPath, [distFile('src/app/worker-main.js')], {
      env: {
        ...process.env,
        NIGHTSHIFT_HOME: home.home,
        NIGHTSHIFT_LOCAL_SERVER: server.address,
        ANTHROPIC_BASE_URL: model.url,
        ANTHROPIC_API_KEY: 'test-key',
        ...options.env,
        ...env,
      },
      stdio: ['ignore', out, out],
      detached: true,
    });
    const ended = once(child, 'exit');
    const worker: WorkerProcess = {
      child,
      async kill() {
        child.kill('SIGKILL');
        await ended;
      },
      async stop() {
        child.kill('SIGTERM');
        await ended;
      },
    };
    workers.push(worker);
    return worker;
  }

  for (let i = 0; i < (options.workers ?? 1); i++) await startWorker();

  return {
    home,
    log,
    dir,
    server,
    model,
    client,
    temporal,
    workers,
    startWorker,
    async killWorkers() {
      await Promise.all(workers.splice(0).map((worker) => worker.kill()));
    },
    async start(prompt, over = {}) {
      const id = over.id ?? `job-${process.pid}-${(number += 1)}`;
      const config: JobConfig = {
        v: 1,
        id,
        title: prompt.slice(0, 60),
        dir,
        model: 'claude-sonnet-5-5',
        rules: RULES,
        limits: { concurrency: 10 },
        onLimit: 'end',
        stay: false,
        siblingAbort: 'bash',
        hooks: [],
        ladder: [],
        allowDescribed: [],
        env: {},
        warnings: [],
        ...over,
      };
      return client.start(config, prompt);
    },
    events(id) {
      let text: string;
      try {
        text = readFileSync(join(home.jobs, id, 'events.jsonl'), 'utf8');
      } catch {
        return [];
      }
      return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as JobEvent]));
    },
    async event(id, kind, fits = () => true) {
      type Wanted = Extract<JobEvent, { kind: typeof kind }>;
      for await (const event of store.follow(id, following.signal)) {
        if (event.kind === kind && fits(event as Wanted)) return event as Wanted;
      }
      throw new Error(`no ${kind} event of ${id} came`);
    },
    async settled(id, ms = 100_000) {
      const limit = AbortSignal.any([following.signal, AbortSignal.timeout(ms)]);
      try {
        return await client.settle(id, limit);
      } catch (error) {
        throw new Error(`${id} did not settle; worker log:\n${readFileSync(log, 'utf8').slice(-3000)}`, {
          cause: error,
        });
      }
    },
    async record(id) {
      const record = await store.record(id);
      if (!record) throw new Error(`${id} left no record`);
      return record;
    },
    async messages(id) {
      const record = await store.record(id);
      const nodes = await createTranscript(store.blobs(id)).load(record?.state.head ?? null);
      return fold(nodes).messages;
    },
    refused: () => model.requests().flatMap((request) => (request.refused ? [JSON.stringify(request.refused)] : [])),
    async close() {
      following.abort();
      await Promise.all(workers.splice(0).map((worker) => worker.kill()));
      await model.close();
      await connection.close();
      if (!options.server) await server.stop();
      await removeFolder(top);
    },
  };
}
