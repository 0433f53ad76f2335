import { join } from 'node:path';
import { spoolDir } from '../src/core/paths.ts';
import type { Hosts } from '../src/core/hosts.ts';
import type { Micros } from '../src/shapes/ids.ts';
import { alive } from './alive.ts';
import { turnPlace } from './place.ts';

/** Which asking of the model it was. */
export type LostInput = { step: number; try: number; asking: string };

/** What a model call cost whose end nobody heard, because its worker died while it was being cancelled. */
export async function countLost(hosts: Hosts, input: LostInput): Promise<{ spent: Micros }> {
  const { job, turn } = turnPlace();
  return alive(hosts, async () => {
    const { dir } = await hosts.job(job);
    const spool = join(dir, spoolDir(turn, input.step, input.try));
    return { spent: await hosts.model.costOfLost(spool, input.asking) };
  });
}
