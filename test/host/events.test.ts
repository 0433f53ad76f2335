import { appendFileSync } from 'node:fs';
import { appendFile, mkdtemp, readFile, rm, stat, truncate, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SCRUBBED, scrubber } from '../../src/core/scrub.ts';
import { followEvents, readEvents } from '../../src/host/event-reader.ts';
import { createEvents } from '../../src/host/events.ts';
import type { JobEvent } from '../../src/shapes/event.ts';
import { createSmallDisk } from '../support/small-disk.ts';

let dir: string;
let path: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'events-'));
  path = join(dir, 'jobs', 'j', 'events.jsonl');
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const event = (n: number, text = 'x'): JobEvent => ({ at: n, kind: 'model.text', turn: 1, step: 1, text });
const times = (events: readonly JobEvent[]): number[] => events.map(({ at }) => at);
const range = (length: number, from = 0): number[] => Array.from({ length }, (_, n) => n + from);

describe('events', () => {
  it('are appended in order, all of one tick at once, and are in the file after a flush', async () => {
    const events = createEvents(path);
    for (const n of range(500)) events.write(event(n));
    await events.flush();
    for (const n of range(500, 500)) events.write(event(n));
    await events.flush();
    const log = await readEvents(path);
    expect(times(log.events)).toEqual(range(1_000));
    expect(log.skipped).toBe(0);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it('hold nothing that their scrubber takes out, however deep it lies', async () => {
    const events = createEvents(path, { scrub: scrubber(['n-key-1234"']) });
    const calls = [
      {
        index: 0,
        id: 'a',
        name: 'Bash',
        brief: 'b',
        safe: false,
        input: { list: ['x\n-key-1234"', { y: 'n-key-1234"' }] },
      },
    ];
    const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };
    events.write({
      at: 1,
      kind: 'model.ended',
      turn: 1,
      step: 1,
      text: 'n-key-1234"',
      calls,
      stop: null,
      usage,
      spent: 1,
    });
    await events.flush();
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({
      text: SCRUBBED,
      calls: [{ input: { list: ['x\n-key-1234"', { y: SCRUBBED }] } }],
    });
  });

  it('of several writers do not mix', async () => {
    const writers = range(4).map(() => createEvents(path));
    for (const n of range(100)) {
      for (const [w, events] of writers.entries()) events.write(event(w * 1_000 + n, 'y'.repeat(5_000)));
      if (n % 10 === 0) await Promise.all(writers.map((events) => events.flush()));
    }
    await Promise.all(writers.map((events) => events.flush()));
    const log = await readEvents(path);
    expect([log.events.length, log.skipped]).toEqual([400, 0]);
    for (const w of range(4))
      expect(times(log.events).filter((at) => Math.floor(at / 1_000) === w)).toEqual(range(100, w * 1_000));
  });

  it('start on a line of their own after half a line of a process that died', async () => {
    const first = createEvents(path);
    first.write(event(1));
    await first.flush();
    await appendFile(path, '{"at":2,"kind":"model.te');
    const second = createEvents(path);
    second.write(event(3));
    await second.flush();
    await appendFile(path, 'half');
    second.write(event(4));
    await second.flush();
    expect(await readEvents(path)).toEqual({ events: [event(1), event(3), event(4)], skipped: 2 });
  });

  it('never throw into their caller, and say how many were lost', async () => {
    const events = createEvents(path, { now: () => 7, maxWaiting: 2_000 });
    const circular = event(1);
    events.write(Object.assign(circular, { circular }));
    events.write(event(2, 'z'.repeat(3_000)));
    events.write(event(3));
    await events.flush();
    expect((await readEvents(path)).events).toEqual([
      { at: 7, kind: 'events.lost', lines: 2, error: 'Error: too much waits for the disk' },
      event(3),
    ]);
  });

  it('are counted while the disk is full, told once there is room, and leave no half line behind', async () => {
    const disk = await createSmallDisk(64 * 1024);
    try {
      const file = join(disk.path, 'events.jsonl');
      const filler = join(disk.path, 'filler');
      await writeFile(filler, Buffer.alloc(32 * 1024));
      const events = createEvents(file, { now: () => 7 });
      const line = 'x'.repeat(1_000);
      for (const n of range(60)) events.write(event(n, line));
      await events.flush();
      events.write(event(60, line));
      await events.flush();
      const full = await readEvents(file);
      expect(full.events.length).toBeGreaterThan(5);
      expect(times(full.events)).toEqual(range(full.events.length));

      await unlink(filler);
      await events.flush();
      events.write(event(61, line));
      await events.flush();
      const log = await readEvents(file);
      const kept = full.events.length;
      expect(log.skipped).toBe(1);
      expect(log.events.slice(kept)).toEqual([
        { at: 7, kind: 'events.lost', lines: 61 - kept, error: 'ENOSPC' },
        event(61, line),
      ]);
    } finally {
      await disk.close();
    }
  });
});

describe('readEvents', () => {
  it('finds nothing where there is no file', async () => {
    expect(await readEvents(path)).toEqual({ events: [], skipped: 0 });
  });

  it('skips what is torn or no event and counts it, and passes a kind that it does not know', async () => {
    const file = join(dir, 'e');
    const later = { at: 5, kind: 'later.kind', x: 1 };
    const lines = [
      event(1),
      'text',
      { at: 2 },
      { kind: 'job.resumed' },
      { at: 3, kind: 'call.ended', turn: 1, step: 1 },
      null,
      later,
      event(6),
    ];
    await writeFile(file, `\n${lines.map((line) => JSON.stringify(line)).join('\n')}\n{"at":7,`);
    expect(await readEvents(file)).toEqual({ events: [event(1), later, event(6)], skipped: 5 });
  });

  it('reads lines that are longer than what is read at once, with characters on the edge', async () => {
    const events = createEvents(path);
    const long = '日本語👍'.repeat(200_000);
    for (const n of range(3)) events.write(event(n, long));
    await events.flush();
    const log = await readEvents(path);
    expect(log.events.map((one) => one.kind === 'model.text' && one.text === long)).toEqual([true, true, true]);
  });
});

describe('followEvents', () => {
  /** Collects what is followed; `until` resolves as soon as so many are there. */
  function follow(from?: number): {
    seen: JobEvent[];
    skipped: number[];
    until: (n: number) => Promise<void>;
    stop: () => Promise<void>;
  } {
    const abort = new AbortController();
    const seen: JobEvent[] = [];
    const skipped: number[] = [];
    let check = (): void => {};
    const done = (async () => {
      for await (const one of followEvents(path, abort.signal, from, (lines) => skipped.push(lines))) {
        seen.push(one);
        check();
      }
    })();
    return {
      seen,
      skipped,
      until: (n) =>
        new Promise((resolve) => {
          check = () => seen.length >= n && resolve();
          check();
        }),
      async stop() {
        abort.abort();
        await done;
      },
    };
  }

  it('waits for a file that is not there, then gives what is written, half lines when they are whole', async () => {
    const reader = follow();
    const events = createEvents(path);
    events.write(event(1));
    await reader.until(1);
    const line = `${JSON.stringify(event(2))}\n`;
    appendFileSync(path, line.slice(0, 10));
    appendFileSync(path, line.slice(10));
    appendFileSync(path, 'nonsense\n');
    appendFileSync(path, `${JSON.stringify(event(3))}\n`);
    await reader.until(3);
    expect(times(reader.seen)).toEqual([1, 2, 3]);
    await reader.stop();
    expect(reader.skipped).toEqual([1]);
  });

  it('starts where it is told', async () => {
    const events = createEvents(path);
    events.write(event(1));
    await events.flush();
    const reader = follow((await stat(path)).size);
    events.write(event(2));
    await reader.until(1);
    expect(times(reader.seen)).toEqual([2]);
    await reader.stop();
  });

  it('reads a file that became shorter from its start', async () => {
    const events = createEvents(path);
    for (const n of range(5)) events.write(event(n));
    await events.flush();
    const reader = follow();
    await reader.until(5);
    await truncate(path, (await readFile(path, 'utf8')).indexOf('\n') + 1);
    await reader.until(6);
    expect(times(reader.seen)).toEqual([0, 1, 2, 3, 4, 0]);
    await reader.stop();
  });

  it('ends at once when it is aborted, whether it waits or not', async () => {
    const events = createEvents(path);
    events.write(event(1));
    await events.flush();
    const abort = new AbortController();
    abort.abort();
    const followed = followEvents(path, abort.signal);
    expect(await followed.next()).toEqual({ done: true, value: undefined });
    await follow().stop();
  });
});
