import { workflowInfo } from '@temporalio/workflow';
import { EVENTS_PER_RUN } from './steps.ts';

/** Whether this run's history is long enough to hand over to a fresh run at the next quiet point. */
export function isLong(limit: number = EVENTS_PER_RUN): boolean {
  const { historyLength, continueAsNewSuggested } = workflowInfo();
  return continueAsNewSuggested || historyLength >= limit;
}
