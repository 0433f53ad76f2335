import type { InboxItem } from './commands/inbox.ts';
import { cut, duration, oneLine, plain } from './text.ts';

/** The longest part of an input that is shown without asking for JSON, in lines. */
const MOST_LINES = 20;

/** Questions for people: what would run, with its whole input as far as it is readable, why it asks, how to answer. */
export function inboxLines(items: readonly InboxItem[], now: number): string[] {
  return items.flatMap((item, n) => [
    ...(n === 0 ? [] : ['']),
    `${item.id}  ${item.tool}  (asked ${duration(now - Date.parse(item.since))} ago)`,
    ...inputLines(item.input).map((line) => `  ${line}`),
    ...(item.reason === '' ? [] : [`  why it asks: ${oneLine(item.reason)}`]),
    `  nightshift allow ${item.id}`,
    `  nightshift deny ${item.id} --message "…"`,
    ...(item.suggestions.length === 0
      ? []
      : [`  nightshift allow --always ${item.id}   # from now on: ${oneLine(item.suggestions.join(', '))}`]),
  ]);
}

/** Whoever allows a call must see what it does: every field is shown, and a cut is said. */
function inputLines(input: unknown): string[] {
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    return [cut(JSON.stringify(input) ?? '', 500)];
  return Object.entries(input).flatMap(([name, value]) => {
    const text = plain(typeof value === 'string' ? value : JSON.stringify(value));
    const lines = text.split('\n');
    if (lines.length === 1) return [`${name}: ${text}`];
    const shown = lines.slice(0, MOST_LINES).map((line) => `  ${line}`);
    const more = lines.length - shown.length;
    return [`${name}:`, ...shown, ...(more > 0 ? [`  … ${more} more lines, all of them with --json`] : [])];
  });
}
