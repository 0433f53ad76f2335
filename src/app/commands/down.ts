import { Exit } from '../cli-error.ts';
import { type Io, print, printJson, tell } from '../io.ts';
import { stopService } from '../service/service.ts';

export type DownOptions = { now?: boolean; json?: boolean };

/** `down`: ends the service; jobs wait, and go on when it is up again. Nothing running is no error. */
export async function down(options: DownOptions, io: Io): Promise<number> {
  const stopped = await stopService({ env: io.env, now: options.now === true, progress: (line) => tell(io, line) });
  if (options.json === true) printJson(io, { stopped });
  else if (stopped)
    print(
      io,
      'The service is down. Jobs go on with: nightshift up, or any command that needs the server (ls, send, run …)',
    );
  else print(io, 'Nothing was running.');
  return Exit.ok;
}
