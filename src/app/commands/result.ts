import { Exit } from '../cli-error.ts';
import { type Io, print, printJson, tell } from '../io.ts';
import { exitCodeOf, isSettled } from '../job-info.ts';
import { type JobResult, readResult } from '../job-result.ts';
import { openKnownJob } from '../open-jobs.ts';
import { statusText } from '../render.ts';

/** `result ID`: the last answer; with `wait` it waits for one. The exit code is the job's, 1 while it goes on. */
export async function result(id: string, options: { wait?: boolean; json?: boolean }, io: Io): Promise<number> {
  const jobs = await openKnownJob(io, id);
  const stop = new AbortController();
  const restore = io.onInterrupt(() => stop.abort());
  try {
    const info =
      options.wait === true
        ? await jobs.settle(id, stop.signal, {
            onLost: (text) => tell(io, `${text}; waiting for it`),
            onBack: () => tell(io, 'the Temporal server is back'),
          })
        : await jobs.describe(id);
    const found = await readResult(jobs, info);
    if (options.json === true) printJson(io, resultJson(found));
    else if (found.result === '') {
      const stands = `${id} is ${statusText(info.status, info.why)}`;
      if (!isSettled(info)) tell(io, `${stands}; it has not answered yet`);
      else tell(io, `${stands}; it gave no answer\nnightshift show ${id}   # what it did, and how it goes on`);
    } else {
      print(io, found.result);
      if (!isSettled(info)) tell(io, `${id} is ${statusText(info.status, info.why)}; this is what it answered before`);
    }
    return exitCodeOf(info, found.interrupted);
  } catch (error) {
    if (stop.signal.aborted) return Exit.interrupted;
    throw error;
  } finally {
    restore();
    await jobs.close();
  }
}

/** The fields that scripts rely on. */
export function resultJson(found: JobResult): Record<keyof JobResult, unknown> {
  const { id, status, why, result, isError, costUsd, usage, turns } = found;
  return { id, status, why, result, isError, costUsd, usage, turns };
}
