import { CliError, Exit } from '../cli-error.ts';
import { type Io, print, printJson } from '../io.ts';
import { openKnownJob } from '../open-jobs.ts';

/** `cancel ID`: ends a job for good; its results are kept. To cancel a cancelled job is no error. */
export async function cancel(id: string, options: { json?: boolean }, io: Io): Promise<number> {
  const jobs = await openKnownJob(io, id, { tells: true });
  try {
    const before = await jobs.describe(id);
    // The server takes a cancel of what has ended without a word.
    const told = before.open && (await jobs.cancel(id));
    const { status } = await jobs.describe(id);
    if (!told && status !== 'cancelled') {
      throw new CliError(Exit.failed, `${id} has ended already (${status})`, `nightshift show ${id}`);
    }
    if (options.json === true) printJson(io, { id, status });
    else print(io, status === 'cancelled' ? `${id} is cancelled` : `${id} is being cancelled`);
    return 0;
  } finally {
    await jobs.close();
  }
}
