import { open, type FileHandle } from 'node:fs/promises';
import { ifThere } from './if-there.ts';

/**
 * Reads the ends of an output file of any size, and no more of it than asked. All of it is in `head` when it fits into
 * both limits together, else cuts lie between characters; `bytes` is the size of the whole file. Bytes that are no UTF-8
 * become U+FFFD; a file that does not exist is empty output, and `missing`.
 */
export async function readOutput(
  path: string,
  limits: { readonly headBytes: number; readonly tailBytes: number },
): Promise<{ head: string; tail: string; bytes: number; missing?: true }> {
  const file = await ifThere(open(path, 'r'));
  if (file === undefined) return { head: '', tail: '', bytes: 0, missing: true };
  try {
    const { size: bytes } = await file.stat();
    if (bytes <= limits.headBytes + limits.tailBytes) {
      return { head: decode(await readAt(file, 0, bytes)), tail: '', bytes };
    }
    const head = await readAt(file, 0, limits.headBytes);
    const tail = await readAt(file, bytes - limits.tailBytes, limits.tailBytes);
    return { head: decode(dropOpenEnd(head)), tail: decode(dropOpenStart(tail)), bytes };
  } finally {
    await file.close();
  }
}

/** The last `limit` bytes of a file that may still grow, without a character that is only half there. */
export async function readTail(path: string, limit: number): Promise<{ tail: string; bytes: number }> {
  const file = await ifThere(open(path, 'r'));
  if (file === undefined) return { tail: '', bytes: 0 };
  try {
    const { size } = await file.stat();
    const from = Math.max(0, size - limit);
    const read = await readAt(file, from, size - from);
    return { tail: decode(dropOpenEnd(from > 0 ? dropOpenStart(read) : read)), bytes: size };
  } finally {
    await file.close();
  }
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

function decode(bytes: Buffer): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/** Cuts off a first character whose start lies before the buffer (it has at most three more bytes). */
function dropOpenStart(bytes: Buffer): Buffer {
  let from = 0;
  while (from < 3 && isContinuation(bytes[from])) from++;
  return bytes.subarray(from);
}

/** Cuts off a last character whose end lies behind the buffer. */
function dropOpenEnd(bytes: Buffer): Buffer {
  let start = bytes.length - 1;
  while (start > bytes.length - 4 && isContinuation(bytes[start])) start--;
  const lead = bytes[start] ?? 0;
  const length = lead >= 0xf8 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return start >= 0 && length > bytes.length - start ? bytes.subarray(0, start) : bytes;
}
