import { HEALTHY_AFTER, backoff } from './backoff.ts';
import { errorText } from './service-error.ts';
import type { Watched } from './watched.ts';

/** How to keep one process running. */
export interface KeepOptions<T extends Watched> {
  readonly name: string;
  /** Resolves when the process answers; rejects, with nothing left running, when it does not come so far or the signal aborts. */
  readonly start: (signal: AbortSignal) => Promise<T>;
  /** Ends it in order. */
  readonly end: (running: T) => Promise<void>;
  /** Called after each change of `current`. */
  readonly changed: () => void;
  readonly log: (line: string) => void;
  /** Called when it ended, by itself or to be replaced; the next start does not wait for it. */
  readonly died?: (last: T) => void;
}

/** A process that is started again whenever it ends. */
export interface Kept<T extends Watched> {
  /** The process that answers now. */
  current(): T | undefined;
  /** How often it was started again. */
  restarts(): number;
  /** The next process that answers, the current one if there is one; rejects when `attempts` starts in a row fail first, or the signal aborts. */
  ready(attempts?: number, signal?: AbortSignal): Promise<T>;
  /** Ends the current process and starts another; resolves when that answers, rejects when `attempts` starts in a row fail first. */
  replace(attempts?: number): Promise<T>;
  /** Ends it for good. */
  stop(end?: (running: T) => Promise<void>): Promise<void>;
}

interface Waiter<T> {
  left: number;
  readonly resolve: (running: T) => void;
  readonly reject: (error: unknown) => void;
}

/** Starts a process and keeps it running: at once after the first crash, then with a growing pause. */
export function keepProcess<T extends Watched>(options: KeepOptions<T>): Kept<T> {
  const { name, log, changed } = options;
  const stopping = new AbortController();
  let current: T | undefined;
  let restarts = 0;
  let crashes = 0;
  let planned = false;
  let waiters: Waiter<T>[] = [];

  const settle = (act: (waiter: Waiter<T>) => boolean): void => {
    waiters = waiters.filter((waiter) => !act(waiter));
  };
  const failed = (error: unknown): void => {
    settle((waiter) => {
      waiter.left -= 1;
      if (waiter.left <= 0) waiter.reject(error);
      return waiter.left <= 0;
    });
  };

  const round = async (): Promise<void> => {
    let running: T;
    try {
      running = await options.start(stopping.signal);
    } catch (error) {
      crashes += 1;
      if (!stopping.signal.aborted) log(`${name}: ${errorText(error)}`);
      return failed(error);
    }
    current = running;
    log(`${name}: runs (pid ${running.identity.pid})`);
    changed();
    settle((waiter) => {
      waiter.resolve(running);
      return true;
    });
    const since = performance.now();
    const how = await running.ended;
    current = undefined;
    if (stopping.signal.aborted) return;
    restarts += 1;
    changed();
    if (performance.now() - since > HEALTHY_AFTER) crashes = 0;
    crashes = planned ? 0 : crashes + 1;
    log(`${name}: ended with ${how}${planned ? ', as asked' : ''}`);
    planned = false;
    options.died?.(running);
  };

  const loop = (async () => {
    while (!stopping.signal.aborted) {
      await round();
      if (crashes > 0) await pause(backoff(crashes), stopping.signal);
    }
    settle((waiter) => {
      waiter.reject(new Error(`${name} was stopped`));
      return true;
    });
  })();

  const ready = (attempts = Number.POSITIVE_INFINITY, signal?: AbortSignal): Promise<T> => {
    if (current !== undefined) return Promise.resolve(current);
    const gone = (): Error => new Error(`${name} was stopped`);
    if (stopping.signal.aborted || signal?.aborted === true) return Promise.reject(gone());
    return new Promise((resolve, reject) => {
      waiters.push({ left: attempts, resolve, reject });
      signal?.addEventListener('abort', () => reject(gone()), { once: true });
    });
  };

  return {
    current: () => current,
    restarts: () => restarts,
    ready,
    async replace(attempts) {
      // One that is being started was given what was true then: it has to come up before it can be replaced.
      const old = await ready();
      planned = true;
      await options.end(old);
      // The loop hears of the end by the same promise and before us, so `current` is the next one from here on.
      await old.ended;
      return ready(attempts);
    },
    async stop(end = options.end) {
      stopping.abort();
      if (current !== undefined) await end(current);
      await loop;
    },
  };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
    if (signal.aborted) done();
  });
}
