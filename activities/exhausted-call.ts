import { callDir, hooksDir, hooksMark } from '../src/core/paths.ts';
import type { Hosts } from '../src/core/hosts.ts';
import type { JobFiles } from '../src/core/ports.ts';
import { taskEnding } from '../src/core/task-note.ts';
import type { Done } from '../src/shapes/call.ts';
import { failedCall } from './map-result.ts';
import type { CallPlace } from './site.ts';

type Where = { hosts: Hosts; files: JobFiles; place: CallPlace };

/** The end of a call in which too many workers died: nothing that they started runs any more when the model hears of it. */
export async function exhaustedCall(where: Where, owners: number): Promise<Done> {
  const { hosts, files, place } = where;
  const key = callDir(place.turn, place.step, place.index);
  const left = await stopCommand(hosts, `${files.dir}/${key}`).catch(
    (error: unknown) => ` Its command could not be stopped: ${String(error).slice(0, 500)}`,
  );
  await hosts.hooks.kill(hooksMark(hosts.homeKey, files.id, hooksDir(key, ''))).catch(() => undefined);
  const text = `The worker died ${owners} times in this call.${left} It is not tried again; find another way, or smaller steps.`;
  return failedCall(where, text, 'unknown');
}

/** What became of the call's command, as a sentence with a space before it; a call that started none has no such sentence. */
async function stopCommand({ shell }: Hosts, dir: string): Promise<string> {
  const found = await shell.adopt(dir);
  switch (found.kind) {
    case 'running':
      await found.run.kill();
      return ' Its command still ran and was stopped with all that it had started; it may have acted.';
    case 'never-started':
      return '';
    default:
      return ` Its command ${taskEnding(found).how}.`;
  }
}
