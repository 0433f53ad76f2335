import { type FSWatcher, watch } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { JobEvent } from '../shapes/event.ts';
import { errorCode } from './durable-file.ts';

const CHUNK_BYTES = 1024 * 1024;
/** How often a file is looked at when nothing tells that it grew (it is not there yet, or the system does not say). */
const LOOK_MS = 500;
const LINE_END = 0x0a;

/** What is in an event file. `skipped`: lines that are torn or no events. */
export type EventLog = { events: JobEvent[]; skipped: number };

/** All events so far, in the order of the file; none when there is no file yet. */
export async function readEvents(path: string): Promise<EventLog> {
  const reader = createReader(path, 0);
  const events: JobEvent[] = [];
  for await (const batch of reader.batches()) events.push(...batch);
  return { events, skipped: reader.skipped() };
}

/**
 * Events from byte `from` on, then new ones as they are written, until the signal is aborted. Waits for a file that is
 * not there yet; lines that are no events are left out and told to `onSkipped` (how many so far). A file that became
 * shorter, as after a restore of the home, is read again from its start.
 */
export async function* followEvents(
  path: string,
  signal: AbortSignal,
  from = 0,
  onSkipped?: (lines: number) => void,
): AsyncGenerator<JobEvent, void, undefined> {
  const reader = createReader(path, from);
  const change = watchFile(path, signal);
  let skipped = 0;
  try {
    while (!signal.aborted) {
      for await (const batch of reader.batches()) {
        for (const event of batch) {
          if (signal.aborted) return;
          yield event;
        }
      }
      if (reader.skipped() > skipped) onSkipped?.((skipped = reader.skipped()));
      await change.next();
    }
  } finally {
    change.close();
  }
}

/** Reads whole lines and remembers where it is; half a line waits for its rest. */
function createReader(
  path: string,
  from: number,
): { batches: () => AsyncGenerator<JobEvent[], void, undefined>; skipped: () => number } {
  let at = from;
  let half: Buffer[] = [];
  let skipped = 0;

  function eventsOf(chunk: Buffer): JobEvent[] {
    const events: JobEvent[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_END); end >= 0; end = chunk.indexOf(LINE_END, start)) {
      const line = Buffer.concat([...half, chunk.subarray(start, end)]).toString('utf8');
      half = [];
      start = end + 1;
      const event = parse(line);
      if (event) events.push(event);
      else if (line.trim() !== '') skipped += 1;
    }
    // A copy: the next chunk is read into the same memory.
    if (start < chunk.length) half.push(Buffer.from(chunk.subarray(start)));
    return events;
  }

  return {
    skipped: () => skipped,
    async *batches() {
      const file = await openIfThere(path);
      if (!file) return;
      try {
        const memory = Buffer.allocUnsafe(CHUNK_BYTES);
        if ((await file.stat()).size < at) {
          at = 0;
          half = [];
        }
        for (;;) {
          const { bytesRead } = await file.read(memory, 0, memory.length, at);
          if (bytesRead === 0) return;
          at += bytesRead;
          yield eventsOf(memory.subarray(0, bytesRead));
        }
      } finally {
        await file.close();
      }
    },
  };
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function parse(line: string): JobEvent | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isEvent(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Our own lines are right or torn; a kind of a later version passes, those who read events leave it out. */
function isEvent(value: unknown): value is JobEvent {
  if (typeof value !== 'object' || value === null || !('kind' in value) || !('at' in value)) return false;
  const { kind, at } = value;
  if (typeof kind !== 'string' || typeof at !== 'number' || !Number.isFinite(at)) return false;
  const has = (field: string): boolean => Number.isInteger(Object.getOwnPropertyDescriptor(value, field)?.value);
  if (kind.startsWith('call.')) return has('turn') && has('step') && has('index');
  if (kind.startsWith('model.')) return has('turn') && has('step');
  return !kind.startsWith('turn.') || has('turn');
}

/** `next` resolves when the file may have grown since the last `next`, at the latest after a while, and on abort. */
function watchFile(path: string, signal: AbortSignal): { next: () => Promise<void>; close: () => void } {
  let hasChanged = false;
  let wake = (): void => {};
  const changed = (): void => {
    hasChanged = true;
    wake();
  };
  let watcher = startWatching(path, changed);
  signal.addEventListener('abort', changed);
  return {
    async next() {
      watcher ??= startWatching(path, changed);
      if (!hasChanged && !signal.aborted) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, LOOK_MS);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      hasChanged = false;
    },
    close() {
      watcher?.close();
      signal.removeEventListener('abort', changed);
      wake();
    },
  };
}

/** Watches the folder, so that a file that is made or replaced is seen; undefined where there is nothing to watch yet. */
function startWatching(path: string, changed: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(dirname(path), changed);
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}
