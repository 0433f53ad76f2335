import { foldEvents } from '../../core/timeline.ts';
import type { JobStatus, JobWhy } from '../../shapes/job.ts';
import type { Timeline } from '../../shapes/timeline.ts';
import type { JobClient } from '../client.ts';
import { type Io, lineWidth, print, printJson } from '../io.ts';
import type { JobInfo } from '../job-info.ts';
import { summarise } from '../job-summary.ts';
import { mapSome } from '../map-some.ts';
import { openJobs } from '../open-jobs.ts';
import { paintFor } from '../paint.ts';
import { jobTable } from '../render-table.ts';
import type { Trouble } from '../trouble.ts';

export type LsOptions = { all?: boolean; status?: JobStatus; json?: boolean };

/** A job as `ls` and `show` print it. Times are ISO 8601, money is dollars. */
export type JobRow = {
  id: string;
  title: string;
  status: JobStatus;
  why: JobWhy | null;
  text: string | null;
  until: string | null;
  activity: string | null;
  /** What holds it up though it runs; `next`: when it is tried again. */
  trouble: { text: string; attempts: number; next: string | null } | null;
  turn: number;
  step: number;
  prompts: number;
  tasks: number;
  costUsd: number;
  startedAt: string;
  updatedAt: string;
  dir: string;
};

/** So many jobs are looked at at once. */
const READERS = 8;
/** Without `--all` a job that ended so long ago is left out, in ms. */
const RECENT = 7 * 24 * 3_600_000;

/** `ls`: jobs, newest first. */
export async function ls(options: LsOptions, io: Io): Promise<number> {
  const jobs = await openJobs(io);
  try {
    const now = Date.now();
    const all = jobs === undefined ? [] : await jobs.list();
    const wanted = all.filter(
      (job) =>
        (options.all === true || job.open || now - job.updatedAt < RECENT) &&
        (options.status === undefined || job.status === options.status),
    );
    const rows = jobs === undefined ? [] : await mapSome(wanted, READERS, (job) => readRow(jobs, job));
    // The server knows only when the newest run of a job began.
    rows.sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1));
    if (options.json === true) printJson(io, rows);
    else if (rows.length > 0)
      print(
        io,
        jobTable(rows, { now, width: lineWidth(io.stdout, 100), paint: paintFor(io.isTTY, io.env) }).join('\n'),
      );
    else print(io, emptyText(all.length, options));
    return 0;
  } finally {
    await jobs?.close();
  }
}

/** One job with what its events and the server say of it. */
async function readRow(jobs: JobClient, job: JobInfo): Promise<JobRow> {
  const [events, trouble] = await Promise.all([jobs.store.events(job.id), jobs.trouble(job)]);
  return rowOf(job, foldEvents(events), trouble);
}

/** The row of a job with this timeline. */
export function rowOf(job: JobInfo, timeline: Timeline, trouble?: Trouble): JobRow {
  const summary = summarise(timeline);
  return {
    id: job.id,
    title: job.title,
    status: job.status,
    why: job.why ?? null,
    text: job.text ?? null,
    until: job.until === undefined ? null : iso(job.until),
    activity: job.status === 'running' ? summary.activity : null,
    trouble: trouble ? { ...trouble, next: trouble.next === null ? null : iso(trouble.next) } : null,
    turn: summary.turn,
    step: summary.step,
    prompts: job.prompts.length,
    tasks: job.open ? timeline.tasks.filter(({ status }) => status === 'running').length : 0,
    costUsd: (job.record?.state.spent ?? summary.spent) / 1_000_000,
    startedAt: iso(summary.startedAt ?? job.startedAt),
    updatedAt: iso(job.updatedAt),
    dir: job.dir,
  };
}

function emptyText(jobs: number, options: LsOptions): string {
  if (jobs === 0) return 'There are no jobs yet. Start one: nightshift run "…"';
  return options.status === undefined
    ? 'No job is open. Older ones: nightshift ls --all'
    : `No job is ${options.status}.`;
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
