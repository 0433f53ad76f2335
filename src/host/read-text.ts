import { constants } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { errorCode } from './durable-file.ts';

/** A text file; `refused` says why there is something that can't be taken for one. */
export type TextFile =
  | { kind: 'nothing' }
  | { kind: 'read'; text: string; bytes: number; bom: boolean }
  | { kind: 'refused'; why: string };

/** Reads a UTF-8 file of at most `maxBytes`. It never waits: pipes and devices are refused. A byte order mark is taken off. */
export async function readText(path: string, maxBytes: number): Promise<TextFile> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stat = await file.stat();
      if (!stat.isFile()) return refused(stat.isDirectory() ? 'is a folder' : 'is no regular file');
      if (stat.size > maxBytes) return refused(`is larger than ${Math.round(maxBytes / 1024)} KiB`);
      return decode(await file.readFile(), maxBytes);
    } finally {
      await file.close();
    }
  } catch (error) {
    return absent(path, error);
  }
}

function decode(bytes: Buffer, maxBytes: number): TextFile {
  // It may have grown since it was looked at.
  if (bytes.length > maxBytes) return refused(`is larger than ${Math.round(maxBytes / 1024)} KiB`);
  if (bytes.length >= 2 && ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)))
    return refused('is UTF-16; save it as UTF-8');
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    const bom = text.startsWith('\uFEFF');
    return { kind: 'read', text: bom ? text.slice(1) : text, bytes: bytes.length, bom };
  } catch {
    return refused('is not valid UTF-8');
  }
}

async function absent(path: string, error: unknown): Promise<TextFile> {
  const code = errorCode(error);
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    const isLink = await lstat(path).then(
      (stat) => stat.isSymbolicLink(),
      () => false,
    );
    return isLink ? refused('is a link to nothing') : { kind: 'nothing' };
  }
  if (code === 'ENXIO') return refused('is no regular file');
  if (code === 'EACCES' || code === 'EPERM') return refused('may not be read by this user');
  if (code === 'ELOOP') return refused('is a link that leads back to itself');
  return refused(`can't be read (${code ?? String(error)})`);
}

const refused = (why: string): TextFile => ({ kind: 'refused', why });
