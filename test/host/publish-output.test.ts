import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { publish } from '../../src/host/publish-output.ts';
import { start } from '../../src/host/supervisor.ts';

let top: string;
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'nightshift-publish-'));
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

const spec = (command: string) => ({
  command,
  cwd: top,
  env: { PATH: process.env['PATH']! },
  timeoutMs: Infinity,
  maxBytes: 1e9,
  mark: `publish-${process.pid}/${top.slice(-6)}`,
});

it('gives the output a second name, whether the supervisor has opened it or not, and however often', async () => {
  const [early, late] = [join(top, 'seen/early.txt'), join(top, 'seen/late.txt')];
  const run = await start(join(top, 'run'), spec('echo one; sleep 0.2; echo two'));
  await publish(run.outputPath, early);
  await run.exit(new AbortController().signal);
  await publish(run.outputPath, late);
  await publish(run.outputPath, late);
  expect(readFileSync(early, 'utf8')).toBe('one\ntwo\n');
  expect(readFileSync(late, 'utf8')).toBe('one\ntwo\n');
  expect(statSync(late).ino).toBe(statSync(run.outputPath).ino);
});

it('publishes an output that is still to come', async () => {
  const [output, path] = [join(top, 'output'), join(top, 'seen/later.txt')];
  await publish(output, path);
  const run = await start(top, spec('echo here'));
  await run.exit(new AbortController().signal);
  expect(readFileSync(path, 'utf8')).toBe('here\n');
});

it('says what is wrong when there is no place for it', async () => {
  await expect(publish(join(top, 'none/output'), join(top, 'seen/x.txt'))).rejects.toThrow('ENOENT');
});

it('knows how long ago a command was started', async () => {
  const began = performance.now();
  const run = await start(join(top, 'run'), spec('sleep 0.3'));
  await run.exit(new AbortController().signal);
  const passed = performance.now() - began;
  expect(run.ageMs()).toBeGreaterThan(250);
  expect(run.ageMs()).toBeLessThan(passed + 1_000);
});
