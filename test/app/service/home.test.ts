import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { homePath, lookAtHome, openHome, taskQueue } from '../../../src/app/service/home.ts';
import { HomeError } from '../../../src/app/service/service-error.ts';
import { createSmallDisk } from '../../support/small-disk.ts';
import { distFile } from '../../../src/app/service/dist-file.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nightshift-home-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function thrownBy(act: () => unknown): HomeError {
  try {
    act();
  } catch (error) {
    if (error instanceof HomeError) return error;
    throw error;
  }
  throw new Error('it was taken for a home');
}

test('the home is named by its variable, else by XDG, else it lies below HOME', () => {
  expect(homePath({ NIGHTSHIFT_HOME: '/a/b', XDG_STATE_HOME: '/x', HOME: '/h' })).toBe('/a/b');
  expect(homePath({ NIGHTSHIFT_HOME: 'b', HOME: '/h' })).toBe(join(process.cwd(), 'b'));
  expect(homePath({ NIGHTSHIFT_HOME: '', XDG_STATE_HOME: '/x', HOME: '/h' })).toBe('/x/nightshift');
  expect(homePath({ XDG_STATE_HOME: 'relative', HOME: '/h' })).toBe('/h/.local/state/nightshift');
  expect(() => homePath({ HOME: 'relative' })).toThrow('HOME is "relative", which is no absolute path');
});

test('a home is made for this user only and keeps its id', () => {
  const path = join(folder, 'deep', 'home');
  expect(lookAtHome(path)).toBeUndefined();
  const home = openHome(path);
  expect(home.id).toMatch(/^[0-9a-f]{12}$/);
  expect(taskQueue(home.id)).toBe(`nightshift-${home.id}`);
  expect([path, home.jobs, home.logs, home.workers].map((dir) => statSync(dir).mode & 0o777)).toEqual([
    0o700, 0o700, 0o700, 0o700,
  ]);
  expect(openHome(path)).toEqual(home);
  expect(lookAtHome(path)).toEqual(home);
  expect(readdirSync(path).sort()).toEqual(['id', 'jobs', 'logs', 'workers']);
});

test('what others may read of a home that was there before is closed to them', () => {
  const path = join(folder, 'home');
  const { db, logs } = openHome(path);
  const files = [db, `${db}-wal`, `${db}-shm`];
  for (const file of files) writeFileSync(file, 'x');
  chmodSync(db, 0o644);
  for (const dir of [path, logs]) chmodSync(dir, 0o755);
  openHome(path);
  expect([path, logs].map((dir) => statSync(dir).mode & 0o777)).toEqual([0o700, 0o700]);
  expect(files.map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o600, 0o600]);
});

test('a folder that many users share stays open, and what is in it of the home is closed', () => {
  const path = join(folder, 'shared');
  mkdirSync(path);
  chmodSync(path, 0o1777);
  const { jobs } = openHome(path);
  chmodSync(jobs, 0o755);
  openHome(path);
  expect([path, jobs].map((dir) => statSync(dir).mode & 0o1777)).toEqual([0o1777, 0o700]);
});

test('processes that make one home at once agree on its id', () => {
  const path = join(folder, 'home');
  const script = `import { openHome } from ${JSON.stringify(distFile('src/app/service/home.js'))}; console.log(openHome(${JSON.stringify(path)}).id);`;
  const all = `for i in 1 2 3 4 5 6; do "$0" --input-type=module -e '${script}' & done; wait`;
  const { stdout } = spawnSync('/bin/bash', ['-c', all, process.execPath], { encoding: 'utf8' });
  const ids = stdout.trim().split('\n');
  expect(ids).toHaveLength(6);
  expect(new Set(ids).size).toBe(1);
});

test('a home that cannot be had is an error that says why and what to do', () => {
  const file = join(folder, 'file');
  writeFileSync(file, '');
  const why = (path: string): HomeError => thrownBy(() => openHome(path));
  expect(why(file)).toMatchObject({
    exitCode: 4,
    message: expect.stringContaining('there is a file in its place (EEXIST)'),
  });
  expect(why(join(file, 'below')).message).toContain('a part of the path is a file');
  expect(why('/proc/nightshift').message).toContain('no folder can be made there (ENOENT)');
  expect(why('/proc/nightshift').fix).toContain('NIGHTSHIFT_HOME');
});

test('a home on a disk that is full, or too small to be of use, is refused', async () => {
  const disk = await createSmallDisk(1024 * 1024);
  try {
    expect(() => openHome(join(disk.path, 'home'))).toThrow(
      /The disk of .* is full: \d+ MiB are free, 32 MiB are needed/,
    );
    expect(() => writeFileSync(join(disk.path, 'filling'), Buffer.alloc(2 * 1024 * 1024))).toThrow(/ENOSPC/);
    expect(() => openHome(join(disk.path, 'home'))).toThrow(/the disk is full \(ENOSPC\)/);
  } finally {
    await disk.close();
  }
});

test('a damaged id is never replaced by a new one', () => {
  writeFileSync(join(folder, 'id'), 'half');
  expect(() => openHome(folder)).toThrow(/does not hold the id of a home/);
  expect(() => lookAtHome(folder)).toThrow(HomeError);
  expect(existsSync(join(folder, 'id'))).toBe(true);
});

test.each([
  ['jobs', (jobs: string): void => mkdirSync(join(jobs, 'fix-the-test')), /grep/, false],
  ['a database', (_jobs: string, db: string): void => writeFileSync(db, ''), /grep -aoE/, true],
] as const)('a home that has %s and no id any more is refused, and is given no new one', (_, use, hint, hasHint) => {
  const { home, jobs, db } = openHome(join(folder, 'home'));
  use(jobs, db);
  rmSync(join(home, 'id'));
  for (const open of [openHome, lookAtHome]) {
    const error = thrownBy(() => open(home));
    expect(error).toMatchObject({
      exitCode: 4,
      message: expect.stringContaining('and with it the id of this home'),
      fix: expect.stringContaining('write the 12 digits that stand behind "nightshift-"'),
    });
    expect(hint.test(error.fix)).toBe(hasHint);
  }
  expect(existsSync(join(home, 'id'))).toBe(false);
});

test('a folder that is empty, or a home that was never used, is given an id', () => {
  expect(openHome(folder).id).toMatch(/^[0-9a-f]{12}$/);
  rmSync(join(folder, 'id'));
  expect(lookAtHome(folder)).toBeUndefined();
  expect(openHome(folder).id).toMatch(/^[0-9a-f]{12}$/);
});
