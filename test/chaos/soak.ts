import type { JobEvent } from '../../src/shapes/event.ts';
import { diceOf } from './dice.ts';
import { billed } from './money.ts';
import { openStage, type Stage } from './stage.ts';
import { faults, judge, type Verdict } from './verdict.ts';
import { WORKLOADS } from './workloads.ts';

export type SoakOptions = { kills: number; jobs: number; seed: number; say: (line: string) => void };

/** What a soak came to. Times in ms. */
export type SoakResult = {
  kills: { worker: number; server: number; both: number };
  jobs: number;
  effects: { once: number; unknown: number; undone: number; doubled: number; lost: number };
  paidTwice: number;
  /** What the model server bills, and what the jobs say they spent, in micro-dollars. */
  billed: number;
  spent: number;
  stuck: number;
  /** Workers that ended though nobody killed them; the keeper would have started them again. */
  workersLost: number;
  /** From a kill until an interrupted call or model request was taken up. */
  recovery: { n: number; p50: number; p95: number; max: number };
  seconds: number;
  faults: string[];
};

/** A job that makes no progress for so long, under kills that never stop, is stuck. */
const STUCK_MS = 300_000;
/** Between two kills, at most, from when all workers poll again. */
const PAUSE_MS = 2_500;
const WORKERS = 2;

/** Keeps so many jobs running while workers and the server are killed at random, until that many kills are done. */
export async function soak({ kills, jobs, seed, say }: SoakOptions): Promise<SoakResult> {
  const roll = diceOf(seed);
  const stage = await openStage();
  const begun = performance.now();
  const killedAt: number[] = [];
  const done: { id: string; verdict: Verdict; spent: number; events: JobEvent[] }[] = [];
  const stuck: string[] = [];
  const count = { worker: 0, server: 0, both: 0 };
  const over = new AbortController();

  const lane = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const { id, dir } = await insist(() => stage.start(WORKLOADS.mixed));
      try {
        await insist(() => stage.rig.settled(id, STUCK_MS));
        const verdict = await insist(() =>
          judge(stage.rig, id, WORKLOADS.mixed, { dir, status: 'done', requests: [] }),
        );
        done.push({ id, verdict, spent: (await stage.rig.record(id)).state.spent, events: stage.rig.events(id) });
        for (const fault of faults(verdict)) say(`${id}: ${fault}`);
      } catch (error) {
        stuck.push(`${id}: ${String(error).slice(0, 500)}`);
        say(`stuck: ${stuck.at(-1)}`);
      }
    }
  };

  try {
    await stage.keepWorkers(WORKERS);
    const lanes = Promise.all(Array.from({ length: jobs }, lane));
    while (killedAt.length < kills) {
      await new Promise((resolve) => setTimeout(resolve, roll() * PAUSE_MS));
      killedAt.push(Date.now());
      count[await killSomebody(stage, roll())] += 1;
      await stage.revive(WORKERS);
      await stage.workersPoll();
      if (killedAt.length % 20 === 0) say(`${killedAt.length} kills, ${done.length} jobs done, ${stuck.length} stuck`);
    }
    over.abort();
    await lanes;
    const requests = stage.rig.model.requests();
    const refused = requests.flatMap((request) => (request.refused ? [`refused: ${request.refused}`] : []));
    const verdicts = done.map(({ verdict }) => verdict);
    const sum = (of: (verdict: Verdict) => number): number =>
      verdicts.reduce((total, verdict) => total + of(verdict), 0);
    return {
      kills: count,
      jobs: done.length + stuck.length,
      effects: {
        once: sum(({ once }) => once),
        unknown: sum(({ unknown }) => unknown),
        undone: sum(({ undone }) => undone),
        doubled: sum(({ doubled }) => doubled.length),
        lost: sum(({ lost }) => lost.length),
      },
      paidTwice: sum(({ paidTwice }) => paidTwice.length),
      billed: billed(requests),
      spent: done.reduce((total, { spent }) => total + spent, 0),
      stuck: stuck.length,
      workersLost: stage.lost(),
      recovery: recoveries(done.flatMap(({ events }) => takenUp(events, killedAt))),
      seconds: Math.round((performance.now() - begun) / 1000),
      faults: [
        ...done.flatMap(({ id, verdict }) => faults(verdict).map((fault) => `${id}: ${fault}`)),
        ...refused,
        ...stuck,
      ],
    };
  } finally {
    await stage.close();
  }
}

async function killSomebody(stage: Stage, dice: number): Promise<'worker' | 'server' | 'both'> {
  const victim = dice < 0.8 ? 'worker' : dice < 0.95 ? 'server' : 'both';
  const one = stage.rig.workers.at(-1);
  if (victim === 'worker' && dice < 0.6 && one) {
    stage.rig.workers.pop();
    await one.kill();
  } else await stage.kill(victim);
  return victim;
}

/** For each call and model request that was begun before: how long after the last kill. */
function takenUp(events: readonly JobEvent[], killedAt: readonly number[]): number[] {
  return events.flatMap((event) => {
    const again =
      (event.kind === 'call.started' && event.owner > 1) || (event.kind === 'model.started' && event.attempt > 1);
    const kill = again ? killedAt.findLast((at) => at <= event.at) : undefined;
    return kill === undefined ? [] : [event.at - kill];
  });
}

function recoveries(times: number[]): SoakResult['recovery'] {
  const sorted = times.sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { n: sorted.length, p50: at(0.5), p95: at(0.95), max: sorted.at(-1) ?? 0 };
}

/** Whoever asks a server that is dead at the moment tries again. */
async function insist<T>(act: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await act();
    } catch (error) {
      if (tries === 20 || (error instanceof Error && error.message.includes('did not settle'))) throw error;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}
