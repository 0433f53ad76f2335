import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { distFile } from './service/dist-file.ts';
import { version } from './version.ts';

/** The workflows of this package, as its workers load them. */
export const bundleFile = (): string => distFile('workflow-bundle.js');

/** Names the workflows of this package: two workers with the same id go on with each other's jobs without a question. */
export function buildId(): string {
  return `${version()}+${createHash('sha256').update(readFileSync(bundleFile())).digest('hex').slice(0, 12)}`;
}
