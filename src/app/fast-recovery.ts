import { rmSync } from 'node:fs';
import { ApplicationFailure } from '@temporalio/common';
import type { Client } from '@temporalio/client';
import { orphanedTokens, type Orphaned } from '../host/held-tokens.ts';

/** How often a worker looks for dead neighbours, in ms. A look reads a folder and one line of /proc each. */
const LOOK_EVERY = 50;
/** The server hands a task that is due at once to a poll of the dead worker, and then waits for its time-out. */
const RETRY_AFTER = '100 milliseconds';
/** Workflows whose sticky queues are freed at once, and so many at a time. */
const FREED = 500;
const AT_ONCE = 20;

/**
 * Gives what a dead worker of this home was doing to the living at once: its activities are failed by their tokens (the
 * server refuses stale ones) and the sticky queues of open workflows are freed. The first look is now, then twenty a
 * second; the returned function ends it.
 */
export function watchForDead(options: {
  client: Client;
  tokens: string;
  taskQueue: string;
  log: (line: string) => void;
}): () => void {
  let busy = false;
  const look = (): void => {
    if (busy) return;
    const dead = orphanedTokens(options.tokens);
    if (dead.length === 0) return;
    busy = true;
    void takeOver(options, dead)
      .catch((error: unknown) => options.log(`recovery: ${String(error)}`))
      .finally(() => {
        busy = false;
      });
  };
  look();
  const timer = setInterval(look, LOOK_EVERY);
  timer.unref();
  return () => clearInterval(timer);
}

async function takeOver(
  { client, taskQueue, log }: Parameters<typeof watchForDead>[0],
  dead: Orphaned[],
): Promise<void> {
  const failure = ApplicationFailure.create({
    message: 'the worker died',
    type: 'WorkerDied',
    category: 'BENIGN',
    nextRetryDelay: RETRY_AFTER,
  });
  const tokens = dead.flatMap((worker) => worker.tokens);
  const failed = await Promise.allSettled(
    tokens.map((token) => client.activity.fail(Buffer.from(token, 'base64'), failure)),
  );
  for (const { folder } of dead) rmSync(folder, { recursive: true, force: true });
  await freeStickyQueues(client, taskQueue);
  const done = failed.filter((end) => end.status === 'fulfilled').length;
  log(`recovery: ${dead.length} dead worker(s), ${done} of ${tokens.length} activities handed on`);
}

async function freeStickyQueues(client: Client, taskQueue: string): Promise<void> {
  const open: { workflowId: string; runId: string }[] = [];
  const query = `TaskQueue = '${taskQueue}' AND ExecutionStatus = 'Running'`;
  for await (const { workflowId, runId } of client.workflow.list({ query })) {
    if (open.push({ workflowId, runId }) >= FREED) break;
  }
  const { namespace } = client.options;
  const lane = async (): Promise<void> => {
    for (let execution; (execution = open.pop());) {
      // A workflow that has just closed has no queue to free.
      await client.workflowService.resetStickyTaskQueue({ namespace, execution }).catch(() => undefined);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}
