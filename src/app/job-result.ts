import { foldEvents } from '../core/timeline.ts';
import type { JobClient } from './client.ts';
import type { JobStatus, JobWhy } from '../shapes/job.ts';
import type { Usage } from '../shapes/message.ts';
import { summarise } from './job-summary.ts';
import type { JobInfo } from './job-info.ts';

/** What `result --json` prints. */
export type JobResult = {
  id: string;
  status: JobStatus;
  why: JobWhy | null;
  /** The last answer; of a job that failed, why it did. */
  result: string;
  isError: boolean;
  costUsd: number;
  usage: Usage;
  turns: number;
};

/** The result of a job as it stands now. */
export async function readResult(
  jobs: JobClient,
  info: JobInfo,
): Promise<JobResult & { interrupted: boolean; steps: number }> {
  const summary = summarise(foldEvents(await jobs.store.events(info.id)));
  const answer = info.record?.result || summary.answer;
  const isError = info.status === 'failed' || info.status === 'stopped' || info.status === 'cancelled';
  return {
    id: info.id,
    status: info.status,
    why: info.why ?? null,
    result: isError ? (info.text ?? answer) : answer,
    isError,
    costUsd: (info.record?.state.spent ?? summary.spent) / 1_000_000,
    usage: summary.usage,
    turns: summary.turns,
    interrupted: info.status === 'idle' && summary.unanswered,
    steps: summary.steps,
  };
}
