import { refuseBelowJob } from '../below-job.ts';
import { usageError } from '../cli-error.ts';
import { type Io, print, printJson } from '../io.ts';
import { openKnownJob } from '../open-jobs.ts';
import { readPrompt } from '../prompt-text.ts';

/** `send ID TEXT`: gives a job a message; a job that has ended is opened again with it. */
export async function send(id: string, text: string | undefined, options: { json?: boolean }, io: Io): Promise<number> {
  refuseBelowJob('send', io.env);
  const example = `nightshift send ${id} "Use the other approach"`;
  if (text === undefined && io.stdin.isTTY === true) throw usageError('there is no message', example);
  const message = await readPrompt(text, io, example);
  const jobs = await openKnownJob(io, id);
  try {
    const before = await jobs.describe(id);
    await jobs.send(id, message);
    const status = (await jobs.describe(id)).status;
    if (options.json === true) printJson(io, { id, status });
    else
      print(io, before.open ? `sent to ${id} (${status})` : `${id} was ${before.status}; it is open again and goes on`);
    return 0;
  } finally {
    await jobs.close();
  }
}
