import type { CallOutcome, JobEvent } from '../shapes/event.ts';
import type { JobStatus, JobWhy } from '../shapes/job.ts';
import type { Micros } from '../shapes/ids.ts';
import type { Paint } from './paint.ts';
import { askedLines, yesCommands } from './render-question.ts';
import { clock, cut, dollars, duration, many, oneLine, size, spread } from './text.ts';

/** How a call ended, as far as its line says it. */
export type CallEnd = Pick<Event<'call.ended'>, 'isError' | 'outcome' | 'bytes' | 'preview' | 'dropped'>;

type Event<K extends JobEvent['kind']> = Extract<JobEvent, { kind: K }>;

/** The first line of a job that is followed. */
export function openingLine(event: Event<'job.opened'>, id: string, width: number, paint: Paint): string {
  const mode = event.mode === 'default' ? '' : ` · ${event.mode}`;
  return `${paint.bold(cut(id, width))}\n${paint.dim(cut(`${oneLine(event.dir)} · ${event.model}${mode}`, width))}\n`;
}

/** One call on one line: how it stands, what it is about, what came of it, how long it took. */
export function callLine(
  end: 'running' | CallEnd,
  call: { name: string; brief: string },
  time: string,
  width: number,
  paint: Paint,
): string {
  const what = oneLine(`${call.name} ${call.brief}`);
  const note = end === 'running' ? '' : outcomeNote(end);
  const line = spread(`  ${mark(end)} ${what}`, [note, time].filter((part) => part !== '').join('  '), width);
  if (end === 'running') return paint.cyan(line);
  if (end.outcome === 'ok') return line;
  return end.outcome === 'adopted' || end.outcome === 'probed' ? paint.yellow(line) : paint.red(line);
}

/** The sign of a call. */
function mark(end: 'running' | { isError: boolean; outcome: CallOutcome }): string {
  if (end === 'running') return '●';
  if (end.outcome === 'unknown') return '?';
  if (end.outcome === 'cancelled' || end.outcome === 'denied') return '–';
  return end.isError ? '✗' : '✓';
}

/** What is to be said of an end beside its sign. */
function outcomeNote(end: CallEnd): string {
  const { outcome } = end;
  if (outcome === 'error') return cut(oneLine(end.preview.split('\n')[0] ?? ''), 32);
  if (outcome === 'denied') return 'denied';
  if (outcome === 'cancelled') return cut(oneLine(end.dropped ?? 'cancelled'), 40);
  if (outcome === 'unknown') return 'outcome unknown';
  if (outcome === 'adopted') return 'adopted';
  if (outcome === 'probed') return 'found done';
  return end.bytes > 50_000 ? size(end.bytes) : '';
}

/** A question: the whole input of the call, why it is asked, and the commands that answer it. */
export function questionLines(
  prompt: Pick<Event<'prompt.opened'>, 'id' | 'tool' | 'brief'>,
  why: { text: string; suggestions: string[]; input?: unknown } | undefined,
  width: number,
  paint: Paint,
): string[] {
  const { id, tool, brief } = prompt;
  const input = why?.input === undefined ? [oneLine(brief)] : askedLines(tool, why.input);
  const always = why !== undefined && why.suggestions.length > 0;
  return [
    paint.yellow(cut(`  ? ${oneLine(tool)} asks (${id})`, width)),
    ...input.map((line) => `      ${line}`),
    ...(why === undefined || why.text === '' ? [] : [paint.dim(`    ${oneLine(why.text)}`)]),
    ...yesCommands(id, tool, why?.input).map((line) => `    ${line}`),
    ...(always
      ? [
          `    nightshift allow --always ${id}   # ${oneLine(why.suggestions.join(', '))}`,
          `    nightshift allow --save ${id}   # the same, kept for later jobs`,
        ]
      : []),
    `    nightshift deny ${id} --message "…"`,
  ];
}

/** What a job waits for; `until` in local time. */
export function waitLine(wait: { why?: JobWhy; text?: string; until?: number | null }, now: number): string {
  const what = wait.text === undefined || wait.text === '' ? wait.why : oneLine(wait.text);
  const until = wait.until === undefined || wait.until === null ? '' : ` until ${clock(wait.until, now)}`;
  return `waits${until}: ${what ?? 'something'}`;
}

/** The command that ends a wait, where a person can. */
export function waitHints(id: string, why: JobWhy | undefined): string[] {
  const hint = why === undefined ? undefined : WAIT_HINTS[why];
  return hint === undefined ? [] : [`    ${hint.replace('ID', id)}`];
}

const WAIT_HINTS: Partial<Record<JobWhy, string>> = {
  credentials: 'export ANTHROPIC_API_KEY=… && nightshift up',
  limit:
    'nightshift resume ID --max-usd X   # or --max-steps N, --max-turns N, --deadline 8h: the limit that is reached',
  permission: 'nightshift inbox',
};

/** A model request that failed and is made again. */
export function modelTrouble(event: Event<'model.failed'>): string {
  const until = event.until === null ? '' : `, again at ${clock(event.until, event.at)}`;
  return `  ! model: ${oneLine(event.error)}${until}`;
}

/** How a job ended, and what to do when it did not end well. */
export function closingLines(
  event: Event<'job.closed'>,
  run: { id: string; spent: Micros; ms: number; turn: number; width: number; paint: Paint },
): string[] {
  const { id, paint, width } = run;
  const facts = [duration(run.ms), dollars(run.spent), many(Math.max(1, run.turn), 'turn')].join(' · ');
  const line = cut(`${statusText(event.status, event.why)} · ${facts}`, width);
  const colour = event.status === 'done' || event.status === 'idle' ? paint.green : paint.red;
  const error = event.error === undefined ? [] : [paint.red(oneLine(event.error))];
  return ['', colour(line), ...error, ...nextSteps(id, event.status, event.why).map((text) => paint.dim(text))];
}

/** A status for people: `stopped at its limit (usd)`. */
export function statusText(status: JobStatus, why: JobWhy | undefined): string {
  return why === undefined ? status : `${status} (${why})`;
}

/** Commands that fit how a job stands. */
export function nextSteps(id: string, status: JobStatus, why: JobWhy | undefined): string[] {
  switch (status) {
    case 'stopped':
      return [STOPPED_HINTS[why ?? 'error'] ?? 'nightshift resume ID'].map((text) => text.replace('ID', id));
    case 'failed':
      return [`nightshift show ${id}     # what happened`, `nightshift resume ${id}   # go on from there`];
    case 'cancelled':
      return [`nightshift resume ${id}   # go on from there`];
    case 'idle':
      return [`nightshift send ${id} "…"`];
    case 'waiting':
      // Questions are shown with their own commands.
      return why === 'permission' ? [] : waitHints(id, why).map((text) => text.trim());
    case 'running':
    case 'done':
      return [];
  }
}

const STOPPED_HINTS: Partial<Record<JobWhy, string>> = {
  turns: 'nightshift resume ID --max-turns N',
  steps: 'nightshift resume ID --max-steps N',
  usd: 'nightshift resume ID --max-usd X',
  deadline: 'nightshift resume ID --deadline 8h',
  same_call: 'nightshift send ID "…"   # tell it another way',
  denied: 'nightshift send ID "…"   # tell it another way',
  refusal: 'nightshift send ID "…"   # tell it another way',
};
