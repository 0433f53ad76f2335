import { watch, type FSWatcher } from 'node:fs';

/**
 * Looks at once, then after each change of `name` in the folder and every `everyMs`, until the look finds something.
 * The clock is only the net below the watcher, which may be refused (too many watches) or miss a change on a network disk.
 * Rejects with the signal's reason when that aborts.
 */
export async function watchUntil<T>(
  place: { readonly dir: string; readonly name: string; readonly everyMs: number },
  look: () => T | undefined | Promise<T | undefined>,
  signal?: AbortSignal,
): Promise<T> {
  signal?.throwIfAborted();
  let changed = false;
  let wake: () => void = () => undefined;
  const ring = (): void => {
    changed = true;
    wake();
  };
  const watcher = tryWatch(place.dir, (name) => {
    if (name === null || name === place.name) ring();
  });
  const timer = setInterval(ring, place.everyMs);
  signal?.addEventListener('abort', ring);
  try {
    for (;;) {
      changed = false;
      const found = await look();
      if (found !== undefined) return found;
      signal?.throwIfAborted();
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (changed) resolve();
      });
      signal?.throwIfAborted();
    }
  } finally {
    signal?.removeEventListener('abort', ring);
    clearInterval(timer);
    watcher?.close();
  }
}

function tryWatch(dir: string, onChange: (name: string | null) => void): FSWatcher | undefined {
  try {
    const watcher = watch(dir, (_event, name) => onChange(name));
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}
