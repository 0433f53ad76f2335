import type { TimelineHook } from '../shapes/timeline.ts';
import type { Paint } from './paint.ts';
import { cut, oneLine } from './text.ts';

/** A handler of a hook that had something to say. */
export function hookLine(hook: Omit<TimelineHook, 'at'>, width: number, paint: Paint): string {
  const { event, hook: name, status, decision, text = '' } = hook;
  const line = cut(oneLine(`${event} hook ${name}: ${decision ?? status}${text === '' ? '' : ` · ${text}`}`), width);
  return status === 'ok' && decision !== 'deny' && decision !== 'block' ? paint.dim(line) : paint.yellow(line);
}
