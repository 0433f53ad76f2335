/** The largest file that Read, Write and Edit take into memory, in bytes. */
export const MAX_FILE_BYTES = 64 * 1024 * 1024;

const BOM = '\uFEFF';

/** `exact`: the bytes are valid UTF-8, so that encoding the text again gives them back. `bom`: a byte order mark stood in front of the text. */
export type Decoded = { kind: 'text'; text: string; bom: boolean; exact: boolean } | { kind: 'binary'; what: string };

/** Takes a file's bytes as text; a NUL among the first 8,000 bytes means that they are none. */
export function decodeText(bytes: Uint8Array): Decoded {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { kind: 'binary', what: 'UTF-16 text' };
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { kind: 'binary', what: 'UTF-16 text' };
  if (bytes.subarray(0, 8000).includes(0)) return { kind: 'binary', what: 'binary' };
  const { text, exact } = decodeUtf8(bytes);
  const bom = text.startsWith(BOM);
  return { kind: 'text', text: bom ? text.slice(1) : text, bom, exact };
}

/** The inverse of `decodeText`. */
export function encodeText(text: string, bom: boolean): Uint8Array {
  return new TextEncoder().encode(bom ? BOM + text : text);
}

function decodeUtf8(bytes: Uint8Array): { text: string; exact: boolean } {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes), exact: true };
  } catch {
    return { text: new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes), exact: false };
  }
}

/** The lines of a text without their ends; the end of the last line starts no further one. */
export function linesOf(text: string): string[] {
  if (text === '') return [];
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
}

/** What a string can't be written as: half of a surrogate pair has no UTF-8. */
export function textFault(text: string, name: string): string | undefined {
  if (!/\p{Surrogate}/u.test(text)) return undefined;
  return `${name} holds half of a surrogate pair, which can't be written as UTF-8. Send the whole character.`;
}
