import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  currentIdentity,
  identityOf,
  isAlive,
  killIdentity,
  liveness,
  ProcessIdentity,
  sameProcess,
  sendSignal,
  statOf,
} from '../../src/host/identity.ts';

/** A pid that no process can have: above the kernel's largest pid_max. */
const NO_PID = 2 ** 22 + 1;

let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'identity-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

async function ended(child: ReturnType<typeof spawn>): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

describe('process identity', () => {
  it('knows itself, and survives the way through JSON', () => {
    const self = currentIdentity();
    expect(self.pid).toBe(process.pid);
    expect(isAlive(ProcessIdentity.parse(JSON.parse(JSON.stringify(self))))).toBe(true);
    expect(sameProcess(self, currentIdentity())).toBe(true);
  });

  it('tells a reused pid, another boot and another pid namespace apart', () => {
    const self = currentIdentity();
    expect(liveness({ ...self, startTime: self.startTime + 1 })).toBe('dead');
    expect(liveness({ ...self, bootId: 'another boot' })).toBe('dead');
    expect(liveness({ ...self, pidNamespace: 'pid:[1]' })).toBe('foreign');
    expect(isAlive({ ...self, pidNamespace: 'pid:[1]' })).toBe(false);
    expect(sameProcess(self, { ...self, startTime: self.startTime + 1 })).toBe(false);
  });

  it('signals that very process and nobody else', async () => {
    const child = spawn('sleep', ['1000']);
    await once(child, 'spawn');
    const identity = identityOf(child.pid!)!;
    expect(killIdentity({ ...identity, startTime: identity.startTime - 1 }, 'SIGKILL')).toBe(false);
    expect(liveness(identity)).toBe('alive');
    expect(killIdentity(identity, 'SIGKILL')).toBe(true);
    await ended(child);
    expect(liveness(identity)).toBe('dead');
    expect(killIdentity(identity, 'SIGKILL')).toBe(false);
  });

  it('counts a zombie as dead, though its pid is still taken', async () => {
    // bash starts a child and becomes `tail`, which never reaps: the child, told to end, stays a zombie.
    const child = spawn('bash', ['-c', 'sleep 1000 & echo $!; exec tail -f /dev/null'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [pid] = (await once(child.stdout, 'data')).map(Number);
    const identity = identityOf(pid!)!;
    process.kill(pid!, 'SIGKILL');
    await expect.poll(() => statOf(pid!)?.state).toBe('Z');
    expect(liveness(identity)).toBe('dead');
    expect(identityOf(pid!)).toBeUndefined();
    child.kill('SIGKILL');
    await ended(child);
  });

  it('reads a process whose name holds blanks and parentheses', async () => {
    const strange = join(dir, 'a) R 1 (b');
    await cp('/bin/sleep', strange);
    const child = spawn(strange, ['1000']);
    await once(child, 'spawn');
    await expect.poll(() => statOf(child.pid!)?.ppid).toBe(process.pid);
    expect(isAlive(identityOf(child.pid!)!)).toBe(true);
    child.kill('SIGKILL');
    await ended(child);
  });

  it('says nothing of a pid that nobody has', () => {
    expect(statOf(NO_PID)).toBeUndefined();
    expect(identityOf(NO_PID)).toBeUndefined();
    expect(sendSignal(NO_PID, 'SIGKILL')).toBe(false);
  });
});
