import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { distFile } from '../../../src/app/service/dist-file.ts';
import { lockHolder, takeLock } from '../../../src/app/service/lock.ts';
import { currentIdentity } from '../../../src/host/identity.ts';

let folder: string;
let path: string;
const unseen = async (): Promise<boolean> => {
  throw new Error('nobody here is in another pid namespace');
};
const dead = { ...currentIdentity(), startTime: 1 };

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nightshift-lock-'));
  path = join(folder, 'up.lock');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function leave(name: string, nonce: string, identity = dead): void {
  writeFileSync(join(folder, name), JSON.stringify({ nonce, identity }));
}

test('the first gets it, the second is told who has it, and after the release it is free', async () => {
  const first = await takeLock(path, unseen);
  expect(first.kind).toBe('taken');
  const second = await takeLock(path, unseen);
  expect(second).toMatchObject({ kind: 'held', holder: { identity: currentIdentity() } });
  expect(await lockHolder(path, unseen)).toMatchObject({ identity: currentIdentity() });
  if (first.kind === 'taken') first.release();
  expect(await lockHolder(path, unseen)).toBeUndefined();
  expect(readdirSync(folder)).toEqual([]);
});

test('of many that find a dead holder exactly one gets the lock', async () => {
  leave('up.lock', randomUUID());
  const all = await Promise.all(Array.from({ length: 20 }, () => takeLock(path, unseen)));
  expect(all.filter(({ kind }) => kind === 'taken')).toHaveLength(1);
  expect(readdirSync(folder)).toEqual(['up.lock']);
});

test('of many processes that find a dead holder exactly one gets the lock, round after round', async () => {
  const script = `
    import { takeLock } from ${JSON.stringify(distFile('src/app/service/lock.js'))};
    const lock = await takeLock(${JSON.stringify(path)}, async () => false);
    process.stdout.write(lock.kind);
    process.stdin.resume();
    process.stdin.on('end', () => process.exit(0));`;
  for (let round = 0; round < 3; round += 1) {
    leave('up.lock', randomUUID());
    const racers = Array.from({ length: 6 }, () =>
      spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] }),
    );
    const kinds = await Promise.all(racers.map(async ({ stdout }) => String((await once(stdout, 'data'))[0])));
    expect(kinds.filter((kind) => kind === 'taken')).toHaveLength(1);
    await Promise.all(
      racers.map((racer) => {
        racer.stdin.end();
        return once(racer, 'exit');
      }),
    );
  }
});

test('a lock whose replacer died in the middle can still be taken', async () => {
  const holder = randomUUID();
  const replacer = randomUUID();
  leave('up.lock', holder);
  leave(`up.lock.after-${holder}`, replacer);
  leave(`up.lock.after-${replacer}`, randomUUID());
  expect(await takeLock(path, unseen)).toMatchObject({ kind: 'taken' });
  expect(readdirSync(folder)).toEqual(['up.lock']);
});

test('a holder in another pid namespace is asked', async () => {
  leave('up.lock', randomUUID(), { ...dead, pidNamespace: 'pid:[1]' });
  expect(await takeLock(path, async () => true)).toMatchObject({ kind: 'held' });
  expect(await takeLock(path, async () => false)).toMatchObject({ kind: 'taken' });
});

test('a lock that was replaced is not held any more, and its release leaves the other one alone', async () => {
  const lock = await takeLock(path, unseen);
  if (lock.kind !== 'taken') throw new Error('the lock of an empty folder was not to be had');
  expect(lock.holds()).toBe(true);
  const other = randomUUID();
  leave('up.lock', other);
  expect(lock.holds()).toBe(false);
  lock.release();
  expect(readFileSync(path, 'utf8')).toContain(other);
});

test('a damaged lock is an error that says how to go on', async () => {
  writeFileSync(path, '{"nonce":');
  await expect(takeLock(path, unseen)).rejects.toMatchObject({
    exitCode: 4,
    fix: expect.stringContaining(`rm ${path}`),
  });
});
