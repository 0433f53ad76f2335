import { CliError, Exit } from '../cli-error.ts';
import { type Io, print, printJson } from '../io.ts';
import { openKnownJob } from '../open-jobs.ts';

/** `interrupt ID`: ends the running turn; the job stays and takes messages. `now` stops calls too that would rather end. */
export async function interrupt(id: string, options: { now?: boolean; json?: boolean }, io: Io): Promise<number> {
  const jobs = await openKnownJob(io, id, { tells: true });
  try {
    const before = await jobs.describe(id);
    if (before.status === 'idle') {
      throw new CliError(Exit.failed, `${id} is idle; nothing runs`, `nightshift send ${id} "…"`);
    }
    const told = await jobs.interrupt(id, options.now === true ? { now: true } : {});
    const { status } = await jobs.describe(id);
    if (!told) {
      throw new CliError(
        Exit.failed,
        `${id} has ended (${status}); there is nothing to interrupt`,
        `nightshift show ${id}`,
      );
    }
    if (options.json === true) printJson(io, { id, status });
    else {
      const late =
        options.now === true ? '' : ` A command that runs may end first; to kill it: nightshift interrupt ${id} --now`;
      print(io, `${id} is told to stop; what it did is kept, and it goes on with: nightshift send ${id} "…"${late}`);
    }
    return 0;
  } finally {
    await jobs.close();
  }
}
