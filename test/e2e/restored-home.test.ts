import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Check } from '../../src/app/service/doctor-checks.ts';
import type { Env } from '../../src/app/service/home.ts';
import { type Service, ensureService, stopService } from '../../src/app/service/service.ts';
import { isAlive, killIdentity } from '../../src/host/identity.ts';
import { commandLine } from '../support/command-line.ts';
import { closeServiceHome, openServiceHome, standInWorker } from '../support/stand-in-service.ts';

const WAIT = { timeout: 20_000, interval: 50 };
let root: string;
let env: Env;
let home: string;

beforeEach(async () => {
  ({ root, env } = await openServiceHome('restored'));
  home = join(root, 'home');
});
afterEach(() => closeServiceHome({ root, env }));

const served = (): Promise<Service> => ensureService({ env, files: { worker: standInWorker } });
const copyOf = (home: string): string => {
  execFileSync('cp', ['-a', home, `${home}.copy`]);
  return `${home}.copy`;
};
const putBack = (home: string): void => {
  rmSync(home, { recursive: true });
  execFileSync('cp', ['-a', `${home}.copy`, home]);
};
const refused =
  /was put back from an older copy: it stands as of about .* UTC, but it was in use until about .* UTC\.\n/;

test(
  'a home with an open job that is put back from an older copy is not started until that is said',
  { timeout: 180_000 },
  async () => {
    const effect = { name: 'Bash', input: { command: 'echo done >> journal.txt' } };
    const c = await commandLine({ steps: [{ calls: [effect] }, { text: 'Written down.' }] });
    home = c.env['NIGHTSHIFT_HOME']!;
    const journal = (): string => readFileSync(join(c.dir, 'journal.txt'), 'utf8');
    const allowed = async (): Promise<void> => {
      expect(await c.run(['allow', 'note:1'])).toMatchObject({ code: 0 });
      expect(await c.json(['result', '--wait', 'note'])).toMatchObject({ status: 'done', result: 'Written down.' });
    };
    try {
      const follow = c.begin(['run', '--name', 'note', 'write it down']);
      await follow.said('asks (note:1)');
      follow.child.kill('SIGINT');
      await follow.end;
      await c.run(['down']);
      copyOf(home);
      await allowed();
      await c.run(['down']);
      putBack(home);

      for (const args of [['up'], ['up', '--foreground'], ['ls'], ['start', 'another job'], ['watch', 'note']]) {
        const { code, err } = await c.run(args);
        expect({ args, code }).toEqual({ args, code: 4 });
        expect(err).toMatch(refused);
        expect(err).toContain('nightshift up --restored');
        expect(err).not.toContain('starting the');
      }
      const { checks }: { checks: Check[] } = JSON.parse((await c.run(['doctor', '--json'])).out);
      expect(checks.find(({ name }) => name === 'home')).toMatchObject({
        ok: false,
        found: expect.stringMatching(refused),
        fix: expect.stringContaining('nightshift up --restored'),
      });
      expect(journal()).toBe('done\n');

      expect(await c.run(['up', '--restored'])).toMatchObject({ code: 0 });
      expect(readFileSync(join(home, 'logs', 'keeper.log'), 'utf8')).toContain('going on with it, as was asked');
      await allowed();
      expect(journal()).toBe('done\ndone\n');
      await c.run(['down']);
      expect(await c.run(['ls'])).toMatchObject({ code: 0, out: expect.stringMatching(/\nnote +done /) });
    } finally {
      await c.close();
    }
  },
);

test('what a killed keeper left is ended before the copy that took its place is refused', async () => {
  await served();
  await stopService({ env, now: true });
  copyOf(home);
  const { keeper, server, worker } = (await served()).state.record;
  killIdentity(keeper.identity, 'SIGKILL');
  await vi.waitFor(() => expect(isAlive(keeper.identity)).toBe(false), WAIT);
  putBack(home);
  await expect(served()).rejects.toThrow(refused);
  expect([server!.identity!, worker!.identity].filter(isAlive)).toEqual([]);
});

test.each([
  ['in its place', putBack],
  ['over it, file by file', (to: string): void => void execFileSync('cp', ['-a', `${to}.copy/.`, to])],
])('an older copy that is put back %s while the service runs ends it, and is refused then', async (_, restore) => {
  await served();
  await stopService({ env, now: true });
  copyOf(home);
  const { keeper } = (await served()).state.record;
  restore(home);
  await vi.waitFor(() => expect(isAlive(keeper.identity)).toBe(false), WAIT);
  await expect(served()).rejects.toThrow(refused);
});
