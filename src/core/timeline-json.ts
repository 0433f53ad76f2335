import type { CallOutcome } from '../shapes/event.ts';
import type { Micros } from '../shapes/ids.ts';
import type { Usage } from '../shapes/message.ts';
import type { TaskStatus } from '../shapes/task.ts';
import type { CallState, Timeline, TimelineCall, TimelineStep, TimelineTask } from '../shapes/timeline.ts';

/** What `show --json` prints of a job's turns: times in ISO 8601, money in dollars, null for what is not known (yet). */
export type TurnJson = {
  n: number;
  status: string;
  input: string;
  startedAt: string;
  endedAt: string | null;
  steps: StepJson[];
};
export type StepJson = {
  n: number;
  /** What people wrote into the turn before this step. */
  messages: string[];
  costUsd: number;
  usage: Usage;
  text: string;
  calls: CallJson[];
};
export type CallJson = {
  id: string;
  index: number;
  name: string;
  brief: string;
  input: unknown;
  state: CallState;
  isError: boolean | null;
  outcome: CallOutcome | null;
  decision: { behavior: string; reason: string } | null;
  owners: number;
  startedAt: string | null;
  endedAt: string | null;
  result: { bytes: number; preview: string; path: string | null } | null;
};

export type TaskJson = {
  id: string;
  kind: TimelineTask['kind'];
  status: TaskStatus;
  brief: string;
  startedAt: string;
  endedAt: string | null;
  outputFile: string;
};

/** The timeline as `show --json` prints it. */
export function toJson({ turns, tasks }: Timeline): { tasks: TaskJson[]; turns: TurnJson[] } {
  return {
    tasks: tasks.map(({ id, kind, status, brief, startedAt, endedAt, outputFile }) => ({
      id,
      kind,
      status,
      brief,
      startedAt: iso(startedAt)!,
      endedAt: iso(endedAt),
      outputFile,
    })),
    turns: turns.map(({ n, status, input, startedAt, endedAt, steps }) => ({
      n,
      status,
      input,
      startedAt: iso(startedAt)!,
      endedAt: iso(endedAt),
      steps: steps.map(stepJson),
    })),
  };
}

/** What all steps together took. */
export function totals({ turns }: Timeline): { steps: number; spent: Micros; usage: Usage } {
  const steps = turns.flatMap((turn) => turn.steps);
  return {
    steps: steps.filter(({ replies }) => replies.length > 0).length,
    spent: steps.reduce((sum, step) => sum + spentOf(step), 0),
    usage: sumUsage(steps.map(usageOf)),
  };
}

/** What happens in the job now, for a live view: the place, the request that streams, the calls that run or wait. */
export function liveOf({ turns }: Timeline): {
  turn?: number;
  step?: number;
  model?: TimelineStep['live'];
  running: TimelineCall[];
  asking: TimelineCall[];
} {
  const turn = turns.at(-1);
  const step = turn?.steps.at(-1);
  if (!turn || !step) return { ...(turn ? { turn: turn.n } : {}), running: [], asking: [] };
  return {
    turn: turn.n,
    step: step.n,
    ...(step.live ? { model: step.live } : {}),
    running: step.calls.filter((call) => call.state === 'executing' && !call.asked),
    asking: step.calls.filter((call) => call.asked),
  };
}

function stepJson(step: TimelineStep): StepJson {
  const text = step.replies.map((reply) => reply.text).join('');
  return {
    n: step.n,
    messages: step.messages.map((message) => message.text),
    costUsd: spentOf(step) / 1e6,
    usage: usageOf(step),
    text,
    calls: step.calls.map(callJson),
  };
}

function callJson({ id, index, name, brief, input = null, state, owners, ...call }: TimelineCall): CallJson {
  const { decision, end } = call;
  return {
    id,
    index,
    name,
    brief,
    input,
    state,
    isError: end?.isError ?? null,
    outcome: end?.outcome ?? null,
    decision: decision ? { behavior: decision.behavior, reason: decision.text } : null,
    owners,
    startedAt: iso(call.startedAt),
    endedAt: iso(call.endedAt),
    result: end ? { bytes: end.bytes, preview: end.preview, path: end.path ?? null } : null,
  };
}

const spentOf = ({ replies, failures, calls }: TimelineStep): Micros =>
  [...replies, ...failures].reduce((sum, { spent }) => sum + spent, 0) +
  calls.reduce((sum, { described = 0 }) => sum + described, 0);

const usageOf = ({ replies }: TimelineStep): Usage => sumUsage(replies.map(({ usage }) => usage));

function sumUsage(usages: readonly Usage[]): Usage {
  const sum: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };
  for (const usage of usages) {
    sum.input += usage.input;
    sum.output += usage.output;
    sum.cacheRead += usage.cacheRead;
    sum.cacheWrite5m += usage.cacheWrite5m;
    sum.cacheWrite1h += usage.cacheWrite1h;
  }
  return sum;
}

const iso = (at: number | undefined): string | null => (at === undefined ? null : new Date(at).toISOString());
