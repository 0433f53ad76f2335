import { randomBytes } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import type { Note } from '../shapes/call.ts';
import { JobId } from '../shapes/ids.ts';
import type { JobConfig, JobInput, JobMemo, JobRecord, JobState, JobView } from '../shapes/job.ts';
import type { Limits } from '../shapes/limits.ts';
import type { TurnView } from '../shapes/turn.ts';
import { CliError, Exit, isServiceError, unknownError } from './cli-error.ts';
import { type JobInfo, endedJob, isSettled, lostJob, openJob } from './job-info.ts';
import { type JobStore, readConfig } from './job-store.ts';
import { type TemporalDoor, isAlreadyStarted, isNotFound, isUnanswered } from './temporal-door.ts';

const JOB = 'job';
/** A query needs a worker, and there may be none. In ms. */
const QUERY_LIMIT = 2_000;
const LOOK_EVERY = 400;

/** Everything a person does with jobs. It talks to the server and reads the jobs' folders; it needs no worker. */
export class JobClient {
  readonly store: JobStore;
  readonly #door: TemporalDoor;
  readonly #now: () => number;

  constructor(store: JobStore, door: TemporalDoor, now: () => number = Date.now) {
    this.store = store;
    this.#door = door;
    this.#now = now;
  }

  close(): Promise<void> {
    return this.#door.close();
  }

  /** Starts a job and returns its id. Throws (1) when a job of that name exists. */
  async start(config: JobConfig, prompt: string): Promise<string> {
    if ((await this.store.record(config.id)) !== undefined) throw taken(config.id);
    const blobs = this.store.blobs(config.id);
    const note: Note = { id: newId('prompt'), kind: 'prompt', body: await blobs.put(prompt) };
    const input: JobInput = { v: 1, config: await blobs.put(JSON.stringify(config)), inputs: [note] };
    try {
      await this.#startWorkflow(config, input, 'REJECT_DUPLICATE');
    } catch (error) {
      throw isAlreadyStarted(error) ? taken(config.id) : error;
    }
    return config.id;
  }

  /** Whether a job of that name was ever started here. */
  async exists(id: string): Promise<boolean> {
    return (await this.find(id)) !== undefined;
  }

  /** One job as it stands. Throws (3) when there is none. */
  async describe(id: string): Promise<JobInfo> {
    const info = await this.find(id);
    if (info === undefined)
      throw unknownError(`there is no job ${id}`, 'nightshift ls --all   # every job of this home');
    return info;
  }

