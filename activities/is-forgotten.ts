import { join } from 'node:path';
import { activityInfo } from '@temporalio/activity';
import { callDir, eventsFile } from '../src/core/paths.ts';
import type { Hosts } from '../src/core/hosts.ts';
import type { JobFiles } from '../src/core/ports.ts';
import type { JobEvent } from '../src/shapes/event.ts';
import type { CallPlace } from './site.ts';

/**
 * Whether an earlier attempt may have begun this call and its record is gone: somebody removed it, alone or with the whole
 * folder of the job, or put back an older copy. What the call did is unknown then. Only a repeated attempt looks. It
 * trusts events that say nothing of the call only where they go back to the job's beginning: what an attempt still wrote
 * after somebody had removed them does not.
 */
export async function isForgotten(hosts: Hosts, files: JobFiles, place: CallPlace): Promise<boolean> {
  if (activityInfo().attempt === 1) return false;
  const folder = join(files.dir, callDir(place.turn, place.step, place.index));
  if ((await hosts.files.stat(folder)) !== undefined) return false;
  const path = join(files.dir, eventsFile);
  if ((await hosts.files.stat(path)) === undefined) return true;
  const events = new TextDecoder()
    .decode(await hosts.files.read(path))
    .split('\n')
    .flatMap(eventIn);
  const isWhole = events.some((event) => event.kind === 'job.opened');
  return !isWhole || events.some((event) => isStartOf(place, event));
}

const isStartOf = ({ turn, step, index }: CallPlace, event: JobEvent): boolean =>
  event.kind === 'call.started' && event.turn === turn && event.step === step && event.index === index;

/** Only of the kinds that are looked for: an events file may be long. */
function eventIn(line: string): JobEvent[] {
  if (!line.includes('"call.started"') && !line.includes('"job.opened"')) return [];
  try {
    return [JSON.parse(line) as JobEvent];
  } catch {
    return []; // a torn line
  }
}
