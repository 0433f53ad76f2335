import { liveOf, totals } from '../core/timeline-json.ts';
import type { Micros } from '../shapes/ids.ts';
import type { JobEvent } from '../shapes/event.ts';
import type { Usage } from '../shapes/message.ts';
import type { Timeline } from '../shapes/timeline.ts';
import { oneLine } from './text.ts';

/** What lists and results need to know of a job, from its timeline. */
export type JobSummary = {
  /** When it first began, in milliseconds since the epoch. */
  startedAt?: number;
  /** Number of the last turn, and of its last step; 0 before the first. */
  turn: number;
  step: number;
  /** How many turns and steps there were in all. */
  turns: number;
  steps: number;
  spent: Micros;
  usage: Usage;
  /** What it is at just now: `model`, or the first running call. */
  activity: string | null;
  /** The text of the last step that asked for no call. */
  answer: string;
  /** The last turn has no answer: it runs, or somebody ended it. */
  unanswered: boolean;
};

/** What a timeline comes to. */
export function summarise(timeline: Timeline): JobSummary {
  const { turns } = timeline;
  const live = liveOf(timeline);
  const call = live.running[0];
  const startedAt = turns[0]?.startedAt;
  return {
    ...(startedAt === undefined ? {} : { startedAt }),
    turn: live.turn ?? 0,
    step: live.step ?? 0,
    turns: turns.length,
    ...totals(timeline),
    activity: live.model ? 'model' : call ? oneLine(`${call.name} ${call.brief}`) : null,
    answer: lastAnswer(timeline),
    unanswered: turns.length > 0 && turns.at(-1)?.status !== 'answered',
  };
}

function lastAnswer({ turns }: Timeline): string {
  const steps = turns.toReversed().flatMap((turn) => turn.steps.toReversed());
  const answer = steps.find((step) => step.replies.length > 0 && step.calls.length === 0);
  return answer?.replies.map((reply) => reply.text).join('') ?? '';
}

/** Whether a reply was told before, because its activity ran again. A step that goes on after a pause has another one. */
export function isRepeated(seen: Set<string>, event: Extract<JobEvent, { kind: 'model.ended' }>): boolean {
  const key = JSON.stringify([event.turn, event.step, event.text, event.calls.map((call) => call.id), event.usage]);
  if (seen.has(key)) return true;
  seen.add(key);
  return false;
}
