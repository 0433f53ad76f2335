import { existsSync, mkdirSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from './durable-file.ts';
import { ifThere } from './if-there.ts';
import { watchUntil } from './watch-until.ts';

/** Stops this process at a named place where somebody wants to see it die. */
export type Pause = (place: string) => Promise<void>;

const LOOK_MS = 200;

/**
 * Pauses by files in a folder, over all processes that share it. Whoever makes the file `<place>` arms it for one time:
 * the first process that gets there renames it to `<place>.held` and stays until that file is removed, or until it is
 * killed; its pid stands in it soon after. A file that holds `block` stops the whole process, its heartbeats too: only a kill ends that.
 */
export function pauseBy(folder: string): Pause {
  mkdirSync(folder, { recursive: true });
  return async (place) => {
    const armed = join(folder, place);
    if (!existsSync(armed)) return;
    const how = await ifThere(readFile(armed, 'utf8'));
    const name = `${place}.held`;
    try {
      await rename(armed, join(folder, name));
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return; // another one was faster
      throw error;
    }
    await writeFile(join(folder, name), `${process.pid}\n`, { flag: 'r+' }).catch(() => undefined); // let go already
    if (how?.trim() === 'block') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    const released = (): true | undefined => (existsSync(join(folder, name)) ? undefined : true);
    await watchUntil({ dir: folder, name, everyMs: LOOK_MS }, released);
  };
}
