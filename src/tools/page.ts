import { numberText } from './text.ts';

const MAX_LINE_CHARS = 2000;

/**
 * Part of a file as the model sees it, lines counted from 1; `last` is `first - 1` when no line is in it.
 * `cutLines`: how many lines were too long to be shown whole.
 */
export type Page = { text: string; first: number; last: number; cutLines: number };

/** At most `count` lines from line `first` on, numbered as `cat -n` does, as many as fit into `maxBytes` and at least one. */
export function page(lines: readonly string[], first: number, count: number, maxBytes: number): Page {
  const shown: string[] = [];
  let bytes = 0;
  let cutLines = 0;
  for (const line of lines.slice(first - 1, first - 1 + count)) {
    const text = numbered(first + shown.length, line);
    bytes += Buffer.byteLength(text) + 1;
    if (bytes > maxBytes && shown.length > 0) break;
    shown.push(text);
    if (line.length > MAX_LINE_CHARS) cutLines += 1;
  }
  return { text: shown.join('\n'), first, last: first + shown.length - 1, cutLines };
}

function numbered(n: number, line: string): string {
  const number = String(n).padStart(6);
  if (line.length <= MAX_LINE_CHARS) return `${number}\t${line}`;
  // Never half of a surrogate pair.
  const kept = line.slice(0, MAX_LINE_CHARS).replace(/[\uD800-\uDBFF]$/, '');
  return `${number}\t${kept}… [${numberText(line.length - kept.length)} more characters in this line]`;
}
