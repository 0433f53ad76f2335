import { activityInfo } from '@temporalio/activity';
import { askingName, parseTaskWorkflowId, parseTurnId } from '../src/core/paths.ts';

/**
 * Where in a job an activity of a turn runs. `at`: when the workflow scheduled it, the same on every attempt; `asking`
 * names this activity, on every attempt the same and never used again.
 */
export type TurnPlace = { job: string; turn: number; workflowId: string; at: number; asking: string };

export function turnPlace(): TurnPlace {
  const info = activityInfo();
  const { workflowId, runId } = info.workflowExecution!;
  const asking = askingName(runId, info.activityId);
  return { ...parseTurnId(workflowId), workflowId, at: info.scheduledTimestampMs, asking };
}

/** The same for an activity of the job itself. */
export function jobPlace(): { job: string; at: number; asking: string } {
  const info = activityInfo();
  const { workflowId, runId } = info.workflowExecution!;
  return { job: workflowId, at: info.scheduledTimestampMs, asking: askingName(runId, info.activityId) };
}

/** The same for an activity of a task. */
export function taskPlace(): { job: string; task: string } {
  return parseTaskWorkflowId(activityInfo().workflowExecution!.workflowId);
}
