import type { InboxItem } from './commands/inbox.ts';
import { noPaint } from './paint.ts';
import { questionLines } from './render.ts';
import { duration } from './text.ts';

/** Questions for people, each with what would run, why it asks, and how to answer. */
export function inboxLines(items: readonly InboxItem[], at: { now: number; width: number }): string[] {
  return items.flatMap((item, n) => [
    ...(n === 0 ? [] : ['']),
    `${item.job} has waited for ${duration(at.now - Date.parse(item.since))}`,
    ...questionLines(item, { ...item, text: item.reason }, at.width, noPaint),
  ]);
}
