import { limitOf } from '../../core/limits.ts';
import type { Limits } from '../../shapes/limits.ts';
import { refuseBelowJob } from '../below-job.ts';
import { CliError, Exit, usageError } from '../cli-error.ts';
import type { JobClient } from '../client.ts';
import { type Io, print, printJson } from '../io.ts';
import type { JobInfo } from '../job-info.ts';
import { requirePrice } from '../job-config.ts';
import { readConfig } from '../job-store.ts';
import { type LimitFlags, parseLimits } from '../limit-flags.ts';
import { openKnownJob } from '../open-jobs.ts';
import { nextSteps } from '../render.ts';
import { isPriced } from '../is-priced.ts';
import { usedUp } from '../used-up.ts';

/** `resume ID`: lets a job go on that has ended or waits, with higher limits where it ended at one. */
export async function resume(id: string, options: LimitFlags & { json?: boolean }, io: Io): Promise<number> {
  refuseBelowJob('resume', io.env);
  const limits = parseLimits(options, Date.now());
  const jobs = await openKnownJob(io, id, { tells: true });
  try {
    const said = await goOn(jobs, id, limits);
    const { status } = await jobs.describe(id);
    if (options.json === true) printJson(io, { id, status });
    else print(io, `${id}: ${said}`);
    return 0;
  } finally {
    await jobs.close();
  }
}

async function goOn(jobs: JobClient, id: string, limits: Partial<Limits>): Promise<string> {
  for (;;) {
    const info = await jobs.describe(id);
    if (info.open) {
      const said = await extendOpen(jobs, info, limits);
      if (said !== undefined) return said;
      continue;
    }
    await checkReopen(jobs, info, limits);
    if (await jobs.reopen(info, [], limits)) return 'goes on';
  }
}

/** `undefined` when it ended meanwhile. */
async function extendOpen(jobs: JobClient, info: JobInfo, limits: Partial<Limits>): Promise<string | undefined> {
  if (Object.keys(limits).length > 0) {
    return (await jobs.signal(info.id, 'extend', limits)) ? 'has its new limits' : undefined;
  }
  if (info.why === 'limit')
    throw usageError(
      `${info.id} waits at a limit: ${info.text ?? ''}`,
      `nightshift resume ${info.id} --max-usd 20 --max-steps 500   # what it needs; a number is the new total`,
    );
  if (info.status === 'idle') {
    throw new CliError(
      Exit.failed,
      `${info.id} is idle: it has nothing to go on with`,
      `nightshift send ${info.id} "…"`,
    );
  }
  if (!(await jobs.signal(info.id, 'wake'))) return undefined;
  return info.status === 'waiting' ? 'is told to look again whether it can go on' : 'is running';
}

/** Throws where going on would end at once. */
async function checkReopen(jobs: JobClient, info: JobInfo, limits: Partial<Limits>): Promise<void> {
  const { id, record, status } = info;
  if (record === undefined) return;
  const { state } = record;
  if (!state.turnOpen && state.queue.length === 0) {
    throw new CliError(
      Exit.failed,
      `${id} is ${status}: it has nothing to go on with`,
      `nightshift send ${id} "…"   # gives it something new to do`,
    );
  }
  const config = await readConfig(jobs.store, id, record.config);
  requirePrice(config.model, limits, (model) => isPriced(model, config.prices));
  const limit = limitOf({ ...state, limits: { ...state.limits, ...limits } }, Date.now());
  if (limit !== undefined) {
    const hint = [...nextSteps(id, 'stopped', limit), 'A number is the new total; a deadline counts from now.'];
    throw usageError(`${id} would stop at once: ${usedUp(limit, state)}`, hint.join('\n'));
  }
}
