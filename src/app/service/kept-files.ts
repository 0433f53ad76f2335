import { existsSync } from 'node:fs';
import { errorText } from './service-error.ts';

/** A file that has to be there as long as a keeper lives, and how it is made anew. */
export interface KeptFile {
  readonly path: string;
  readonly make: () => void | Promise<void>;
}

/**
 * Puts files back that somebody removed, when it is called each second. One has to be missing twice in a row: whoever
 * removes the whole home is not to find it made again in the middle of that. A failure is logged once and tried again.
 */
export function keepFiles(files: readonly KeptFile[], log: (line: string) => void): () => Promise<void> {
  const missing = new Set<string>();
  const failing = new Set<string>();
  let busy = false;
  const mend = async ({ path, make }: KeptFile): Promise<void> => {
    if (existsSync(path)) return void missing.delete(path);
    if (!missing.has(path)) return void missing.add(path);
    try {
      await make();
      missing.delete(path);
      log(`${path} was gone: made it anew`);
      failing.delete(path);
    } catch (error) {
      if (!failing.has(path)) log(`${path} is gone and can't be made anew: ${errorText(error)}`);
      failing.add(path);
    }
  };
  return async () => {
    if (busy) return;
    busy = true;
    for (const file of files) await mend(file);
    busy = false;
  };
}
