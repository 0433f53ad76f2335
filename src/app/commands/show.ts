import { toJson } from '../../core/timeline-json.ts';
import { foldEvents } from '../../core/timeline.ts';
import { type Io, lineWidth, print, printJson } from '../io.ts';
import { openKnownJob } from '../open-jobs.ts';
import { paintFor } from '../paint.ts';
import { showLines } from '../render-show.ts';
import { rowOf } from './ls.ts';

/** A terminal that is narrower wraps the lines, in columns. */
const NARROWEST = 30;

/** `show ID`: what was done, by which rule, what it cost, and what is unsure. */
export async function show(id: string, options: { json?: boolean }, io: Io): Promise<number> {
  const jobs = await openKnownJob(io, id);
  try {
    const info = await jobs.describe(id);
    const timeline = foldEvents(await jobs.store.events(id));
    const row = rowOf(info, timeline, await jobs.trouble(info));
    if (options.json === true) {
      printJson(io, { ...row, ...toJson(timeline) });
    } else {
      const width = Math.max(NARROWEST, Math.min(lineWidth(io.stdout, 100), 140));
      print(io, showLines(row, timeline, { now: Date.now(), width, paint: paintFor(io.isTTY, io.env) }).join('\n'));
    }
    return 0;
  } finally {
    await jobs.close();
  }
}
