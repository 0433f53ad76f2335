import { join } from 'node:path';
import {
  callDir,
  jobDir,
  type MarkedCall,
  type MarkedHandler,
  parseCallMark,
  parseHandlerMark,
} from '../core/paths.ts';
import { readFact } from './fact.ts';
import { killTree } from './kill-tree.ts';
import { hasLivingOwner, isOwned } from './owners.ts';
import { liveMarks } from './live-marks.ts';
import { adopt } from './supervisor.ts';

/**
 * How a call stands that has a living process. `awaited`: its turn still waits for it; `watched`: it went on in the
 * background and somebody waits for its end; `unsure`: that can't be known now.
 */
export type Standing = 'awaited' | 'watched' | 'unwanted' | 'unsure';

/** How a job stands. `closed`: it came to an end of its own; `gone`: it was terminated or deleted. */
export type JobStanding = 'open' | 'closed' | 'gone';

export interface ReaperOptions {
  /** Absolute. */
  readonly home: string;
  /** As it stands in the marks of this home. */
  readonly homeKey: string;
  standing(call: MarkedCall): Promise<Standing>;
  jobStanding(job: string): Promise<JobStanding>;
  readonly log: (line: string) => void;
}

export interface Reaper {
  /** Asks after all of them now: somebody has noticed that something is not wanted any more. */
  wake(): void;
  stop(): void;
}

/** Every so often all that lives is asked after, in ms. */
const SWEEP_MS = 30_000;
/** Every so often what no living process waits for in a call: commands in the background, and handlers of hooks. In ms. */
const LOOK_MS = 5_000;
/** So soon it looks again for a command that has no living owner, and nobody who watches it, in ms. */
const SOON_MS = 1_000;

/**
 * Kills the commands and the handlers of hooks that nobody wants any more: those of a job that was cancelled, terminated
 * or deleted while no worker lived, or without one noticing. The first sweep is now.
 */
export function startReaper(options: ReaperOptions): Reaper {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let isBusy = false;
  let fullAt = 0;
  const round = async (): Promise<void> => {
    clearTimeout(timer);
    isBusy = true;
    const full = performance.now() >= fullAt;
    if (full) fullAt = performance.now() + SWEEP_MS;
    const restless = await sweep(options, full).catch((error: unknown) => {
      options.log(`reaper: ${String(error)}`);
      return false;
    });
    isBusy = false;
    if (stopped) return;
    if (fullAt === 0) return round(); // woken meanwhile
    timer = setTimeout(() => void round(), restless ? SOON_MS : LOOK_MS);
    timer.unref();
  };
  void round();
  return {
    wake() {
      fullAt = 0;
      if (!isBusy && !stopped) void round();
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

/** Looks once at all that lives of the home; without `full` only at what no living process has. True: look again soon. */
async function sweep(options: ReaperOptions, full: boolean): Promise<boolean> {
  let restless = false;
  for (const mark of await liveMarks()) {
    const call = parseCallMark(mark);
    if (call?.home === options.homeKey) restless = (await sweepCall(options, mark, call, full)) || restless;
    const handler = parseHandlerMark(mark);
    if (handler?.home === options.homeKey && (await isUnwanted(options, handler))) await end(mark, options.log);
  }
  return restless;
}

async function sweepCall(options: ReaperOptions, mark: string, call: MarkedCall, full: boolean): Promise<boolean> {
  const dir = join(options.home, jobDir(call.job), callDir(call.turn, call.step, call.index));
  const owned = await isOwned(dir);
  if (owned && !full) return false;
  const standing = await options.standing(call);
  if (standing !== 'unwanted') return standing !== 'watched' && !owned;
  const found = await adopt(dir);
  if (found.kind === 'running') await found.run.kill();
  // Also what has no supervisor any more, or whose folder is gone.
  await end(mark, options.log);
  return false;
}

/**
 * The worker that began a handler ends it at its time limit, also when nobody waits for it; after its death, the next one
 * that has the call begins it anew. Only what neither will see to is unwanted.
 */
async function isUnwanted(options: ReaperOptions, { job, dir, call }: MarkedHandler): Promise<boolean> {
  const folder = join(options.home, jobDir(job), dir);
  const standing = await options.jobStanding(job);
  if (standing === 'gone') return true;
  if (await hasLivingOwner(folder)) return false;
  if (standing === 'closed') return true;
  if (call === undefined || (await readFact(join(folder, 'result'))).kind === 'there') return false;
  return (await options.standing(call)) === 'unwanted';
}

async function end(mark: string, log: (line: string) => void): Promise<void> {
  await killTree({ mark });
  log(`reaper: ended ${mark}, which nobody wants any more`);
}
