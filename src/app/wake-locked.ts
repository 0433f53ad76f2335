import type { Client } from '@temporalio/client';
import type { JobMemo } from '../shapes/job.ts';

/**
 * Tells every job of this home that waits for credentials that a worker has started: it may have the right ones. A job
 * that is told in vain waits on.
 */
export async function wakeLocked(client: Client, taskQueue: string): Promise<void> {
  const query = `TaskQueue = '${taskQueue}' AND WorkflowType = 'job' AND ExecutionStatus = 'Running'`;
  for await (const { workflowId, memo } of client.workflow.list({ query })) {
    const { why } = (memo?.['job'] ?? {}) as Partial<JobMemo>;
    // One that has closed meanwhile needs no waking.
    if (why === 'credentials')
      await client.workflow
        .getHandle(workflowId)
        .signal('wake')
        .catch(() => undefined);
  }
}
