import { join } from 'node:path';
import { activityInfo } from '@temporalio/activity';
import { callDir, eventsFile } from '../src/core/paths.ts';
import type { Hosts } from '../src/core/hosts.ts';
import type { JobFiles } from '../src/core/ports.ts';
import type { JobEvent } from '../src/shapes/event.ts';
import type { CallPlace } from './site.ts';

/**
 * Whether an earlier attempt has begun this call and its record is gone: somebody removed it, or put back an older copy.
 * What the call did is unknown then. Only a repeated attempt looks.
 */
export async function isForgotten(hosts: Hosts, files: JobFiles, place: CallPlace): Promise<boolean> {
  if (activityInfo().attempt === 1) return false;
  const folder = join(files.dir, callDir(place.turn, place.step, place.index));
  if ((await hosts.files.stat(folder)) !== undefined) return false;
  const events = join(files.dir, eventsFile);
  if ((await hosts.files.stat(events)) === undefined) return false;
  const lines = new TextDecoder().decode(await hosts.files.read(events)).split('\n');
  return lines.some((line) => line.includes('"call.started"') && isStartOf(place, line));
}

function isStartOf({ turn, step, index }: CallPlace, line: string): boolean {
  try {
    const event = JSON.parse(line) as JobEvent;
    return event.kind === 'call.started' && event.turn === turn && event.step === step && event.index === index;
  } catch {
    return false; // a torn line
  }
}
