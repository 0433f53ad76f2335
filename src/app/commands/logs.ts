import { Exit } from '../cli-error.ts';
import { followEvents } from '../follow.ts';
import { type Io, print, tell } from '../io.ts';
import { openKnownJob } from '../open-jobs.ts';
import { logLine } from '../render-log.ts';

/** `logs ID`: the events of a job so far; with `follow` until it ends. */
export async function logs(id: string, options: { follow?: boolean; jsonl?: boolean }, io: Io): Promise<number> {
  const jobs = await openKnownJob(io, id);
  const show = (event: Parameters<typeof logLine>[0]): void =>
    print(io, options.jsonl === true ? JSON.stringify(event) : logLine(event));
  try {
    if (options.follow === true) {
      const followed = await followEvents(jobs, id, io, { take: show, say: (text) => tell(io, text) });
      return followed.kind === 'detached' ? Exit.interrupted : Exit.ok;
    }
    for (const event of await jobs.store.events(id)) show(event);
    return Exit.ok;
  } finally {
    await jobs.close();
  }
}
