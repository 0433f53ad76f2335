import { rmSync } from 'node:fs';
import { errorCode } from '../../src/host/durable-file.ts';

const PATIENCE_MS = 10_000;

/** Removes a folder into which what was just killed may still write its last word: looks again at all of it, which rmSync's own retries do not. */
export async function removeFolder(path: string): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return rmSync(path, { recursive: true, force: true });
    } catch (error) {
      if (errorCode(error) !== 'ENOTEMPTY' || performance.now() > end) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
