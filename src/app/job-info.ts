import { isLimit } from '../core/limits.ts';
import type { JobMemo, JobRecord, JobStatus, JobWhy } from '../shapes/job.ts';
import { Exit } from './cli-error.ts';

/** One job as it stands, from the server's memo while it is open and from its record afterwards. Times in milliseconds. */
export type JobInfo = {
  id: string;
  open: boolean;
  title: string;
  dir: string;
  status: JobStatus;
  why?: JobWhy;
  /** What it waits for, or how it failed, in a sentence. */
  text?: string;
  until?: number;
  prompts: JobMemo['prompts'];
  /** How many prompts it ever asked. */
  asked: number;
  startedAt: number;
  updatedAt: number;
  record?: JobRecord;
};

/** An open job, by what it shows of itself. */
export function openJob(id: string, memo: unknown, startedAt: number): JobInfo {
  if (!isMemo(memo)) {
    const text = 'this job shows nothing of itself; it was not started by nightshift';
    return {
      id,
      open: true,
      title: id,
      dir: '',
      status: 'running',
      text,
      prompts: [],
      asked: 0,
      startedAt,
      updatedAt: startedAt,
    };
  }
  const { title, dir, status, prompts, asked, updatedAt } = memo;
  return {
    id,
    open: true,
    title,
    dir,
    status,
    prompts,
    asked,
    startedAt,
    updatedAt,
    ...(memo.why === undefined ? {} : { why: memo.why }),
    ...(memo.text === undefined ? {} : { text: memo.text }),
    ...(memo.until === undefined ? {} : { until: memo.until }),
  };
}

/** A job that has ended, by its record. */
export function endedJob(record: JobRecord, config: { title: string; dir: string }): JobInfo {
  return {
    id: record.id,
    open: false,
    title: config.title,
    dir: config.dir,
    status: record.status,
    prompts: [],
    record,
    ...(record.why === undefined ? {} : { why: record.why }),
    ...(record.error === undefined ? {} : { text: record.error }),
    asked: record.state.asked,
    startedAt: record.startedAt,
    updatedAt: record.endedAt,
  };
}

/** A job that neither runs nor left a record: ended from outside, or the server lost it. `at`: when it was last heard of. */
export function lostJob(id: string, how: string, known: { title: string; dir: string; at: number }): JobInfo {
  const { title, dir, at } = known;
  const text = `${how}, and it left no record; what it did so far: nightshift show ${id}`;
  return {
    id,
    open: false,
    title,
    dir,
    status: 'failed',
    why: 'error',
    text,
    prompts: [],
    asked: 0,
    startedAt: at,
    updatedAt: at,
  };
}

/** Whether waiting for the job is over: nothing more happens by itself. */
export function isSettled(info: Pick<JobInfo, 'status'>): boolean {
  return info.status !== 'running' && info.status !== 'waiting';
}

/** The exit code of `run` and `result` for how a job stands: 1 for one that has no result yet; `interrupted`: its last turn was ended by a person. */
export function exitCodeOf(info: Pick<JobInfo, 'status' | 'why'>, interrupted = false): Exit {
  switch (info.status) {
    case 'failed':
    case 'running':
    case 'waiting':
      return Exit.failed;
    case 'stopped':
      return endedAtLimit(info.why) ? Exit.limit : Exit.failed;
    case 'cancelled':
      return Exit.cancelled;
    case 'idle':
      return interrupted ? Exit.cancelled : Exit.ok;
    case 'done':
      return Exit.ok;
  }
}

/** Also the limits that nobody sets: the same call again and again, a context that fills up at once. */
function endedAtLimit(why: JobWhy | undefined): boolean {
  return isLimit(why) || why === 'same_call' || why === 'refill';
}

function isMemo(value: unknown): value is JobMemo {
  return typeof value === 'object' && value !== null && 'status' in value && 'prompts' in value && 'title' in value;
}