  /** As `describe`, `undefined` where there is no such job. With the server away a job that has ended is still found. */
  async find(id: string): Promise<JobInfo | undefined> {
    if (!JobId.safeParse(id).success || !this.store.has(id)) return undefined;
    const record = await this.store.record(id);
    try {
      const seen = await this.#door.call(async ({ client, taskQueue }) => {
        const found = await client.workflow.getHandle(id).describe();
        return found.taskQueue === taskQueue ? found : undefined;
      });
      if (seen?.status.name === 'RUNNING') return openJob(id, seen.memo?.[JOB], seen.startTime.getTime());
      if (record !== undefined) return this.#ended(record);
      if (seen === undefined) return undefined;
      return lostJob(id, (seen.closeTime ?? seen.startTime).getTime(), `the server says it is ${seen.status.name}`);
    } catch (error) {
      if (isNotFound(error)) return record === undefined ? undefined : this.#ended(record);
      if (record !== undefined && isServiceError(error)) return this.#ended(record);
      throw error;
    }
  }

  /** All jobs of this home, newest first. */
  async list(): Promise<JobInfo[]> {
    const ids = await this.store.ids();
    const records = new Map<string, JobRecord>();
    for (const id of ids) {
      const record = await this.store.record(id);
      if (record !== undefined) records.set(id, record);
    }
    const open = await this.#listOpen();
    const jobs = new Map<string, JobInfo>();
    for (const [id, info] of open) {
      const record = records.get(id);
      // The list lags a little: of a job that has just ended the record is newer, of one that was opened again older.
      if (record === undefined || info.startedAt >= record.endedAt) jobs.set(id, info);
    }
    for (const id of ids) {
      if (jobs.has(id)) continue;
      const record = records.get(id);
      const info = record === undefined ? await this.find(id) : await this.#ended(record);
      if (info !== undefined) jobs.set(id, info);
    }
    return [...jobs.values()].sort((a, b) => b.startedAt - a.startedAt || a.id.localeCompare(b.id));
  }

  /** What the job itself says, `undefined` when no worker answers in time. */
  view(id: string, ms = QUERY_LIMIT): Promise<JobView | undefined> {
    return this.#query<JobView>(id, 'view', ms);
  }

  /** What the turn of that workflow id says. */
  turnView(turn: string): Promise<TurnView | undefined> {
    return this.#query<TurnView>(turn, 'turnView', QUERY_LIMIT);
  }

  async #query<T>(id: string, name: string, ms: number): Promise<T | undefined> {
    try {
      return await this.#door.call(({ client }) => client.workflow.getHandle(id).query<T>(name), ms);
    } catch (error) {
      if (isUnanswered(error) || isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Sends one of the job's signals; `false` when it is not open. */
  signal(
    id: string,
    name: 'answerPermission' | 'send' | 'interrupt' | 'extend' | 'wake',
    ...args: unknown[]
  ): Promise<boolean> {
    return this.#whileOpen(id, (handle) => handle.signal(name, ...args));
  }

  /** Gives a job a message: into its running turn, as its next input, or to open it again when it has ended. */
  async send(id: string, text: string): Promise<void> {
    const note: Note = { id: newId('message'), kind: 'message', body: await this.store.blobs(id).put(text) };
    for (;;) {
      if (await this.signal(id, 'send', note)) return;
      const info = await this.describe(id);
      if (info.open) continue;
      if (await this.reopen(info, [note])) return;
    }
  }

  /** Starts an ended job again from where it stood; `false` when somebody else did so first. */
  async reopen(info: JobInfo, inputs: Note[], limits: Partial<Limits> = {}): Promise<boolean> {
    const { record } = info;
    if (record === undefined) {
      throw new CliError(
        Exit.failed,
        `${info.id} can't go on: ${info.text ?? 'it left no record'}`,
        'Start a new job.',
      );
    }
    const config = await readConfig(this.store, info.id, record.config);
    const from: JobState = { ...record.state, limits: { ...record.state.limits, ...limits } };
    try {
      await this.#startWorkflow(config, { v: 1, config: record.config, inputs, from }, 'ALLOW_DUPLICATE');
      return true;
    } catch (error) {
      if (isAlreadyStarted(error)) return false;
      throw error;
    }
  }

  /** Asks the server to cancel; `false` when the job is not open. */
  cancel(id: string): Promise<boolean> {
    return this.#whileOpen(id, (handle) => handle.cancel());
  }

  /**
   * Waits until a job is done, failed, stopped, cancelled or idle. It outlives the server: `onLost` hears once that it
   * went away, `onBack` that it answers again.
   */
  async settle(
    id: string,
    signal: AbortSignal,
    heard: { onLost?(text: string): void; onBack?(): void } = {},
  ): Promise<JobInfo> {
    let lost = false;
    for (;;) {
      try {
        const info = await this.describe(id);
        if (lost) heard.onBack?.();
        lost = false;
        if (isSettled(info)) return info;
      } catch (error) {
        if (!isServiceError(error)) throw error;
        if (!lost) heard.onLost?.(error.message);
        lost = true;
      }
      await pause(LOOK_EVERY, signal);
    }
  }

  async #listOpen(): Promise<Map<string, JobInfo>> {
    return this.#door.call(async ({ client, taskQueue }) => {
      const query = `TaskQueue = '${taskQueue}' AND WorkflowType = '${JOB}' AND ExecutionStatus = 'Running'`;
      const open = new Map<string, JobInfo>();
      for await (const found of client.workflow.list({ query })) {
        open.set(found.workflowId, openJob(found.workflowId, found.memo?.[JOB], found.startTime.getTime()));
      }
      return open;
    }, 30_000);
  }

  async #ended(record: JobRecord): Promise<JobInfo> {
    const config = await readConfig(this.store, record.id, record.config).catch(() => ({ title: record.id, dir: '' }));
    return endedJob(record, config);
  }

  async #whileOpen(id: string, act: (handle: WorkflowHandle) => Promise<unknown>): Promise<boolean> {
    try {
      await this.#door.call(({ client }) => act(client.workflow.getHandle(id)));
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  #startWorkflow(config: JobConfig, input: JobInput, reuse: 'REJECT_DUPLICATE' | 'ALLOW_DUPLICATE'): Promise<unknown> {
    const { title, dir } = config;
    const asked = input.from?.asked ?? 0;
    const memo: JobMemo = { title, dir, status: 'running', updatedAt: this.#now(), prompts: [], asked };
    return this.#door.call(({ client, taskQueue }) =>
      client.workflow.start(JOB, {
        workflowId: config.id,
        taskQueue,
        args: [input],
        memo: { [JOB]: memo },
        workflowTaskTimeout: '5s',
        workflowIdReusePolicy: reuse,
        workflowIdConflictPolicy: 'FAIL',
      }),
    );
  }
}

function taken(id: string): CliError {
  return new CliError(
    Exit.failed,
    `a job ${id} exists already`,
    `nightshift show ${id}   # what it did\nWith --reuse its id is printed; with another --name a new job starts.`,
  );
}

/** An id of a note; the same note is never taken twice. */
function newId(kind: string): string {
  return `${kind}-${randomBytes(8).toString('hex')}`;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, ms);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    signal.addEventListener('abort', stop, { once: true });
  });
}
