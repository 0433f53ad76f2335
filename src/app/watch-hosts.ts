import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { parseTaskWorkflowId } from '../core/paths.ts';
import type { Host } from '../shapes/host.ts';
import type { JobMemo } from '../shapes/job.ts';
import { placeOf } from './service/this-host.ts';
import { isNotFound } from './temporal-door.ts';
import { many } from './text.ts';

/** `PENDING_ACTIVITY_STATE_SCHEDULED`: nobody has taken it. */
const UNTAKEN = 1;

export type HostWatchOptions = {
  client: Client;
  taskQueue: string;
  host: Host;
  /** How long a job's activity may lie untaken before the job says that it waits for its host, in ms. */
  patience: number;
  /** The same for a background command that nobody watches: its host has lost contact. */
  lostAfter: number;
  log: (line: string) => void;
};

/**
 * Shows which jobs wait for a host that is away: their activities, or those that watch their background commands, lie in
 * that host's queue, which costs nothing, and nobody there can say so. The first look is now; a job is told once when it begins to wait and once when that is over.
 * No clocks are compared: an activity is untaken for as long as we have seen it so. The returned function ends it.
 */
export function watchHosts(options: HostWatchOptions): () => void {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let seen = new Map<string, number>();
  const told = new Map<string, boolean>();
  const round = async (): Promise<void> => {
    seen = await look(options, seen, told).catch((error: unknown) => {
      options.log(`hosts: ${String(error)}`);
      return seen;
    });
    if (stopped) return;
    timer = setTimeout(() => void round(), Math.min(options.patience, options.lostAfter) / 2);
    timer.unref();
  };
  void round();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

/**
 * `seen`: since when activities lie untaken, by the monotonic clock; answers the same for the next look. `told`: what jobs
 * were told last, because the server's list lags.
 */
async function look(
  options: HostWatchOptions,
  seen: Map<string, number>,
  told: Map<string, boolean>,
): Promise<Map<string, number>> {
  const { client, taskQueue, host, patience, lostAfter } = options;
  const untaken = new Map<string, number>();
  const isOver = (lying: string[], limit: number): boolean => {
    for (const activity of lying) untaken.set(activity, seen.get(activity) ?? performance.now());
    return lying.some((activity) => performance.now() - untaken.get(activity)! >= limit);
  };
  const tasks = await runningTasks(options);
  const query = `TaskQueue = '${taskQueue}' AND WorkflowType = 'job' AND ExecutionStatus = 'Running'`;
  for await (const { workflowId, memo } of client.workflow.list({ query })) {
    const said = memo?.['job'] as JobMemo | undefined;
    if (!said?.host) continue;
    const waits = said.why === 'host';
    const isOurs = said.host.queue === host.queue;
    if (isOurs && !waits) continue;
    const steps = isOurs ? [] : await untakenSteps(client, workflowId);
    const unwatched = isOurs ? [] : await untakenOf(client, tasks.get(workflowId) ?? []);
    const isAway = isOver(steps, patience);
    const isLost = isOver(unwatched, lostAfter);
    if ((isAway || isLost) && !waits && told.get(workflowId) !== true) {
      told.set(workflowId, true);
      const text = isAway ? textOf(said.host) : lostText(said.host, unwatched.length);
      await tell(client, workflowId, { why: 'host', until: null, text });
    }
    const isServed = steps.length === 0 && unwatched.length === 0;
    if (isServed && waits && told.get(workflowId) !== false) {
      told.set(workflowId, false);
      await tell(client, workflowId, null);
    }
    if (isServed && !waits) told.delete(workflowId);
  }
  return untaken;
}

const textOf = (host: Host): string => `waiting for host ${host.name}: ${remedy(host)}`;

const lostText = (host: Host, commands: number): string =>
  `lost contact with host ${host.name}, where ${many(commands, 'background command')} may still run: ${remedy(host)}`;

const remedy = (host: Host): string =>
  `start nightshift there, or give another machine its place with ${placeOf(host)}`;

/** The workflow ids of all running tasks, by job. */
async function runningTasks({ client, taskQueue }: HostWatchOptions): Promise<Map<string, string[]>> {
  const tasks = new Map<string, string[]>();
  const query = `TaskQueue = '${taskQueue}' AND WorkflowType = 'task' AND ExecutionStatus = 'Running'`;
  for await (const { workflowId } of client.workflow.list({ query })) {
    const { job } = parseTaskWorkflowId(workflowId);
    tasks.set(job, [...(tasks.get(job) ?? []), workflowId]);
  }
  return tasks;
}

/** The activities of a job and its turn that nobody has taken. */
async function untakenSteps(client: Client, job: string): Promise<string[]> {
  const found = await describe(client, job);
  const turns = (found?.raw.pendingChildren ?? []).flatMap(({ workflowId }) => workflowId ?? []);
  return [...lyingOf(found), ...(await untakenOf(client, turns))];
}

async function untakenOf(client: Client, ids: readonly string[]): Promise<string[]> {
  return (await Promise.all(ids.map((id) => describe(client, id)))).flatMap(lyingOf);
}

const lyingOf = (found: WorkflowExecutionDescription | undefined): string[] =>
  (found?.raw.pendingActivities ?? [])
    .filter(({ state, activityType }) => Number(state) === UNTAKEN && activityType?.name !== 'notify')
    .map(({ activityId, attempt }) => `${found!.workflowId} ${found!.runId} ${activityId} ${attempt}`);

async function describe(client: Client, id: string): Promise<WorkflowExecutionDescription | undefined> {
  try {
    return await client.workflow.getHandle(id).describe();
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function tell(
  client: Client,
  job: string,
  wait: { why: 'host'; until: null; text: string } | null,
): Promise<void> {
  try {
    await client.workflow.getHandle(job).signal('waiting', wait);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
