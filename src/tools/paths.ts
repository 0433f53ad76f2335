import { basename, dirname, extname, relative, resolve } from 'node:path';
import { pathTrouble } from '../core/path-trouble.ts';
import type { Files } from '../core/ports.ts';
import type { ToolOutput } from '../core/tool.ts';

/** What is wrong with a path by itself, for the model. */
export function pathFault(path: string): string | undefined {
  if (path.trim() === '') return 'The path is empty. Give an absolute path.';
  if (path.includes('\0')) return 'The path holds a NUL character, which no file name can. Give an absolute path.';
  if (path === '~' || path.startsWith('~/')) return `~ is not expanded here: ${path}. Give an absolute path.`;
  return undefined;
}

/** Absolute form of a path that a model gave. */
export function absolutePath(path: string, cwd: string): string {
  return resolve(cwd, path);
}

/** Relative to the working directory when it lies below it, else absolute. */
export function shownPath(path: string, cwd: string): string {
  return path !== cwd && isInside(path, [cwd]) ? relative(cwd, path) : path;
}

/** Whether a real path is one of these real folders or lies below one. */
export function isInside(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`));
}

/** The text for something that is not there, with the name that may have been meant. */
export async function missingText(path: string, cwd: string, files: Files): Promise<string> {
  const folder = dirname(path);
  const names = (await files.stat(folder))?.kind === 'directory' ? await files.list(folder).catch(() => []) : undefined;
  if (names === undefined) return `${path} does not exist, nor does its folder. The working directory is ${cwd}.`;
  const near = nearName(basename(path), names);
  if (near === undefined) return `${path} does not exist. The working directory is ${cwd}.`;
  return `${path} does not exist. Did you mean ${resolve(folder, near)}?`;
}

/** The name that is most like the wanted one: same letters, same name with another ending, or at most two slips of typing. */
export function nearName(wanted: string, names: readonly string[]): string | undefined {
  const low = wanted.toLowerCase();
  const stem = (name: string) => name.slice(0, name.length - extname(name).length);
  const same = names.find((name) => name.toLowerCase() === low) ?? names.find((name) => stem(name) === stem(wanted));
  if (same !== undefined) return same;
  let best: string | undefined;
  let least = (wanted.length < 3 ? 0 : Math.min(2, Math.ceil(wanted.length / 4))) + 1;
  for (const name of names) {
    if (Math.abs(name.length - wanted.length) >= least) continue;
    const steps = distance(low, name.toLowerCase());
    if (steps < least) [best, least] = [name, steps];
  }
  return best;
}

/** How many letters have to be added, dropped, changed or swapped with their neighbour. */
function distance(a: string, b: string): number {
  let above: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = isSwap ? above[j - 2]! + 1 : Infinity;
      next.push(Math.min(change, swap, row[j]! + 1, next[j - 1]! + 1));
    }
    above = row;
    row = next;
  }
  return row[b.length]!;
}

/** The result for a failed file operation that the model can act on; anything else is thrown on. */
export function fileTrouble(error: unknown, path: string): ToolOutput {
  const trouble = pathTrouble(error, path);
  if (trouble === undefined) throw error;
  return refusal(trouble);
}

/** An error result. */
export function refusal(text: string): ToolOutput {
  return { content: text, isError: true };
}
