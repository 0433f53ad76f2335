import type { JobEvent } from '../shapes/event.ts';
import type { Micros } from '../shapes/ids.ts';
import { isNotable } from '../core/timeline.ts';
import { hookLine } from './render-hook.ts';
import { callLine, closingLines, modelTrouble, openingLine, questionLines, waitHints, waitLine } from './render.ts';
import { isRepeated } from './job-summary.ts';
import type { Paint } from './paint.ts';
import { clock, cut, dollars, duration, many, oneLine, plain } from './text.ts';

type Running = { name: string; brief: string; since: number; owner: number; tail: string; told: boolean };

/** What a person who follows a job sees of it. */
export type LiveView = {
  /** Takes one event and returns the lines to print for good. */
  take(event: JobEvent): string[];
  /** What stands below the printed lines just now: text that streams, running calls, one status line. */
  bottom(now: number): string[];
  /** Running calls that take long and have no line yet, for where there is no bottom. */
  overdue(now: number): string[];
  /** A notice that is no event of the job; a line that still streams stays whole, and comes after it. */
  note(text: string): string[];
  /** The last unfinished line, when watching ends before it does. */
  rest(): string[];
};

/** `told`: warnings that whoever follows the job has read already. */
export type LiveOptions = { width: number; paint: Paint; told?: readonly string[] };

/** A call that runs for so long is worth a line, in ms. */
const LONG = 1_000;

