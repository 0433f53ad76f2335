import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobEvent } from '../../src/shapes/event.ts';
import type { ToolResultBlock } from '../../src/shapes/message.ts';
import { type Rig, rig, RULES } from '../support/rig.ts';

const bash = (command: string, description?: string) => ({
  name: 'Bash',
  input: { command, ...(description ? { description } : {}) },
});
let r: Rig;

beforeAll(async () => {
  r = await rig({
    jobs: [
      {
        match: 'siblings',
        steps: [
          {
            calls: [
              bash('cat fifo-1', 'Wait for one'),
              bash('cat missing.txt', 'Show it'),
              bash('cat fifo-2', 'Wait for two'),
            ],
          },
          { text: 'one failed' },
        ],
      },
      { match: 'serial', steps: [{ calls: [bash('exit 3'), bash('echo after >> serial.txt')] }, { text: 'both ran' }] },
      { match: 'plain', steps: [{ calls: [bash('grep nothing fifo.txt'), bash('ls')] }, { text: 'fine' }] },
      {
        match: 'shell',
        steps: [
          { calls: [bash('echo begun >> shell.txt; sleep 300 & setsid sleep 301 & wait', 'Long')] },
          { text: 'ended' },
          { text: 'awake again' },
        ],
      },
      {
        match: 'talk',
        steps: [
          { text: 'a long speech, word after word, and on it goes', duration: '20s', chunk: 2 },
          { text: 'brief' },
        ],
      },
      { match: 'asked', steps: [{ calls: [bash('echo x >> asked.txt')] }, { text: 'on' }, { text: 'on again' }] },
    ],
  });
  for (const name of ['fifo-1', 'fifo-2']) execFileSync('mkfifo', [join(r.dir, name)]);
});
afterAll(() => r.close());

const free = () => ({
  ...RULES,
  allow: [{ text: 'Bash', tool: 'Bash', source: { kind: 'cli' as const, base: r.dir } }],
});
const results = async (id: string): Promise<ToolResultBlock[]> =>
  (await r.messages(id)).flatMap((message) =>
    message.content.filter((block): block is ToolResultBlock => block.type === 'tool_result'),
  );
const ended = (id: string): Extract<JobEvent, { kind: 'call.ended' }>[] =>
  r.events(id).filter((event) => event.kind === 'call.ended');

/** Living processes that carry a mark of this job. */
function running(id: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const isZombie = readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
        return !isZombie && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`NIGHTSHIFT_CALL=${id}/`);
      } catch {
        return false;
      }
    })
    .map(Number);
}

describe('a shell that fails in a parallel batch', () => {
  it('cancels its unfinished neighbours, which say which call failed and never that a person stopped them', async () => {
    const id = await r.start('siblings', { rules: free() });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    const [first, second, third] = await results(id);
    expect(second!.content).toContain('Exit code 1');
    for (const other of [first!, third!]) {
      expect(other).toMatchObject({ is_error: true });
      expect(other.content).toContain('Cancelled: a parallel call failed: Bash(Show it)');
    }
    expect(running(id)).toEqual([]);
    expect(r.refused()).toEqual([]);
  });

  it('does nothing to its neighbours when the job says so', async () => {
    const id = await r.start('siblings, each for itself', { rules: free(), siblingAbort: 'off' });
    await r.event(id, 'call.ended', (event) => event.index === 1);
    execFileSync('sh', ['-c', 'echo x > fifo-1; echo y > fifo-2'], { cwd: r.dir });
    await r.settled(id);
    expect((await results(id)).map((result) => result.is_error ?? false)).toEqual([false, true, false]);
  });

  it('does nothing to calls that come after it', async () => {
    const id = await r.start('serial', { rules: free() });
    await r.settled(id);
    expect(readFileSync(join(r.dir, 'serial.txt'), 'utf8')).toBe('after\n');
  });
});

describe('an interrupt', () => {
  it('lets a running shell end when pressed once, and kills its whole tree when pressed twice', async () => {
    const id = await r.start('shell', { rules: free() });
    await expect.poll(() => running(id).length, { timeout: 20_000 }).toBeGreaterThan(2);
    await r.client.signal(id, 'interrupt', {});
    await expect
      .poll(
        async () =>
          (await r.temporal.workflow.getHandle(`${id}/t1`).query<{ interruptible: boolean }>('turnView')).interruptible,
      )
      .toBe(false);
    expect(running(id).length).toBeGreaterThan(2);
    await r.client.signal(id, 'interrupt', {});
    expect(await r.settled(id)).toMatchObject({ status: 'idle' });
    expect(running(id)).toEqual([]);
    await r.client.send(id, 'go on');
    await r.event(id, 'model.ended', (event) => event.turn === 2);
    expect(r.refused()).toEqual([]);
    await expect.poll(async () => (await r.client.describe(id)).status, { timeout: 20_000 }).toBe('done');
    expect((await results(id))[0]!.content).toContain('interrupted');
  });

  it('cuts a streaming reply at once and keeps the job', async () => {
    const id = await r.start('talk');
    await r.event(id, 'model.text');
    const before = Date.now();
    await r.client.signal(id, 'interrupt', {});
    expect(await r.settled(id)).toMatchObject({ status: 'idle' });
    expect(Date.now() - before).toBeLessThan(10_000);
    await r.client.cancel(id);
  });

  it('reaches a call that waits for a person', async () => {
    const id = await r.start('asked');
    await r.event(id, 'prompt.opened');
    await r.client.signal(id, 'interrupt', {});
    expect(await r.settled(id)).toMatchObject({ status: 'idle', prompts: [] });
    await r.client.cancel(id);
  });
});

describe('a cancel', () => {
  it('kills the whole tree of a running shell and leaves a valid transcript', async () => {
    const id = await r.start('shell, to be cancelled', { rules: free() });
    await expect.poll(() => running(id).length, { timeout: 20_000 }).toBeGreaterThan(2);
    await r.client.cancel(id);
    expect(await r.settled(id)).toMatchObject({ status: 'cancelled' });
    expect(running(id)).toEqual([]);
    expect(ended(id)).toMatchObject([{ outcome: 'cancelled' }]);
    const [result] = await results(id);
    expect(result).toMatchObject({ is_error: true });
    expect(result!.content).toContain('a person cancelled the job');
  });
});
