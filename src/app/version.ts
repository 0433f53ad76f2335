import { readFileSync } from 'node:fs';
import { distFile } from './service/dist-file.ts';

/** The version of this program, from the package it is part of. */
export function version(): string {
  const { version } = JSON.parse(readFileSync(distFile('../package.json'), 'utf8')) as { version: string };
  return version;
}
