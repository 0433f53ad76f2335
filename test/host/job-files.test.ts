import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Ledger } from '../../src/core/ports.ts';
import { readEvents } from '../../src/host/event-reader.ts';
import { createJobOpener, openJobFiles } from '../../src/host/job-files.ts';
import { listJobs, readRecord } from '../../src/host/records.ts';
import type { JobRecord } from '../../src/shapes/job.ts';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'home-'));
});
afterEach(() => rm(home, { recursive: true, force: true }));

const folders: string[] = [];
const ledger = (dir: string): Ledger => {
  folders.push(dir);
  return { own: () => Promise.reject(new Error('not owned here')), resultOf: () => Promise.resolve(undefined) };
};
const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'no error',
    (error: unknown) => error,
  );
const state: JobRecord['state'] = {
  v: 1,
  head: null,
  turn: 1,
  turnOpen: false,
  tasks: {},
  idle: false,
  agent: 'a',
  rules: 'r',
  rulesRev: 0,
  limits: { concurrency: 10 },
  onLimit: 'end',
  stay: false,
  spent: 5,
  steps: 2,
  queue: [],
  prompts: [],
  asked: 0,
  early: [],
  answers: [],
  startedAt: 1,
};
const record: JobRecord = { v: 1, id: 'j', config: 'c', status: 'done', result: 'ok', startedAt: 1, endedAt: 2, state };

describe('job files', () => {
  it('bring everything of one job together, below its folder', async () => {
    const files = await openJobFiles(home, 'j', { ledger });
    expect([files.id, files.dir, folders.at(-1)]).toEqual(['j', join(home, 'jobs/j'), join(home, 'jobs/j')]);
    const head = await files.transcript.append(
      null,
      { role: 'user', content: [{ type: 'text', text: 'go' }] },
      { at: 1, turn: 1, step: 0 },
    );
    expect(await files.blobs.has(head)).toBe(true);
    files.events.write({ at: 1, kind: 'job.resumed' });
    await files.events.flush();
    expect((await readEvents(join(files.dir, 'events.jsonl'))).events).toEqual([{ at: 1, kind: 'job.resumed' }]);
    expect(await readFile(join(files.dir, 'blobs', head.slice(0, 2), head.slice(2)), 'utf8')).toContain('"go"');
    expect((await stat(files.dir)).mode & 0o777).toBe(0o700);
  });

  it('keep a large result whole, at an absolute path below the job', async () => {
    const files = await openJobFiles(home, 'j', { ledger });
    const path = await files.keepResult('tool-results/1.2.0.txt', 'whole');
    expect(path).toBe(join(home, 'jobs/j/tool-results/1.2.0.txt'));
    await files.keepResult('tool-results/1.2.0.txt', 'whole again');
    expect(await readFile(path, 'utf8')).toBe('whole again');
    expect(await readdir(join(files.dir, 'tool-results'))).toEqual(['1.2.0.txt']);
    for (const name of ['../other/x', '/etc/x', '.', '..']) {
      expect(await failure(files.keepResult(name, 'x'))).toMatchObject({
        message: expect.stringContaining('must be kept below'),
      });
    }
  });

  it('refuse a name that is no job', async () => {
    expect(await failure(openJobFiles(home, '../x', { ledger }))).toMatchObject({
      message: expect.stringContaining('a job name is'),
    });
  });

  it('are opened once per job and process, and tried again after a failure', async () => {
    const open = createJobOpener(home, { ledger });
    expect(await open('a')).toBe(await open('a'));
    expect(await open('b')).not.toBe(await open('a'));
    await writeFile(join(home, 'jobs', 'c'), 'in the way');
    expect(await failure(open('c'))).toMatchObject({ code: 'unwritable' });
    await rm(join(home, 'jobs', 'c'));
    expect((await open('c')).id).toBe('c');
  });
});

describe('records', () => {
  it('are written whole, read, and removed when the job opens again', async () => {
    const files = await openJobFiles(home, 'j', { ledger });
    expect(await readRecord(files.dir)).toBeUndefined();
    await files.removeRecord();
    await files.writeRecord(record);
    expect(await readRecord(files.dir)).toEqual(record);
    await files.writeRecord({ ...record, result: 'better' });
    expect(await readRecord(files.dir)).toMatchObject({ result: 'better' });
    expect(await readdir(files.dir)).toEqual(['record.json']);
    await files.removeRecord();
    expect(await readRecord(files.dir)).toBeUndefined();
  });

  it.each(['', '{"v":1,', '[]', 'null', '{"v":2,"id":"j"}', JSON.stringify({ ...record, state: null })])(
    'that cannot be understood are named: %s',
    async (text) => {
      await writeFile(join(home, 'record.json'), text);
      const error = await failure(readRecord(home));
      expect(error).toMatchObject({ code: 'corrupt', path: join(home, 'record.json') });
    },
  );
});

describe('listJobs', () => {
  it('lists the folders that are jobs', async () => {
    expect(await listJobs(join(home, 'jobs'))).toEqual([]);
    for (const name of ['b', 'a-1', '.trash', 'UPPER']) await mkdir(join(home, 'jobs', name), { recursive: true });
    await writeFile(join(home, 'jobs', 'file'), '');
    expect(await listJobs(join(home, 'jobs'))).toEqual(['a-1', 'b']);
  });
});
