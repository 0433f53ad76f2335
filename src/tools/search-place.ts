import { basename, dirname } from 'node:path';
import type { ToolIo, ToolOutput } from '../core/tool.ts';
import { fileTrouble, missingText, refusal } from './paths.ts';

/** The folder to search in, and the one file of it when only that is meant. */
export type SearchPlace = { kind: 'refused'; text: string } | { kind: 'place'; dir: string; file?: string };

/** Where a search in this absolute path has to run. */
export async function searchPlace(path: string, io: ToolIo): Promise<SearchPlace> {
  const stat = await io.files.stat(path);
  if (stat === undefined) return { kind: 'refused', text: await missingText(path, io.cwd, io.files) };
  if (stat.kind === 'directory') return { kind: 'place', dir: path };
  if (stat.kind === 'file') return { kind: 'place', dir: dirname(path), file: basename(path) };
  return { kind: 'refused', text: `${path} is a device, pipe or socket: it can't be searched.` };
}

/** The result of a search that broke off. */
export function searchTrouble(error: unknown, path: string, io: ToolIo): ToolOutput {
  if (io.signal.aborted) return refusal('The search was stopped because the call was cancelled.');
  return fileTrouble(error, path);
}
