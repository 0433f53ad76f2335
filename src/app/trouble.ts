import type { WorkflowExecutionDescription } from '@temporalio/client';
import { duration, many, oneLine } from './text.ts';

/** What holds up a job that is open: a step that fails and is tried again, or that nobody takes up. */
export type Trouble = {
  /** What is wrong and what mends it. */
  text: string;
  /** Tries that failed; 0 when nobody has taken it up. */
  attempts: number;
  /** When it is tried again, in ms since the epoch; null: now, or as soon as there is somebody. */
  next: number | null;
};

type Description = WorkflowExecutionDescription['raw'];
type Pending = NonNullable<Description['pendingActivities']>[number];
type Timestamp = Pending['scheduledTime'];
/** A step that waits for a worker or has one, as the server describes it. */
export type PendingStep = Omit<Pending, 'state'> & { state?: number | null };

// The server's numbers for `SCHEDULED` and `STARTED`; its enum is not part of the SDK's public types.
const WAITS = 1;
const RUNS = 2;
/** One failure may be gone with the next try. */
const TRIES = 2;
/** A step that has run for so long since its last failure goes on well, in ms. */
const GOES_ON_AFTER = 10_000;
/** A worker takes up a step at once; after so long there is none, in ms. */
const TAKEN_WITHIN = 15_000;
const UNTAKEN = 'no worker takes up its next step: nightshift status';
const UNDECIDED =
  'the worker fails to work out its next step, as when the job was begun by another version: nightshift up says so, the log of the worker why';

/** What a workflow of a job waits for, as the server describes it: steps, and a worker that works out the next ones. */
export type Pendings = { pendingActivities?: PendingStep[] | null; pendingWorkflowTask?: PendingDecision | null };
type PendingDecision = Omit<NonNullable<Description['pendingWorkflowTask']>, 'state'> & { state?: number | null };

/** The worst of what these workflows of a job have; `undefined` when all go on. `now` in milliseconds since the epoch. */
export function troubleOf(workflows: readonly Pendings[], now: number): Trouble | undefined {
  return workflows
    .flatMap(({ pendingActivities, pendingWorkflowTask }) => [
      ...(pendingActivities ?? []).map((step) => troubleOfStep(step, now)),
      pendingWorkflowTask ? troubleOfDecision(pendingWorkflowTask, now) : undefined,
    ])
    .reduce((worst, one) => (one === undefined || (worst && worst.attempts >= one.attempts) ? worst : one), undefined);
}

/** A trouble for people, in one line; a time may also be ISO 8601. */
export function troubleText(
  { text, attempts, next }: Omit<Trouble, 'next'> & { next: number | string | null },
  now: number,
): string {
  if (attempts === 0) return `stuck: ${oneLine(text)}`;
  const wait = next === null ? 0 : new Date(next).getTime() - now;
  const again = wait > 0 ? `next in ${duration(wait)}` : 'next now';
  return `stuck: ${oneLine(text)} (${many(attempts, 'try', 'tries')}, ${again}; once mended it goes on by itself)`;
}

function troubleOfDecision({ state, scheduledTime, attempt }: PendingDecision, now: number): Trouble | undefined {
  const tries = attempt ?? 1;
  if (tries > TRIES) return { text: UNDECIDED, attempts: tries - 1, next: null };
  const due = msOf(scheduledTime) ?? now;
  return state === WAITS && due < now - TAKEN_WITHIN ? { text: UNTAKEN, attempts: 0, next: null } : undefined;
}

function troubleOfStep(step: PendingStep, now: number): Trouble | undefined {
  const { state } = step;
  const attempt = step.attempt ?? 1;
  const failure = step.lastFailure;
  const due = msOf(step.nextAttemptScheduleTime) ?? msOf(step.scheduledTime) ?? now;
  if (state === WAITS && due < now - TAKEN_WITHIN) return { text: UNTAKEN, attempts: 0, next: null };
  // A time-out is the death of a worker: the next pass takes over, and that is no trouble.
  if (!failure || failure.timeoutFailureInfo) return undefined;
  const text = failure.message || 'it fails, and says nothing of why';
  if (state === WAITS && attempt > TRIES) return { text, attempts: attempt - 1, next: due };
  const runs = now - (msOf(step.lastStartedTime) ?? now);
  return state === RUNS && attempt > TRIES && runs < GOES_ON_AFTER
    ? { text, attempts: attempt - 1, next: null }
    : undefined;
}

function msOf(time: Timestamp): number | undefined {
  if (!time) return undefined;
  return Number(time.seconds?.toString() ?? 0) * 1000 + Math.floor((time.nanos ?? 0) / 1_000_000);
}
