import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Events } from '../core/ports.ts';
import type { Scrub } from '../core/scrub.ts';
import type { JobEvent } from '../shapes/event.ts';
import { errorCode, makeFolder } from './durable-file.ts';

/** Bytes that may wait for the disk; what comes on top is lost, so that a stuck disk never eats the memory. */
const MAX_WAITING = 16 * 1024 * 1024;
const LINE_END = 0x0a;

/**
 * Appends events to a file: whole lines, in order, all of one tick with one write, so that lines of several processes
 * do not mix. It never throws: what a full disk refuses is counted, and told in an event as soon as there is room.
 * `scrub` takes out of every text what nobody may read.
 */
export function createEvents(
  path: string,
  options: { now?: () => number; maxWaiting?: number; scrub?: Scrub | undefined } = {},
): Events {
  const { now = Date.now, maxWaiting = MAX_WAITING, scrub } = options;
  const lineOf = (event: JobEvent): Buffer => Buffer.from(`${JSON.stringify(event, scrub && scrubbed(scrub))}\n`);
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let lost = { lines: 0, error: '' };
  let running: Promise<void> | undefined;

  function write(event: JobEvent): void {
    try {
      const line = lineOf(event);
      if (waitingBytes + line.length > maxWaiting) throw new Error('too much waits for the disk');
      waiting.push(line);
      waitingBytes += line.length;
    } catch (error) {
      lose(1, error);
    }
    running ??= drain();
  }

  function lose(lines: number, error: unknown): void {
    if (lines > 0) lost = { lines: lost.lines + lines, error: errorCode(error) ?? String(error).slice(0, 200) };
  }

  async function drain(): Promise<void> {
    // Until the end of this tick: what is written together goes out together.
    await new Promise((resolve) => setImmediate(resolve));
    do {
      const batch = waiting;
      waiting = [];
      waitingBytes = 0;
      await append(batch);
    } while (waiting.length > 0);
    running = undefined;
  }

  async function append(batch: Buffer[]): Promise<void> {
    const told = lost.lines;
    const lines = told > 0 ? [lineOf({ at: now(), kind: 'events.lost', ...lost }), ...batch] : batch;
    const { done, error } = await appendLines(path, lines);
    if (told > 0 && done > 0) lost = { ...lost, lines: lost.lines - told };
    lose(Math.min(lines.length - done, batch.length), error);
  }

  return {
    write,
    flush() {
      if (lost.lines > 0) running ??= drain();
      return running ?? Promise.resolve();
    },
  };
}

/** Every text of an event, however deep it lies. */
const scrubbed =
  (scrub: Scrub) =>
  (_key: string, value: unknown): unknown =>
    typeof value === 'string' ? scrub(value) : value;

/** Appends lines with one write; `done`: so many of them are whole in the file. */
async function appendLines(path: string, lines: Buffer[]): Promise<{ done: number; error?: unknown }> {
  let written = 0;
  try {
    const file = await openToAppend(path);
    try {
      const prefix = Buffer.alloc((await endsTorn(file)) ? 1 : 0, LINE_END);
      const bytes = Buffer.concat([prefix, ...lines]);
      written -= prefix.length;
      for (let at = 0; at < bytes.length;) {
        const { bytesWritten } = await file.write(bytes, at);
        at += bytesWritten;
        written += bytesWritten;
      }
    } finally {
      await file.close();
    }
    return { done: lines.length };
  } catch (error) {
    return { done: wholeLines(lines, written), error };
  }
}

async function openToAppend(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'a+', 0o600);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    await makeFolder(dirname(path));
    return open(path, 'a+', 0o600);
  }
}

/** Whether the file ends in half a line, of a process that died or of a disk that was full. */
async function endsTorn(file: FileHandle): Promise<boolean> {
  const { size } = await file.stat();
  if (size === 0) return false;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] !== LINE_END;
}

function wholeLines(lines: readonly Buffer[], bytes: number): number {
  let left = bytes;
  const cut = lines.findIndex((line) => (left -= line.length) < 0);
  return cut < 0 ? lines.length : cut;
}
