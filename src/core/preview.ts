import type { ImageBlock, TextBlock } from '../shapes/message.ts';

/** Bytes of a kept output that the model gets to see. */
export const PREVIEW_BYTES = 2_000;

/** At most `bytes` bytes of UTF-8 from the start of a text; no character is cut in two. */
export function clipBytes(text: string, bytes: number): string {
  if (text.length * 3 <= bytes) return text;
  let used = 0;
  let end = 0;
  for (const character of text) {
    used += utf8Length(character);
    if (used > bytes) return text.slice(0, end);
    end += character.length;
  }
  return text;
}

/** Bytes of a text in UTF-8. */
export const byteLength = (text: string): number => new TextEncoder().encode(text).length;

/** A size for people, in steps of 1024, always with one decimal from 1 KB on. */
export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const kilo = bytes / 1024;
  return kilo < 1024 ? `${kilo.toFixed(1)} KB` : `${(kilo / 1024).toFixed(1)} MB`;
}

/**
 * What the model gets of an output that is kept whole in a file: its size, the path and a preview that ends at the last
 * line end in its second half, if there is one. `head`: the output, or its first `PREVIEW_BYTES` bytes or more, with
 * `bytes` for all of it.
 */
export function persistedOutput(output: { head: string; path: string; bytes?: number }): string {
  const { head, path, bytes = byteLength(head) } = output;
  const clipped = clipBytes(head, PREVIEW_BYTES);
  const isCut = byteLength(clipped) < bytes;
  const preview = isCut ? toLineEnd(clipped) : clipped;
  return [
    '<persisted-output>',
    `Output too large (${formatBytes(bytes)}). Full output saved to: ${path}`,
    '',
    `Preview (first ${formatBytes(PREVIEW_BYTES)}):`,
    preview,
    ...(isCut ? ['...'] : []),
    '</persisted-output>',
  ].join('\n');
}

/** What stands in for a result that says nothing. */
export const emptyText = (tool: string): string => `(${tool} completed with no output)`;

/** Nothing in it, or only blanks. */
export function isEmptyContent(content: string | readonly (TextBlock | ImageBlock)[]): boolean {
  if (typeof content === 'string') return content.trim() === '';
  return content.every((block) => block.type === 'text' && block.text.trim() === '');
}

function toLineEnd(clipped: string): string {
  const lineEnd = clipped.lastIndexOf('\n');
  const isInSecondHalf = lineEnd >= 0 && byteLength(clipped.slice(0, lineEnd)) >= PREVIEW_BYTES / 2;
  return isInSecondHalf ? clipped.slice(0, lineEnd) : clipped;
}

function utf8Length(character: string): number {
  const code = character.codePointAt(0)!;
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  return code < 0x10000 ? 3 : 4;
}
