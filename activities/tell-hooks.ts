import type { Hosts } from '../src/core/hosts.ts';
import type { Sha } from '../src/shapes/ids.ts';
import type { Agent } from '../src/shapes/job.ts';
import type { OpenPrompt } from '../src/shapes/prompt.ts';
import { alive } from './alive.ts';
import { notificationHooks } from './job-hooks.ts';
import { jobPlace } from './place.ts';
import { readShared } from './read-blob.ts';

export type TellHooksInput = { agent: Sha; prompt: OpenPrompt };

/** Runs the Notification hooks of a job for a question that has just been opened. */
export async function tellHooks(hosts: Hosts, { agent, prompt }: TellHooksInput): Promise<void> {
  const { job } = jobPlace();
  await alive(hosts, async (life) => {
    const files = await hosts.job(job);
    const site = { hosts, files, agent: await readShared<Agent>(files.blobs, agent) };
    await notificationHooks(site, prompt, life.cancelled);
    await files.events.flush();
  });
}
