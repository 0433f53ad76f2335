import { Exit } from '../cli-error.ts';
import { followEvents, followForPeople } from '../follow.ts';
import { type Io, tell } from '../io.ts';
import { openKnownJob } from '../open-jobs.ts';

/** `watch ID`: follows a job to its end, as `run` does. Its exit code says nothing of the job: that is what `result` is for. */
export async function watch(id: string, options: { jsonl?: boolean }, io: Io): Promise<number> {
  const jobs = await openKnownJob(io, id);
  try {
    const followed =
      options.jsonl === true
        ? await followEvents(jobs, id, io, {
            take: (event) => void io.stdout.write(`${JSON.stringify(event)}\n`),
            say: (text) => tell(io, text),
          })
        : await followForPeople(jobs, id, io, { out: io.stdout });
    return followed.kind === 'detached' ? Exit.interrupted : Exit.ok;
  } finally {
    await jobs.close();
  }
}
