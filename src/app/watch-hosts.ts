import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import type { Host } from '../shapes/host.ts';
import type { JobMemo } from '../shapes/job.ts';
import { placeOf } from './service/this-host.ts';
import { isNotFound } from './temporal-door.ts';

/** `PENDING_ACTIVITY_STATE_SCHEDULED`: nobody has taken it. */
const UNTAKEN = 1;

export type HostWatchOptions = {
  client: Client;
  taskQueue: string;
  host: Host;
  /** How long a job's activity may lie untaken before the job says that it waits for its host, in ms. */
  patience: number;
  log: (line: string) => void;
};

/**
 * Shows which jobs wait for a host that is away: their activities lie in that host's queue, which costs nothing, and
 * nobody there can say so. The first look is now; a job is told once when it begins to wait and once when that is over.
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
    timer = setTimeout(() => void round(), options.patience / 2);
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
  const { client, taskQueue, host, patience } = options;
  const untaken = new Map<string, number>();
  const query = `TaskQueue = '${taskQueue}' AND WorkflowType = 'job' AND ExecutionStatus = 'Running'`;
  for await (const { workflowId, memo } of client.workflow.list({ query })) {
    const said = memo?.['job'] as JobMemo | undefined;
    if (!said?.host) continue;
    const waits = said.why === 'host';
    const isOurs = said.host.queue === host.queue;
    if (isOurs && !waits) continue;
    const lying = isOurs ? [] : await untakenOf(client, workflowId);
    for (const activity of lying) untaken.set(activity, seen.get(activity) ?? performance.now());
    const isAway = lying.some((activity) => performance.now() - untaken.get(activity)! >= patience);
    if (isAway && !waits && told.get(workflowId) !== true) {
      told.set(workflowId, true);
      await tell(client, workflowId, { why: 'host', until: null, text: textOf(said.host) });
    }
    if (lying.length === 0 && waits && told.get(workflowId) !== false) {
      told.set(workflowId, false);
      await tell(client, workflowId, null);
    }
    if (lying.length === 0 && !waits) told.delete(workflowId);
  }
  return untaken;
}

const textOf = (host: Host): string =>
  `waiting for host ${host.name}: start nightshift there, or give another machine its place with ${placeOf(host)}`;

/** The activities of a job and its turn that nobody has taken. */
async function untakenOf(client: Client, job: string): Promise<string[]> {
  const found = await describe(client, job);
  const children = (found?.raw.pendingChildren ?? []).flatMap(({ workflowId }) => workflowId ?? []);
  const turns = await Promise.all(children.map((id) => describe(client, id)));
  return [found, ...turns].flatMap((one) =>
    (one?.raw.pendingActivities ?? [])
      .filter(({ state, activityType }) => Number(state) === UNTAKEN && activityType?.name !== 'notify')
      .map(({ activityId, attempt }) => `${one!.workflowId} ${one!.runId} ${activityId} ${attempt}`),
  );
}

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
