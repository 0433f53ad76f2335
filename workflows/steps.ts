import { ActivityCancellationType, proxyActivities, type ActivityOptions } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { passId } from '../src/core/paths.ts';
import type { ToolInput, ToolResult } from '../src/shapes/call.ts';
import type { Host } from '../src/shapes/host.ts';

// Every timeout, heartbeat and retry of the product stands here. Each activity has a heartbeat time-out, also the quick
// ones: a task that was handed out in the moment of a server's death waits for it.

let host: Host | undefined; // each workflow has its own modules, so this is of one workflow
/** From now on this workflow's activities run on that host; without one, wherever the workflow itself is served. */
export function pinTo(to: Host | undefined): void {
  host = to;
}
/** For those that this workflow starts: where its activities run, if that matters. */
export const pinned = (): { host?: Host } => (host ? { host } : {});
const proxy = (options: ActivityOptions): ReturnType<typeof proxyActivities<Activities>> =>
  proxyActivities<Activities>(
    Object.defineProperty({ ...options }, 'taskQueue', { enumerable: true, get: () => host?.queue }),
  );

const common = {
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
} satisfies ActivityOptions;
/** A payload that is too large stays too large. */
const never = ['PayloadsTooLarge'];

const small = proxy({
  ...common,
  startToCloseTimeout: '2 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '30 seconds', nonRetryableErrorTypes: never },
});
/** With hooks that a user wrote: what they may take is theirs to say. */
const hooked = {
  startToCloseTimeout: '28 hours',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '30 seconds', nonRetryableErrorTypes: never },
} satisfies ActivityOptions;
const opening = proxy({ ...common, ...hooked });
const telling = proxy({ cancellationType: ActivityCancellationType.ABANDON, ...hooked });
const model = proxy({
  ...common,
  startToCloseTimeout: '30 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '200 milliseconds', maximumInterval: '60 seconds', nonRetryableErrorTypes: never },
});
const tool = {
  ...common,
  startToCloseTimeout: '28 hours',
  heartbeatTimeout: '5 seconds',
  retry: { initialInterval: '200 milliseconds', maximumInterval: '10 seconds', nonRetryableErrorTypes: never },
} satisfies ActivityOptions;
/** Watches for as long as a background command runs. Nothing is lost with it: whoever cancels it needs not wait for it. */
const watch = proxy({
  cancellationType: ActivityCancellationType.TRY_CANCEL,
  startToCloseTimeout: '365 days',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '200 milliseconds', maximumInterval: '10 seconds', nonRetryableErrorTypes: never },
});
const aside = proxy({
  cancellationType: ActivityCancellationType.ABANDON,
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: '10 seconds',
  retry: { maximumAttempts: 5, nonRetryableErrorTypes: never },
});

export const { addRules, saveRule, updatePermissions, closeJob, countLost, endTask } = small;
export const { callModel } = model;
/** One pass of a call. Its activity is known by the call, so that whoever finds a process of it can ask whether it is still wanted. */
export function runTool(input: ToolInput): Promise<ToolResult> {
  const activityId = passId(input.step, input.call.index, input.pass);
  return proxy({ ...tool, activityId }).runTool(input);
}
export const { watchTask } = watch;
export const { openJob } = opening;
export const { tellHooks, tellPeople } = telling;
export const { notify } = aside;

/** Events of one run after which it hands over to a fresh one: a replay must fit into a workflow task on a busy machine. */
export const EVENTS_PER_RUN = 1_000;
/** A wait of a turn that is shorter than this is not told to the job. */
export const QUIET_WAIT_MS = 2_000;
/** A replay of `EVENTS_PER_RUN` fits several times. */
export const TASK_TIMEOUT = '5 seconds';
/** A job that ends waits so long for the end of its background commands. */
export const TASKS_END_LIMIT = '60 seconds';
