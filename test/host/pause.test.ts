import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { pauseBy } from '../../src/host/pause.ts';
import { watchUntil } from '../../src/host/watch-until.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'nightshift-pause-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const appears = (name: string): Promise<true> =>
  watchUntil({ dir: folder, name, everyMs: 20 }, () => (readdirSync(folder).includes(name) ? true : undefined));

it('passes a place that nobody armed', async () => {
  await pauseBy(folder)('here');
  expect(readdirSync(folder)).toEqual([]);
});

it('holds the first that comes to an armed place, until its file is removed, and nobody after it', async () => {
  const [first, second] = [pauseBy(folder), pauseBy(folder)];
  writeFileSync(join(folder, 'here'), '');
  const held = first('here').then(() => 'first');
  await appears('here.held');
  expect(await Promise.race([held, second('here').then(() => 'second')])).toBe('second');
  rmSync(join(folder, 'here.held'));
  expect(await held).toBe('first');
});

it('holds one of two that come at the same time', async () => {
  writeFileSync(join(folder, 'there'), '');
  const passed: number[] = [];
  const both = [1, 2].map(async (n) => {
    await pauseBy(folder)('there');
    passed.push(n);
  });
  await Promise.race(both);
  await appears('there.held');
  expect(passed).toHaveLength(1);
  rmSync(join(folder, 'there.held'));
  await Promise.all(both);
  expect(passed).toHaveLength(2);
});
