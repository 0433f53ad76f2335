import { openSync, readFileSync, renameSync, statSync } from 'node:fs';
import { errorCode } from './service-error.ts';

const LARGEST = 10 * 1024 * 1024;

/** Opens a log for appending; one that has grown large becomes `<name>.1` first. */
export function openLog(path: string): number {
  try {
    if (statSync(path).size > LARGEST) renameSync(path, `${path}.1`);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
  return openSync(path, 'a', 0o600);
}

/** The last lines a log has got since it had that many bytes. */
export function lastLines(path: string, from = 0, lines = 5): string {
  return readFileSync(path).subarray(from).toString('utf8').trim().split('\n').slice(-lines).join('\n');
}
