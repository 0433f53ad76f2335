import { join } from 'node:path';
import { callDir, jobDir, type MarkedCall, parseCallMark } from '../core/paths.ts';
import { killTree } from './kill-tree.ts';
import { isOwned } from './ledger.ts';
import { liveMarks } from './live-marks.ts';
import { adopt } from './supervisor.ts';

/**
 * How a call stands that has a living process. `awaited`: its turn still waits for it; `watched`: it went on in the
 * background and somebody waits for its end; `unsure`: that can't be known now.
 */
export type Standing = 'awaited' | 'watched' | 'unwanted' | 'unsure';

export interface ReaperOptions {
  /** Absolute. */
  readonly home: string;
  /** As it stands in the marks of this home. */
  readonly homeKey: string;
  standing(call: MarkedCall): Promise<Standing>;
  readonly log: (line: string) => void;
}

/** Every so often all live commands are asked after, in ms. */
const SWEEP_MS = 30_000;
/** So soon it looks again for one that has no living owner, and nobody who watches it, in ms. */
const SOON_MS = 1_000;

/**
 * Kills the commands that nobody wants any more: those of a job that was cancelled, terminated or deleted while no
 * worker lived. The first sweep is now; the returned function ends it.
 */
export function startReaper(options: ReaperOptions): () => void {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let fullAt = 0;
  const round = async (): Promise<void> => {
    const full = performance.now() >= fullAt;
    if (full) fullAt = performance.now() + SWEEP_MS;
    const restless = await sweep(options, full).catch((error: unknown) => {
      options.log(`reaper: ${String(error)}`);
      return false;
    });
    if (stopped) return;
    timer = setTimeout(() => void round(), restless ? SOON_MS : Math.max(SOON_MS, fullAt - performance.now()));
    timer.unref();
  };
  void round();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

/** Looks once at each live command of the home; without `full` only at those that no living process has. True: look again soon. */
async function sweep(options: ReaperOptions, full: boolean): Promise<boolean> {
  let restless = false;
  for (const mark of await liveMarks()) {
    const call = parseCallMark(mark);
    if (call?.home !== options.homeKey) continue;
    const dir = join(options.home, jobDir(call.job), callDir(call.turn, call.step, call.index));
    const owned = await isOwned(dir);
    if (owned && !full) continue;
    const standing = await options.standing(call);
    if (standing === 'unwanted') await end(dir, mark, options.log);
    else if (standing !== 'watched' && !owned) restless = true;
  }
  return restless;
}

async function end(dir: string, mark: string, log: (line: string) => void): Promise<void> {
  const found = await adopt(dir);
  if (found.kind === 'running') await found.run.kill();
  // Also what has no supervisor any more, or whose folder is gone.
  await killTree({ mark });
  log(`reaper: ended ${mark}, which nobody wants any more`);
}
