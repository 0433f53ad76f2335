import { readFileSync } from 'node:fs';

/** The version of this program, from the package it is part of. */
export function version(): string {
  for (let folder = new URL('./', import.meta.url); ; folder = new URL('../', folder)) {
    const found = readVersion(new URL('package.json', folder));
    if (found !== undefined) return found;
    if (folder.pathname === '/') throw new Error('the package.json of nightshift is missing; install it again');
  }
}

function readVersion(file: URL): string | undefined {
  try {
    const parsed: unknown = JSON.parse(readFileSync(file, 'utf8'));
    const named = typeof parsed === 'object' && parsed !== null && 'name' in parsed && parsed.name === 'nightshift';
    return named && 'version' in parsed && typeof parsed.version === 'string' ? parsed.version : undefined;
  } catch {
    return undefined;
  }
}
