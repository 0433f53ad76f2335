import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Env, type Home, openHome } from '../../../src/app/service/home.ts';
import { type KeptPulse, keepPulse } from '../../../src/app/service/kept-pulse.ts';
import { type Pulse, pulseFiles, readPulse, standing } from '../../../src/app/service/pulse.ts';
import { createSmallDisk } from '../../support/small-disk.ts';

const pulse = (count: number, at = '2026-11-30T08:00:00.000Z'): Pulse => ({ v: 1, count, at });

describe('the standing of a home', () => {
  test.each([
    ['a new one', undefined, undefined, 'newest', 0],
    ['no file outside', pulse(7), undefined, 'newest', 7],
    ['both equal', pulse(7), pulse(7), 'newest', 7],
    ['ahead, after a crash between the two or with an older cache', pulse(9), pulse(7), 'newest', 9],
    ['one behind', pulse(6), pulse(7), 'older', 7],
    ['none inside', undefined, pulse(7), 'older', 7],
  ] as const)('%s', (_, inside, outside, kind, count) => {
    expect(standing(inside, outside)).toMatchObject({ kind, count });
  });

  test('is told by the counts, whatever the clock said', () => {
    const [early, late] = ['2020-01-01T00:00:00.000Z', '2030-01-01T00:00:00.000Z'];
    expect(standing(pulse(8, early), pulse(8, late)).kind).toBe('newest');
    expect(standing(pulse(8, late), pulse(9, early)).kind).toBe('older');
  });
});

describe('the pulse of a home', () => {
  let top: string;
  let env: Env;
  let home: Home;
  let lines: string[];
  let holdsHome: boolean;

  beforeEach(() => {
    top = mkdtempSync(join(tmpdir(), 'nightshift-pulse-'));
    env = { HOME: top };
    home = openHome(join(top, 'home'));
    lines = [];
    holdsHome = true;
  });
  afterEach(() => rmSync(top, { recursive: true, force: true }));

  const keep = (restored = false): KeptPulse =>
    keepPulse({ home, env, restored, log: (line) => lines.push(line), holdsHome: () => holdsHome });
  const counts = (): (number | undefined)[] => {
    const { inside, outside } = pulseFiles(home, env);
    return [inside, outside].map((path) => readPulse(path)?.count);
  };
  const replaceBy = (text: string): void => writeFileSync(home.pulse, text);

  test('is counted in both files, from its first beat on and over restarts', async () => {
    const first = keep();
    await first.beat();
    expect(counts()).toEqual([undefined, undefined]);
    await first.begin();
    expect(counts()).toEqual([1, 1]);
    await Promise.all([first.beat(), first.beat()]);
    expect(counts()).toEqual([3, 3]);
    await keep().begin();
    expect(counts()).toEqual([4, 4]);
    expect(lines).toEqual([]);
  });

  test('an older copy is refused with both times until it is said to go on with it, and then is the newest', async () => {
    const before = keep();
    await before.begin();
    const copy = readFileSync(home.pulse, 'utf8');
    await before.beat();
    replaceBy(copy);
    await expect(keep().begin()).rejects.toMatchObject({
      exitCode: 4,
      message: expect.stringMatching(/as of about \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, .* until about \d{4}-.* UTC\./),
      fix: expect.stringContaining('nightshift up --restored'),
    });
    expect(counts()).toEqual([1, 2]);
    await keep(true).begin();
    expect(counts()).toEqual([3, 3]);
    await keep().begin();
    replaceBy(copy);
    await expect(keep().begin()).rejects.toThrow('older copy');
  });

  test('an older copy that takes its place is noticed and not counted on', async () => {
    const kept = keep();
    await kept.begin();
    const copy = readFileSync(home.pulse, 'utf8');
    await kept.beat();
    expect(kept.isSame()).toBe(true);
    replaceBy(copy);
    expect(kept.isSame()).toBe(false);
    await kept.beat();
    expect(counts()).toEqual([1, 2]);
  });

  test('nothing is written into a home that is not held any more', async () => {
    const kept = keep();
    await kept.begin();
    holdsHome = false;
    await kept.beat();
    expect(counts()).toEqual([1, 1]);
  });

  test('a damaged file counts as missing, which the log says', async () => {
    await keep().begin();
    const { outside } = pulseFiles(home, env);
    writeFileSync(outside, '{"v":1,"cou');
    await keep().begin();
    expect(counts()).toEqual([2, 2]);
    expect(lines).toEqual([expect.stringContaining(`${outside} can't be read, so it counts as missing`)]);
    replaceBy('{}');
    await expect(keep().begin()).rejects.toThrow(`its mark ${home.pulse} is gone or damaged`);
    expect(lines[1]).toContain('it holds no pulse of a home');
    rmSync(home.pulse);
    await expect(keep().begin()).rejects.toThrow(`its mark ${home.pulse} is gone or damaged`);
    await keep(true).begin();
    expect(counts()).toEqual([3, 3]);
  });

  test('a copy at another place, or another cache, knows of nothing', async () => {
    await keep().begin();
    const kept = keep();
    await kept.begin();
    replaceBy(JSON.stringify(pulse(1)));
    const elsewhere = { ...env, XDG_CACHE_HOME: join(top, 'other-cache') };
    await keepPulse({ home, env: elsewhere, restored: false, log: () => {}, holdsHome: () => true }).begin();
    const moved = { ...home, home: join(top, 'moved'), pulse: join(top, 'moved', 'pulse.json') };
    mkdirSync(moved.home);
    writeFileSync(moved.pulse, JSON.stringify(pulse(1)));
    await keepPulse({ home: moved, env, restored: false, log: () => {}, holdsHome: () => true }).begin();
    expect(readPulse(moved.pulse)?.count).toBe(2);
  });

  test('a cache that can not be written is said once, and is no hindrance', async () => {
    writeFileSync(join(top, '.cache'), 'in the way');
    const kept = keep();
    await kept.begin();
    await kept.beat();
    expect(counts()).toEqual([2, undefined]);
    expect(lines.filter((line) => line.includes('might not be noticed'))).toHaveLength(1);
  });

  test('a full disk is said once; the count outside never runs ahead, and both go on when there is room', async () => {
    const disk = await createSmallDisk(40 * 2 ** 20);
    try {
      home = openHome(join(disk.path, 'home'));
      const kept = keep();
      await kept.begin();
      const filler = join(disk.path, 'filler');
      expect(() => writeFileSync(filler, Buffer.alloc(64 * 2 ** 20, 1))).toThrow('ENOSPC');
      await kept.beat();
      await kept.beat();
      expect(counts()).toEqual([1, 1]);
      expect(lines).toEqual([expect.stringContaining('no space left')]);
      expect(kept.isSame()).toBe(true);
      rmSync(filler);
      await kept.beat();
      expect(counts()).toEqual([2, 2]);
      expect(existsSync(home.pulse)).toBe(true);
    } finally {
      await disk.close();
    }
  });
});
