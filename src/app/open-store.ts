import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { eventsFile } from '../core/paths.ts';
import { createBlobs } from '../host/blobs.ts';
import { followEvents, readEvents } from '../host/event-reader.ts';
import { listJobs, readRecord } from '../host/records.ts';
import { JobId } from '../shapes/ids.ts';
import type { JobStore } from './job-store.ts';

/** The folders of the jobs below `jobs`, the home's folder of that name. */
export function openStore(jobs: string): JobStore {
  const dir = (id: string): string => join(jobs, id);
  const isJob = (id: string): boolean => JobId.safeParse(id).success;
  return {
    dir,
    ids: () => listJobs(jobs),
    has: (id) => isJob(id) && existsSync(dir(id)),
    record: (id) => readRecord(dir(id)),
    blobs: (id) => createBlobs(join(dir(id), 'blobs')),
    events: async (id) => (await readEvents(join(dir(id), eventsFile))).events,
    follow: (id, signal) => followEvents(join(dir(id), eventsFile), signal),
  };
}