/** A view that folds events one by one. Events may come twice; what is there already is not printed again. */
export function createLiveView(id: string, { width, paint, told = [] }: LiveOptions): LiveView {
  const running = new Map<string, Running>();
  const ended = new Set<string>();
  const started = new Set<string>();
  const over = new Set<string>();
  const hooked = new Set<string>();
  const asked = new Map<string, { text: string; suggestions: string[]; input: unknown }>();
  const prompts = new Map<string, { since: number }>();
  const inputs = new Map<string, unknown>();
  const replies = new Set<string>();
  const messages = new Set<string>();
  let streamed = '';
  let partial = '';
  let startedAt: number | undefined;
  let spent: Micros = 0;
  let turn = 0;
  let step = 0;
  let doing = 'starting';
  let waits: { text: string; until: number | null } | undefined;

  return { take, bottom, overdue, note: (text) => [`! ${text}`], rest };

  function take(event: JobEvent): string[] {
    startedAt ??= event.at;
    switch (event.kind) {
      case 'job.opened':
        return [
          openingLine(event, id, width, paint),
          ...event.warnings.filter((text) => !told.includes(text)).map((text) => paint.yellow(`! ${oneLine(text)}`)),
        ];
      case 'job.waiting':
        waits = { text: waitLine(event, event.at), until: event.until };
        return [...rest(), paint.yellow(cut(`‖ ${waits.text}`, width)), ...waitHints(id, event.why)];
      case 'job.resumed':
        waits = undefined;
        return [];
      case 'job.closed':
        running.clear();
        doing = event.status;
        spent = Math.max(spent, event.spent);
        return [...rest(), ...closingLines(event, { id, spent, ms: event.at - startedAt, turn, width, paint })];
      case 'turn.started':
        if (event.turn <= turn) return [];
        turn = event.turn;
        return turn === 1 ? [] : ['', paint.dim(cut(`> ${oneLine(event.input)}`, width))];
      case 'turn.ended':
        return [...rest(), paint.yellow(cut(`‖ ${turnEnd(event)}`, width))];
      default:
        return takeStep(event);
    }
  }

  function takeStep(event: Exclude<JobEvent, { kind: `job.${string}` | `turn.${string}` }>): string[] {
    switch (event.kind) {
      case 'message.taken':
        if (messages.has(event.id)) return [];
        messages.add(event.id);
        return [...rest(), paint.dim(cut(`> ${oneLine(event.text)}`, width))];
      case 'model.started': {
        ({ step } = event);
        waits = undefined;
        doing = 'the model';
        const again = event.attempt > 1 ? [paint.dim(`  asked again (attempt ${event.attempt})`)] : [];
        const lines = [...rest(), ...again];
        streamed = '';
        return lines;
      }
      case 'model.text':
        doing = event.thinking ? 'thinking' : 'the model';
        return event.thinking ? [] : stream(event.text);
      case 'model.ended': {
        if (isRepeated(replies, event)) return [];
        spent += event.spent;
        doing = event.calls.length > 0 ? 'calls' : 'closing';
        for (const { index, input } of event.calls) inputs.set(callKey({ ...event, index }), input);
        const lines = [...stream(unsaid(event.text, streamed)), ...rest()];
        streamed = '';
        return event.cut ? [...lines, paint.dim('  the reply was cut off; what was whole is kept')] : lines;
      }
      case 'model.failed':
        spent += event.spent;
        return [...rest(), paint.yellow(cut(modelTrouble(event), width))];
      case 'call.started': {
        const key = callKey(event);
        if (ended.has(key)) return [];
        const known = running.get(key);
        running.set(key, { ...event, since: known?.since ?? event.at, tail: '', told: known?.told ?? false });
        if (event.owner > 1 && event.owner !== known?.owner) {
          return [paint.dim(cut(`  a worker died in ${event.name}; another one has it now`, width))];
        }
        return [];
      }
      case 'call.progress': {
        const call = running.get(callKey(event));
        if (call) call.tail = oneLine(event.text.trimEnd().split('\n').at(-1) ?? '');
        return [];
      }
      case 'call.decided':
        return [];
      case 'call.asked':
        asked.set(event.key, { ...event, input: inputs.get(callKey(event)) });
        running.delete(callKey(event));
        return [];
      case 'call.ended': {
        const key = callKey(event);
        if (ended.has(key)) return [];
        ended.add(key);
        const call = running.get(key);
        running.delete(key);
        const shown = call ?? { name: 'call', brief: '', since: event.at };
        return [callLine(event, shown, duration(event.at - shown.since), width, paint)];
      }
      case 'prompt.opened': {
        if (prompts.has(event.id)) return [];
        prompts.set(event.id, event);
        const why = asked.get(event.key);
        return [...rest(), ...questionLines(event, why, width, paint)];
      }
      case 'hook.ended': {
        const key = `${event.at} ${event.hook}`;
        if (!isNotable(event) || hooked.has(key)) return [];
        hooked.add(key);
        return [...rest(), `  ${hookLine(event, width - 2, paint)}`];
      }
      case 'task.started':
        if (started.has(event.id)) return [];
        started.add(event.id);
        return [paint.dim(cut(`  ↷ ${event.id} goes on in the background`, width))];
      case 'task.ended':
        if (over.has(event.id)) return [];
        over.add(event.id);
        return [...rest(), cut(`  ↶ ${event.id}: ${oneLine(event.summary)}`, width)];
      case 'prompt.answered':
        if (!event.used || !prompts.delete(event.id)) return [];
        return [paint.dim(cut(`  ${event.id}: ${event.behavior}${event.by ? ` by ${event.by}` : ''}`, width))];
      case 'prompt.withdrawn':
        if (!prompts.delete(event.id)) return [];
        return [paint.dim(cut(`  ${event.id}: ${oneLine(event.text)}`, width))];
      case 'prompt.told':
        if (event.ok) return [];
        return [paint.yellow(cut(`  ! ${event.id}: ${oneLine(event.to)} was not told: ${oneLine(event.text)}`, width))];
      case 'rules.saved':
        if (event.text === undefined) return [];
        return [paint.yellow(cut(`  ! ${oneLine(event.file)}: ${oneLine(event.text)}`, width))];
      case 'events.lost':
        return [paint.dim(cut(`  … ${many(event.lines, 'event')} could not be written (${event.error})`, width))];
      // A kind of a later version.
      default:
        return [];
    }
  }

  function overdue(now: number): string[] {
    const late = [...running.values()].filter((call) => !call.told && now - call.since >= LONG);
    for (const call of late) call.told = true;
    return late.map((call) => callLine('running', call, '', width, paint));
  }

  /** Adds streamed text; whole lines are returned, the last one waits for its end. */
  function stream(text: string): string[] {
    streamed += text;
    const lines = (partial + plain(text)).split('\n');
    partial = lines.pop() ?? '';
    return lines;
  }

  function rest(): string[] {
    const lines = partial.trim() === '' ? [] : [partial];
    partial = '';
    return lines;
  }

  function bottom(now: number): string[] {
    const calls = [...running.values()].slice(0, 12).map((call) => {
      const tail = call.tail === '' ? '' : ` · ${call.tail}`;
      return callLine('running', { ...call, brief: call.brief + tail }, duration(now - call.since), width, paint);
    });
    return [
      ...(partial === '' ? [] : (partial.match(new RegExp(`.{1,${width}}`, 'gu')) ?? [])),
      ...calls,
      statusLine(now),
    ];
  }

  function statusLine(now: number): string {
    const oldest = [...prompts.entries()][0];
    const what = oldest
      ? `${oldest[0]} waits for your answer: ${duration(now - oldest[1].since)}`
      : (waits?.until && `waits until ${clock(waits.until, now)}: ${waits.text}`) || waits?.text || doing;
    const place = step > 0 ? [`step ${turn > 1 ? `${turn}.` : ''}${step}`] : [];
    const time = startedAt === undefined ? [] : [duration(now - startedAt)];
    return paint.dim(cut(`· ${[...place, dollars(spent), ...time, what].join(' · ')}`, width));
  }
}

function turnEnd({ how, brief }: Extract<JobEvent, { kind: 'turn.ended' }>): string {
  return `turn ended: ${how}${brief === '' ? '' : `, ${oneLine(brief)}`}`;
}

function callKey(event: { turn: number; step: number; index: number }): string {
  return `${event.turn}.${event.step}.${event.index}`;
}

/** What of a finished text was not streamed. The two may be laid out differently; a text that was begun anew is said whole. */
function unsaid(text: string, streamed: string): string {
  let at = 0;
  for (const letter of streamed.replace(/\s+/g, '')) {
    while (/\s/.test(text.charAt(at))) at += 1;
    if (at >= text.length) return '';
    if (!text.startsWith(letter, at)) return `\n${text}`;
    at += letter.length;
  }
  const left = text.slice(at);
  return left.trim() === '' ? '' : left;
}
