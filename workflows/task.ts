import {
  CancellationScope,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { parseTaskWorkflowId } from '../src/core/paths.ts';
import type { TaskEnd, TaskInput } from '../src/shapes/task.ts';
import { endNow, taskEnded } from './messages.ts';
import { endTask, pinTo, watchTask } from './steps.ts';

/**
 * One background command: waits for its end and tells the job, under whatever run. `endNow`, or to cancel it, kills the
 * command, also when no worker was there to watch it.
 */
export async function task(input: TaskInput): Promise<void> {
  const { job } = parseTaskWorkflowId(workflowInfo().workflowId);
  pinTo(input.host);
  const watching = new CancellationScope();
  setHandler(endNow, () => watching.cancel());
  const end = await watching
    .run(() => watchTask(input))
    .catch((error: unknown): Promise<TaskEnd> => {
      if (!isCancellation(error)) throw error;
      return CancellationScope.nonCancellable(() => endTask(input));
    });
  await CancellationScope.nonCancellable(() => getExternalWorkflowHandle(job).signal(taskEnded, end)).catch(
    (error: unknown) => log.info('the job was gone', { error: String(error) }),
  );
}
