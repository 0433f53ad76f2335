import type { Conversation } from './conversation.ts';
import { parseDuration, parsePattern, parsePoint, type Point } from './notation.ts';
import type { Script, Step } from './script.ts';

/** What goes wrong with one request. */
export type Trouble =
  | ({ kind: 'fail' } & NonNullable<Step['fail']>[number])
  | { kind: 'cut'; after: Point; how: 'fin' | 'close' | 'reset' }
  | { kind: 'stall'; after: Point; ms: number; pings: boolean }
  | { kind: 'error'; after: Point; type: string; message: string };

/** A step as it is played: defaults applied, repeats unrolled. */
export interface PlannedStep {
  step: Step;
  /** Counts from 1 inside a repeated step. */
  n: number;
  pace: Pace;
  expect: Array<{ written: string; fits: (text: string) => boolean }>;
}

/** Milliseconds and characters. */
export interface Pace {
  delay: number;
  duration: number;
  pingEvery?: number;
  chunk: number;
}

interface PlannedJob {
  name: string;
  match?: string;
  fits: (text: string) => boolean;
  steps: PlannedStep[];
}

/** A checked script in the form in which it is played. */
export type Plan = readonly PlannedJob[];

const CHUNK = 40;

/** Unrolls a checked script. */
export function planScript(script: Script): Plan {
  const jobs = script.jobs ?? [{ name: 'job', steps: script.steps ?? [] }];
  return jobs.map((job, i) => ({
    name: job.name ?? job.match ?? `job ${i + 1}`,
    ...(job.match !== undefined && { match: job.match }),
    fits: job.match === undefined ? () => true : parsePattern(job.match)!,
    steps: job.steps.flatMap((written) => {
      const step = { ...script.defaults, ...job.defaults, ...written };
      const planned = { step, pace: paceOf(step), expect: expectOf(step) };
      return Array.from({ length: step.repeat ?? 1 }, (_, k) => ({ ...planned, n: k + 1 }));
    }),
  }));
}

function paceOf(step: Step): Pace {
  const every = parseDuration(step.ping_every);
  return {
    delay: parseDuration(step.delay) ?? 0,
    duration: parseDuration(step.duration) ?? 0,
    chunk: step.chunk ?? CHUNK,
    ...(every !== undefined && every > 0 && { pingEvery: every }),
  };
}

function expectOf(step: Step): PlannedStep['expect'] {
  return (step.expect ?? []).map((written) => ({ written, fits: parsePattern(written)! }));
}

/** The step that answers a conversation, or why the script has none. `index` counts from 1. */
export type Choice =
  | { job: string; index: number; planned: PlannedStep }
  | { job?: string; index: number; problem: string };

/** The step depends on the conversation alone, so that a repeated request gets the same one. */
export function chooseStep(plan: Plan, conversation: Conversation): Choice {
  const index = conversation.past.length + 1;
  const job =
    plan.find(({ fits }) => fits(conversation.prompt)) ?? plan.find(({ fits }) => conversation.reminders.some(fits));
  if (!job) {
    const known = plan.map(({ match }) => JSON.stringify(match)).join(', ');
    const begin = JSON.stringify(conversation.prompt.slice(0, 200));
    return { index, problem: `no job matches the first user message ${begin}; the script matches ${known}` };
  }
  const planned = job.steps[index - 1];
  if (planned) return { job: job.name, index, planned };
  const held = `it has ${job.steps.length} ${job.steps.length === 1 ? 'step' : 'steps'}`;
  return {
    job: job.name,
    index,
    problem: `the script has no step ${index} for job ${JSON.stringify(job.name)}: ${held}`,
  };
}

/** What goes wrong with a step's request number `attempt` (from 1): all of fail, then cut, error_event, stall, each so many times. */
export function troubleOf(step: Step, attempt: number): Trouble | undefined {
  let before = 0;
  for (const { times, trouble } of troubles(step)) {
    before += times === 'forever' ? Infinity : (times ?? 1);
    if (attempt <= before) return trouble;
  }
  return undefined;
}

function* troubles(step: Step): Generator<{ times: number | 'forever' | undefined; trouble: Trouble }> {
  for (const fail of step.fail ?? []) yield { times: fail.times, trouble: { kind: 'fail', ...fail } };
  for (const { after, how, times } of step.cut ?? []) {
    yield { times, trouble: { kind: 'cut', after: parsePoint(after)!, how: how ?? 'close' } };
  }
  for (const { type, message, after, times } of step.error_event ?? []) {
    const point = parsePoint(after ?? '1 event')!;
    yield {
      times,
      trouble: { kind: 'error', after: point, type: type ?? 'overloaded_error', message: message ?? 'Overloaded' },
    };
  }
  for (const { after, for: time, pings, times } of step.stall ?? []) {
    const ms = parseDuration(time) ?? Infinity;
    yield { times, trouble: { kind: 'stall', after: parsePoint(after)!, ms, pings: pings ?? false } };
  }
}
