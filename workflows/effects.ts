import {
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  ParentClosePolicy,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import { parseTurnId, taskWorkflowId } from '../src/core/paths.ts';
import type { Effect, Outcome } from '../src/shapes/effect.ts';
import type { TurnState } from '../src/shapes/turn.ts';
import { taskStarted } from './messages.ts';
import { pinned, TASK_TIMEOUT } from './steps.ts';
import type { task } from './task.ts';

/** Does what a tool may only ask for: things that change the job and not the world. */
export async function perform(effect: Effect, s: TurnState): Promise<Outcome> {
  switch (effect.kind) {
    case 'sleep': {
      const interrupted = await condition(() => s.reason !== undefined, effect.ms);
      return { kind: 'sleep', ok: !interrupted };
    }
    case 'background':
      // The command runs already: whatever is cancelled here, it must not be left without somebody who watches it.
      await CancellationScope.nonCancellable(() => startTask(effect.task, effect.brief));
      return { kind: 'background', ok: true };
  }
}

/** The job hears of a task before it can end. Doing this again does nothing. */
async function startTask(id: string, brief: string): Promise<void> {
  const { job } = parseTurnId(workflowInfo().workflowId);
  const entry = { id, kind: 'shell' as const, status: 'running' as const, brief, startedAt: Date.now() };
  await getExternalWorkflowHandle(job).signal(taskStarted, entry);
  try {
    await startChild<typeof task>('task', {
      workflowId: taskWorkflowId(job, id),
      args: [{ v: 1, brief, ...pinned() }],
      parentClosePolicy: ParentClosePolicy.ABANDON,
      workflowTaskTimeout: TASK_TIMEOUT,
    });
  } catch (error) {
    if (!(error instanceof Error && error.name === 'WorkflowExecutionAlreadyStartedError')) throw error;
  }
}
