import { readdir, stat, writeFile } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { eventsFile, hookEnvDir, jobDir } from '../core/paths.ts';
import type { JobFiles, Ledger } from '../core/ports.ts';
import type { Scrub } from '../core/scrub.ts';
import { JobId } from '../shapes/ids.ts';
import { createBlobs } from './blobs.ts';
import { makeFolder, writeDurably } from './durable-file.ts';
import { createEvents } from './events.ts';
import { ifThere } from './if-there.ts';
import { removeRecord, writeRecord } from './records.ts';
import { createTranscript } from './transcript-store.ts';

/** Folder of the blobs, below the job's folder. */
export const blobsDir = 'blobs';

/** What a job's files are made with: `ledger` gets the absolute folder of the job; events pass `scrub`. */
export type JobFilesOptions = { ledger: (dir: string) => Ledger; scrub?: Scrub };

/** Everything of one job below a home (absolute); makes the job's folder. @throws StoreError, or an error for a bad id. */
export async function openJobFiles(home: string, job: string, { ledger, scrub }: JobFilesOptions): Promise<JobFiles> {
  const id = JobId.parse(job);
  const dir = join(home, jobDir(id));
  await makeFolder(dir);
  const blobs = createBlobs(join(dir, blobsDir));
  return {
    id,
    dir,
    blobs,
    transcript: createTranscript(blobs),
    ledger: ledger(dir),
    events: createEvents(join(dir, eventsFile), { scrub }),
    writeRecord: (record) => writeRecord(dir, record),
    removeRecord: () => removeRecord(dir),
    async emptyEnvFile(hook) {
      await makeFolder(join(dir, hookEnvDir));
      const path = join(dir, hookEnvDir, `${hook}.sh`);
      await writeFile(path, '', { mode: 0o600 });
      return path;
    },
    async envFiles() {
      const names = (await ifThere(readdir(join(dir, hookEnvDir)))) ?? [];
      const paths = names
        .filter((name) => /^\d+\.sh$/.test(name))
        .sort((a, b) => parseInt(a, 10) - parseInt(b, 10))
        .map((name) => join(dir, hookEnvDir, name));
      const sizes = await Promise.all(paths.map(async (path) => (await ifThere(stat(path)))?.size ?? 0));
      return paths.filter((_, n) => sizes[n]! > 0);
    },
    async keepResult(name, bytes) {
      const path = resolve(dir, name);
      if (!isBelow(dir, path)) throw new Error(`A result of job ${id} must be kept below its folder, not at ${path}`);
      await writeDurably(path, bytes, { folders: true });
      return path;
    },
  };
}

/** The same, once per job and process, so that a job's events keep their order and its ledger knows its own calls. */
export function createJobOpener(home: string, options: JobFilesOptions): (job: string) => Promise<JobFiles> {
  const open = new Map<string, Promise<JobFiles>>();
  return (job) => {
    const known = open.get(job);
    if (known) return known;
    const files = openJobFiles(home, job, options);
    open.set(job, files);
    // A job that could not be opened is tried again by the next who asks.
    files.catch(() => open.delete(job));
    return files;
  };
}

function isBelow(dir: string, path: string): boolean {
  const way = relative(dir, path);
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
