import type { JobEvent } from '../shapes/event.ts';
import { dollars, many, oneLine } from './text.ts';

/** One event as one line: time in UTC, place, what happened. */
export function logLine(event: JobEvent): string {
  const time = new Date(event.at).toISOString();
  return oneLine(`${time} ${placeOf(event)} ${event.kind} ${detail(event)}`);
}

function placeOf(event: JobEvent): string {
  if ('index' in event) return `${event.turn}.${event.step}.${event.index}`;
  if ('step' in event) return `${event.turn}.${event.step}`;
  return 'turn' in event ? `${event.turn}` : '-';
}

function detail(event: JobEvent): string {
  switch (event.kind) {
    case 'job.opened':
      return `${event.title} (${event.dir}, ${event.model}, ${event.mode})${event.warnings.map((text) => `; ${text}`).join('')}`;
    case 'job.waiting':
      return `${event.why}: ${event.text}${event.until === null ? '' : ` until ${new Date(event.until).toISOString()}`}`;
    case 'job.resumed':
      return '';
    case 'job.closed':
      return [event.status, event.why, event.error, dollars(event.spent)]
        .filter((part) => part !== undefined)
        .join(' ');
    case 'turn.started':
      return event.input;
    case 'message.taken':
      return event.text;
    case 'turn.ended':
      return `${event.how} ${event.brief}`;
    case 'model.started':
      return event.attempt > 1 ? `attempt ${event.attempt}` : '';
    case 'model.text':
      return `${event.thinking ? '(thinking) ' : ''}${event.text}`;
    case 'model.ended':
      return `${many(event.calls.length, 'call')} ${dollars(event.spent)} ${event.text}`;
    case 'model.failed':
      return `${event.error} ${dollars(event.spent)}`;
    case 'call.started':
      return `${event.name} ${event.brief}${event.owner > 1 ? ` (owner ${event.owner})` : ''}`;
    case 'call.decided':
      return `${event.behavior}: ${event.text}`;
    case 'call.described':
      return `${event.model}: ${event.fits === null ? 'no' : `"${event.fits}"`} (${event.text}) ${dollars(event.spent)}`;
    case 'call.asked':
      return event.text;
    case 'call.progress':
      return `${event.bytes} bytes ${event.text.split('\n').at(-1) ?? ''}`;
    case 'call.ended':
      return `${event.outcome} ${event.bytes} bytes ${event.dropped ?? event.preview}`;
    case 'events.lost':
      return `${event.lines} events could not be written: ${event.error}`;
    case 'task.started':
      return `${event.id} ${event.brief}`;
    case 'task.ended':
      return `${event.id} ${event.status}: ${event.summary}`;
    case 'hook.ended':
      return `${event.event} ${event.hook}: ${event.decision ?? event.status} in ${event.ms} ms${event.text ? ` ${event.text}` : ''}`;
    case 'prompt.opened':
      return `${event.id} ${event.tool} ${event.brief}`;
    case 'prompt.answered':
      return `${event.id} ${event.behavior}${event.by ? ` by ${event.by}` : ''}${event.used ? '' : ' (too late)'}`;
    case 'prompt.withdrawn':
      return `${event.id} ${event.text}`;
    case 'prompt.told':
      return `${event.id} ${event.to}: ${event.ok ? 'told' : 'not told'}, ${event.text}`;
    case 'rules.saved':
      return [event.file, ...event.rules, event.text].filter((part) => part !== undefined).join(' ');
    // A kind of a later version.
    default:
      return '';
  }
}
