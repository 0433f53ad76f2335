import { type StepJson, toJson } from '../core/timeline-json.ts';
import type { Timeline, TimelineCall, TimelineStep, TimelineTurn } from '../shapes/timeline.ts';
import type { JobRow } from './commands/ls.ts';
import type { Paint } from './paint.ts';
import { decisionLine, hookLine } from './render-hook.ts';
import { callLine, nextSteps, questionLines, statusText } from './render.ts';
import { clock, cut, dollars, duration, many, oneLine, plain, size } from './text.ts';
import { troubleText } from './trouble.ts';

type Drawing = { now: number; width: number; paint: Paint };

/** A job for people: turn by turn, step by step, each call with its decision and outcome, at the end what is unsure. */
export function showLines(row: JobRow, timeline: Timeline, at: Drawing): string[] {
  const { paint, width, now } = at;
  const end = row.status === 'running' || row.status === 'waiting' ? now : Date.parse(row.updatedAt);
  const facts = [
    row.dir,
    timeline.model,
    timeline.mode === 'default' ? undefined : timeline.mode,
    dollars(Math.round(row.costUsd * 1_000_000)),
    duration(end - Date.parse(row.startedAt)),
  ];
  const until = row.until === null ? '' : ` until ${clock(Date.parse(row.until), now)}`;
  return [
    `${paint.bold(row.id)}  ${statusText(row.status, row.why ?? undefined)}${until}`,
    cut(oneLine(row.title), width),
    paint.dim(cut(facts.filter((fact) => fact !== undefined && fact !== '').join(' · '), width)),
    ...(row.text === null ? [] : [paint.yellow(oneLine(row.text))]),
    ...(row.trouble === null ? [] : [paint.red(troubleText(row.trouble, now))]),
    ...timeline.warnings.map((text) => paint.yellow(`! ${oneLine(text)}`)),
    ...hookLines(timeline, {}, 2, at),
    ...toJson(timeline).turns.flatMap(({ steps }, n) => turnLines(timeline, timeline.turns[n], steps, at)),
    ...taskLines(timeline, at),
    ...unsureLines(timeline, at),
    ...(timeline.lost === 0
      ? []
      : ['', paint.yellow(`${many(timeline.lost, 'event')} could not be written; this is not all that happened`)]),
    ...timeline.prompts.flatMap((prompt) => [
      '',
      ...questionLines(prompt, questionOf(timeline, prompt.key), width, paint),
    ]),
    ...hints(row).map((text) => paint.dim(text)),
  ];
}

/** What hooks had to say about the job, a step or a call. */
function hookLines(
  { hooks }: Timeline,
  place: { turn?: number; step?: number; index?: number },
  indent: number,
  { width, paint }: Drawing,
): string[] {
  const { turn, step, index } = place;
  return hooks
    .filter((hook) => hook.turn === turn && hook.step === step && hook.index === index)
    .map((hook) => `${' '.repeat(indent)}${hookLine(hook, width - indent, paint)}`);
}

function turnLines(
  timeline: Timeline,
  turn: TimelineTurn | undefined,
  counted: readonly StepJson[],
  at: Drawing,
): string[] {
  if (turn === undefined) return [];
  const head = `turn ${turn.n}${turn.input === '' ? '' : ` · ${oneLine(turn.input)}`} · ${turn.status}`;
  const steps = turn.steps.flatMap((step, n) => stepLines(timeline, turn.n, step, counted[n], at));
  return ['', at.paint.bold(cut(head, at.width)), ...steps];
}

