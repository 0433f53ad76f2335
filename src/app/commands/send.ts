import { foldEvents } from '../../core/timeline.ts';
import { limitOf } from '../../core/limits.ts';
import type { Limits } from '../../shapes/limits.ts';
import { refuseBelowJob } from '../below-job.ts';
import { usageError } from '../cli-error.ts';
import type { JobClient } from '../client.ts';
import { type Io, print, printJson } from '../io.ts';
import { type JobInfo, isSettled } from '../job-info.ts';
import { summarise } from '../job-summary.ts';
import { openKnownJob } from '../open-jobs.ts';
import { readPrompt } from '../prompt-text.ts';
import { nextSteps } from '../render.ts';
import { type Used, usedUp } from '../used-up.ts';

/** `send ID TEXT`: gives a job a message; a job that has ended is opened again with it. */
export async function send(id: string, text: string | undefined, options: { json?: boolean }, io: Io): Promise<number> {
  refuseBelowJob('send', io.env);
  const example = `nightshift send ${id} "Use the other approach"`;
  if (text === undefined && io.stdin.isTTY === true) throw usageError('there is no message', example);
  const message = await readPrompt(text, io, example);
  const jobs = await openKnownJob(io, id, { tells: true });
  try {
    const before = await jobs.describe(id);
    const used = isSettled(before) ? await usedOf(jobs, before) : undefined;
    await jobs.send(id, message);
    const status = (await jobs.describe(id)).status;
    const limit = used && limitOf({ ...used, turnOpen: used.isOpen }, Date.now());
    if (options.json === true) printJson(io, { id, status, limit: limit ?? null });
    else if (used && limit) print(io, heldBack(id, limit, used));
    else
      print(io, before.open ? `sent to ${id} (${status})` : `${id} was ${before.status}; it is open again and goes on`);
    return 0;
  } finally {
    await jobs.close();
  }
}

/** The message is kept, but nothing happens before somebody raises the limit. */
function heldBack(id: string, limit: NonNullable<ReturnType<typeof limitOf>>, used: Used): string {
  const hints = nextSteps(id, 'stopped', limit).join('\n');
  return `sent to ${id}, but it can't go on: ${usedUp(limit, used)}, and that is its limit. The message waits:\n${hints}\nA number is the new total; a deadline counts from now.`;
}

/** What a job at rest has used; `undefined` when an open one does not say what its limits are. */
async function usedOf(
  jobs: JobClient,
  info: JobInfo,
): Promise<(Used & { limits: Limits; isOpen: boolean }) | undefined> {
  if (info.record) {
    const { turn, steps, spent, limits, turnOpen } = info.record.state;
    return { turn, steps, spent, limits, isOpen: turnOpen };
  }
  const view = info.open ? await jobs.view(info.id) : undefined;
  if (view === undefined) return undefined;
  const { turn, steps } = summarise(foldEvents(await jobs.store.events(info.id)));
  return { turn, steps, spent: view.spent, limits: view.limits, isOpen: false };
}
