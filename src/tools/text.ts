import { byteLength, clipBytes } from '../core/preview.ts';

const BRIEF_BYTES = 200;

/** One line for people, at most 200 bytes of UTF-8. */
export function briefText(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return byteLength(line) <= BRIEF_BYTES ? line : `${clipBytes(line, BRIEF_BYTES - byteLength('…'))}…`;
}

/** `12,345`. */
export function numberText(n: number): string {
  return n.toLocaleString('en-US');
}

/** `1 line`, `2,000 lines`. */
export function countText(n: number, one: string, many = `${one}s`): string {
  return `${numberText(n)} ${n === 1 ? one : many}`;
}