function stepLines(
  timeline: Timeline,
  turn: number,
  step: TimelineStep,
  counted: StepJson | undefined,
  at: Drawing,
): string[] {
  const { paint, width } = at;
  const facts = step.replies.length === 0 || counted === undefined ? 'the model is asked' : countedText(counted);
  const text = step.replies.length === 0 ? (step.live?.text ?? '') : (counted?.text ?? '');
  return [
    ...step.messages.map((message) => cut(`  > ${oneLine(message.text)}`, width)),
    paint.dim(cut(`  step ${step.n} · ${facts}`, width)),
    ...step.failures.map(({ error }) => paint.yellow(cut(`    ! ${oneLine(error)}`, width))),
    ...textLines(text).map((line) => cut(`    ${line}`, width)),
    ...hookLines(timeline, { turn, step: step.n }, 4, at),
    ...step.calls.flatMap((call) => [
      ...callLines(call, at),
      ...hookLines(timeline, { turn, step: step.n, index: call.index }, 8, at),
    ]),
  ];
}

function countedText({ costUsd, usage }: StepJson): string {
  const sent = usage.input + usage.cacheRead + usage.cacheWrite5m + usage.cacheWrite1h;
  const cached = sent === 0 ? '' : `, ${Math.round((100 * usage.cacheRead) / sent)}% of it cached`;
  return [dollars(Math.round(costUsd * 1_000_000)), `${sent} tokens in${cached}`, `${usage.output} out`].join(' · ');
}

/** A step that asks for calls often says little; of a long text the first lines do. */
function textLines(text: string): string[] {
  const lines = plain(text).trim().split('\n');
  if (lines.length === 1 && lines[0] === '') return [];
  return lines.length <= 12 ? lines : [...lines.slice(0, 12), `… ${lines.length - 12} more lines`];
}

function callLines(call: TimelineCall, { now, width, paint }: Drawing): string[] {
  const time = call.startedAt === undefined ? '' : duration((call.endedAt ?? now) - call.startedAt);
  const state = call.state === 'queued' ? 'queued' : time;
  const line = callLine(call.end ?? 'running', call, state, width - 2, paint);
  const decision = call.decision && `${call.decision.behavior}: ${oneLine(call.decision.text)}`;
  const notes = [
    call.owners > 1 ? `${call.owners} workers had it` : undefined,
    call.end === undefined ? undefined : size(call.end.bytes),
    call.end?.path,
  ];
  const rest = notes.filter((note) => note !== undefined && note !== '').join(' · ');
  const shown = decision === undefined ? cut(rest, width - 8) : decisionLine(decision, rest, width - 8);
  return [`  ${line}`, ...(shown === '' ? [] : [paint.dim(`        ${shown}`)])];
}

/** Commands that went on in the background, with their output files. */
function taskLines({ tasks }: Timeline, { now, width, paint }: Drawing): string[] {
  if (tasks.length === 0) return [];
  const lines = tasks.flatMap(({ id, status, brief, startedAt, endedAt, outputFile }) => [
    cut(`  ${id} ${status} ${duration((endedAt ?? now) - startedAt)}  ${oneLine(brief)}`, width),
    paint.dim(`    ${outputFile}`),
  ]);
  return ['', paint.bold('in the background'), ...lines];
}

/** Calls of which nobody knows whether they happened. */
function unsureLines(timeline: Timeline, { width, paint }: Drawing): string[] {
  const unsure = timeline.turns.flatMap((turn) =>
    turn.steps.flatMap((step) =>
      step.calls
        .filter((call) => call.end?.outcome === 'unknown')
        .map((call) => `  ${turn.n}.${step.n}.${call.index} ${oneLine(`${call.name} ${call.brief}`)}`),
    ),
  );
  if (unsure.length === 0) return [];
  const head = `unsure: of ${many(unsure.length, 'call')} nobody knows whether it took effect`;
  return ['', paint.red(head), ...unsure.map((line) => cut(line, width))];
}

function questionOf(timeline: Timeline, key: string): Parameters<typeof questionLines>[1] {
  const calls = timeline.turns.flatMap((turn) => turn.steps.flatMap((step) => step.calls));
  const call = calls.find((call) => call.asked?.key === key);
  return call?.asked === undefined ? undefined : { ...call.asked, input: call.input };
}

function hints(row: JobRow): string[] {
  const lines = nextSteps(row.id, row.status, row.why ?? undefined).filter((line) => !line.includes('nightshift show'));
  return lines.length === 0 ? [] : ['', ...lines];
}
