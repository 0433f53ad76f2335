import { randomBytes } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import { isTurnId } from '../core/paths.ts';
import type { Note } from '../shapes/call.ts';
import { JobId } from '../shapes/ids.ts';
import type { JobConfig, JobInput, JobMemo, JobState, JobView } from '../shapes/job.ts';
import type { Limits } from '../shapes/limits.ts';
import type { TurnView } from '../shapes/turn.ts';
import { CliError, Exit, isLasting, isServiceError, unknownError } from './cli-error.ts';
import { type JobInfo, endedJob, isSettled, lostJob, openJob } from './job-info.ts';
import { type JobStore, readConfig } from './job-store.ts';
import { type TemporalDoor, isAlreadyStarted, isNotFound, isUnanswered } from './temporal-door.ts';
import { type Trouble, troubleOf } from './trouble.ts';

const JOB = 'job';
/** A query needs a worker: one that is busy gets more time than one that may yet come. In ms. */
const WORKER_LIMIT = 15_000;
const NOBODY_LIMIT = 2_000;
const LOOK_EVERY = 400;

/** What somebody who waits for a job hears: how it stands, that the server went away, that it is back. */
export type Heard = { onInfo?(info: JobInfo): void; onLost?(text: string): void; onBack?(): void };

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
    try {
      const seen = await this.#door.call(async ({ client, taskQueue }) => {
        const found = await client.workflow.getHandle(id).describe();
        return found.taskQueue === taskQueue ? found : undefined;
      });
      if (seen?.status.name === 'RUNNING') return openJob(id, seen.memo?.[JOB], seen.startTime.getTime());
      const endedAt = (seen?.closeTime ?? seen?.startTime)?.getTime();
      const how = `the server says it is ${seen?.status.name.toLowerCase() ?? 'of another home'}`;
      return (await this.#recorded(id)) ?? (await this.#lost(id, how, endedAt));
    } catch (error) {
      if (isNotFound(error)) return (await this.#recorded(id)) ?? this.#lost(id, 'the server does not know it');
      const ended = isServiceError(error) ? await this.#recorded(id) : undefined;
      if (ended !== undefined) return ended;
      throw error;
    }
  }

  /** All jobs of this home, newest first. */
  async list(): Promise<JobInfo[]> {
    const open = await this.#listOpen();
    const jobs = new Map<string, JobInfo>();
    for (const id of await this.store.ids()) {
      const info = open.get(id);
      const ended = await this.#recorded(id);
      // The list lags a little: of a job that has just ended the record is newer, of one that was opened again older.
      const isOpen = info !== undefined && (ended === undefined || info.startedAt >= ended.updatedAt);
      const known = isOpen ? info : (ended ?? (await this.find(id)));
      if (known !== undefined) jobs.set(id, known);
    }
    return [...jobs.values()].sort((a, b) => b.startedAt - a.startedAt || a.id.localeCompare(b.id));
  }

  /** The jobs that are open, in no order; the folders of those that have ended are not looked at. */
  async open(): Promise<JobInfo[]> {
    return [...(await this.#listOpen()).values()];
  }

  /** What holds up a job though it says that it runs; `undefined` when it goes on, or does not run. It needs no worker. */
  async trouble(info: Pick<JobInfo, 'id' | 'status'>): Promise<Trouble | undefined> {
    if (info.status !== 'running') return undefined;
    try {
      return await this.#door.call(async ({ client }) => {
        const look = async (id: string) => (await client.workflow.getHandle(id).describe()).raw;
        const job = await look(info.id);
        const children = (job.pendingChildren ?? []).flatMap(({ workflowId }) => workflowId ?? []);
        return troubleOf([job, ...(await Promise.all(children.map(look)))], this.#now());
      });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Whether a worker of this home lives: what did not answer then is late, without one it can't answer. */
  hasWorker(): Promise<boolean> {
    return this.#door.call(async ({ workers }) => (await workers()) > 0);
  }

  /** What the job itself says, `undefined` when no worker answers in time. */
  async view(id: string, ms?: number): Promise<JobView | undefined> {
    return (await this.#query<JobView>(id, 'view', ms)) ?? undefined;
  }

  /** What the turn of that workflow id says: `undefined` when no worker answers in time, `null` when there is no such turn. */
  turnView(turn: string): Promise<TurnView | null | undefined> {
    return this.#query<TurnView>(turn, 'turnView');
  }

  async #query<T>(id: string, name: string, ms?: number): Promise<T | null | undefined> {
    try {
      const limit = ms ?? ((await this.hasWorker()) ? WORKER_LIMIT : NOBODY_LIMIT);
      return await this.#door.call(({ client }) => client.workflow.getHandle(id).query<T>(name), limit);
    } catch (error) {
      if (isNotFound(error)) return null;
      if (isUnanswered(error)) return undefined;
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
  async cancel(id: string): Promise<boolean> {
    if (!(await this.#whileOpen(id, (handle) => handle.cancel()))) return false;
    await this.#tellTurn(id, (turn) => turn.cancel());
    return true;
  }

  /** Ends the running turn; `now`: with calls that block. `false` when the job is not open. */
  async interrupt(id: string, options: { now?: boolean }): Promise<boolean> {
    const press = { ...options, press: newId('press') };
    if (!(await this.#whileOpen(id, (handle) => handle.signal('interrupt', press)))) return false;
    // A worker of an earlier version would take the same press for two.
    const isEarly = await this.#door.call(({ early }) => Promise.resolve(early?.() === true));
    if (isEarly) await this.#tellTurn(id, (turn) => turn.signal('stop', { why: 'interrupt', ...press }));
    return true;
  }

  /** The job tells its turn too, but only when a worker takes it up, and meanwhile the turn could begin one more call. */
  async #tellTurn(id: string, act: (turn: WorkflowHandle) => Promise<unknown>): Promise<void> {
    const told = this.#door.call(async ({ client }) => {
      const { raw } = await client.workflow.getHandle(id).describe();
      const children = (raw.pendingChildren ?? []).flatMap(({ workflowId }) => workflowId ?? []);
      return Promise.all(children.filter(isTurnId).map((turn) => act(client.workflow.getHandle(turn))));
    });
    // One that has just ended needs not hear of it, and what the server no longer takes the job will pass on.
    await told.catch(() => undefined);
  }

  /**
   * Waits until a job is done, failed, stopped, cancelled or idle, however often the server goes away meanwhile; throws when that takes a person to mend.
   */
  async settle(id: string, signal: AbortSignal, heard: Heard = {}): Promise<JobInfo> {
    let lost = false;
    for (;;) {
      try {
        const info = await this.describe(id);
        if (lost) heard.onBack?.();
        lost = false;
        heard.onInfo?.(info);
        if (isSettled(info)) return info;
      } catch (error) {
        if (!isServiceError(error) || isLasting(error)) throw error;
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

  /** Read after the server was asked: a job that ends meanwhile writes its record first. */
  async #recorded(id: string): Promise<JobInfo | undefined> {
    const record = await this.store.record(id);
    if (record === undefined) return undefined;
    return endedJob(record, await readConfig(this.store, id, record.config).catch(() => ({ title: id, dir: '' })));
  }

  /** A job that ran and is neither open nor recorded. A folder without events is of a start that failed: no job. */
  async #lost(id: string, how: string, endedAt?: number): Promise<JobInfo | undefined> {
    const events = await this.store.events(id);
    const last = events.at(-1);
    if (last === undefined) return undefined;
    const opened = events.find((event) => event.kind === 'job.opened');
    return lostJob(id, how, { title: opened?.title ?? id, dir: opened?.dir ?? '', at: endedAt ?? last.at });
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
