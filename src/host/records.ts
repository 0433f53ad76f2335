import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { recordFile } from '../core/paths.ts';
import { StoreError } from '../core/store-error.ts';
import { JobId } from '../shapes/ids.ts';
import type { JobRecord } from '../shapes/job.ts';
import { errorCode, readError, syncFolder, writeDurably, writeError } from './durable-file.ts';

/** Writes `record.json` into the job's folder, whole or not at all. @throws StoreError */
export async function writeRecord(dir: string, record: JobRecord): Promise<void> {
  await writeDurably(join(dir, recordFile), `${JSON.stringify(record, null, 2)}\n`, { folders: true });
}

/** The record in a job's folder; undefined while the job is open. @throws StoreError `corrupt` when it cannot be understood. */
export async function readRecord(dir: string): Promise<JobRecord | undefined> {
  const path = join(dir, recordFile);
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw readError(path, 'The record of a job', error);
  });
  if (text === undefined) return undefined;
  const record = jsonOf(text);
  if (isRecord(record)) return record;
  throw new StoreError('corrupt', path, 'The record of a job cannot be understood');
}

/** Removes it: the job is open again. Nothing happens when there is none. @throws StoreError */
export async function removeRecord(dir: string): Promise<void> {
  const path = join(dir, recordFile);
  try {
    await rm(path, { force: true });
    await syncFolder(dir);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw writeError(path, error);
  }
}

/** Ids of all jobs that have a folder in `jobs`, a home's folder of that name, in alphabetical order; none when it is new. */
export async function listJobs(jobs: string): Promise<JobId[]> {
  const entries = await readdir(jobs, { withFileTypes: true }).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return [];
    throw readError(jobs, 'The folder of all jobs', error);
  });
  return entries
    .filter((entry) => entry.isDirectory() && JobId.safeParse(entry.name).success)
    .map(({ name }) => name)
    .sort();
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The fields that every reader needs; the rest was written by the same code. */
function isRecord(value: unknown): value is JobRecord {
  if (typeof value !== 'object' || value === null) return false;
  const has = (field: string, type: string): boolean => typeof Reflect.get(value, field) === type;
  const isOurs = 'v' in value && value.v === 1 && 'state' in value && value.state !== null;
  return isOurs && has('id', 'string') && has('status', 'string') && has('endedAt', 'number') && has('state', 'object');
}
