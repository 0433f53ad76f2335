import type { Blobs } from '../core/ports.ts';
import type { JobConfig, JobRecord } from '../shapes/job.ts';
import type { PromptBody } from '../shapes/prompt.ts';
import type { JobEvent } from '../shapes/event.ts';
import type { Sha } from '../shapes/ids.ts';

/** What the client reads and writes in the folders of the jobs. */
export type JobStore = {
  /** Ids of all jobs that have a folder. */
  ids(): Promise<string[]>;
  has(id: string): boolean;
  dir(id: string): string;
  record(id: string): Promise<JobRecord | undefined>;
  blobs(id: string): Blobs;
  /** All events so far, in order. */
  events(id: string): Promise<JobEvent[]>;
  /** Events from the first one on, until the signal is aborted. */
  follow(id: string, signal: AbortSignal): AsyncIterable<JobEvent>;
};

/** The settings snapshot of a job, from its blob. */
export async function readConfig(store: JobStore, id: string, sha: Sha): Promise<JobConfig> {
  return JSON.parse(await readText(store.blobs(id), sha)) as JobConfig;
}

/** What a person needs to decide, from its blob. */
export async function readPromptBody(store: JobStore, id: string, sha: Sha): Promise<PromptBody> {
  return JSON.parse(await readText(store.blobs(id), sha)) as PromptBody;
}

/** A blob as text. */
export async function readText(blobs: Blobs, sha: Sha): Promise<string> {
  return new TextDecoder().decode(await blobs.get(sha));
}
