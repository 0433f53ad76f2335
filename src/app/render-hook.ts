import type { TimelineHook } from '../shapes/timeline.ts';
import type { Paint } from './paint.ts';
import { columns, cut, oneLine } from './text.ts';

/** Columns of a command that are shown in any case. */
const LEAST_NAME = 16;

/** A handler of a hook that had something to say. Its command gives way; what came of it is never cut. */
export function hookLine(hook: Omit<TimelineHook, 'at'>, width: number, paint: Paint): string {
  const { event, hook: name, status, decision, text = '' } = hook;
  const outcome = oneLine(`${decision ?? status}${text === '' ? '' : ` · ${text}`}`);
  const room = Math.max(LEAST_NAME, width - columns(`${event} hook : ${outcome}`));
  const line = `${event} hook ${cut(oneLine(name), room)}: ${outcome}`;
  return status === 'ok' && decision !== 'deny' && decision !== 'block' ? paint.dim(line) : paint.yellow(line);
}

/** The decision about a call beside `rest`, what else there is to say of it: up to half of the line the decision, which often ends with the command of a hook, gives way. */
export function decisionLine(decision: string, rest: string, width: number): string {
  const end = rest === '' ? '' : ` · ${rest}`;
  return cut(`${cut(decision, Math.max(Math.floor(width / 2), width - columns(end)))}${end}`, width);
}
