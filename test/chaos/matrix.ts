import { type Cell, CELLS } from './cells.ts';
import { diceOf } from './dice.ts';
import { playCell, playRandom } from './round.ts';
import { openStage, type Stage, type Victim, VICTIMS } from './stage.ts';
import { faultsOf, nameOf, type Round } from './tally.ts';
import type { Verdict } from './verdict.ts';
import { type WorkloadName, WORKLOADS } from './workloads.ts';

export type MatrixOptions = {
  /** Kills at random times per workload and victim. */
  rounds: number;
  /** How often each named moment is played. */
  times: number;
  /** Only cells whose names hold one of these. */
  cells: string[];
  seed: number;
  /** Stages that play at the same time. */
  stages: number;
  say: (line: string) => void;
};

type Task = { cell: string; victim: Victim; play: (stage: Stage) => Promise<{ verdict: Verdict; afterMs?: number }> };

/** Plays every named moment, and kills at random times, and says what became of each job. */
export async function playMatrix(options: MatrixOptions): Promise<Round[]> {
  const tasks = tasksOf(options);
  const rounds: Round[] = [];
  const lanes = Array.from({ length: Math.min(options.stages, tasks.length) }, async () => {
    let stage = await openStage();
    try {
      for (let task; (task = tasks.shift());) {
        const round = await play(stage, task);
        rounds.push(round);
        const found = faultsOf(round);
        options.say(`${nameOf(round)}: ${found.length === 0 ? 'ok' : found.join('; ')} (${round.ms} ms)`);
        if (!('stuck' in round)) continue;
        // Whatever hangs there must not disturb the next round.
        await stage.close();
        stage = await openStage();
      }
    } finally {
      await stage.close();
    }
  });
  await Promise.all(lanes);
  return rounds;
}

async function play(stage: Stage, { cell, victim, play }: Task): Promise<Round> {
  const begun = performance.now();
  const place = { cell, victim };
  const ms = (): number => Math.round(performance.now() - begun);
  try {
    return { ...place, ...(await play(stage)), ms: ms() };
  } catch (error) {
    return { ...place, ms: ms(), stuck: error instanceof Error ? error.message : String(error) };
  }
}

function tasksOf({ rounds, times, cells, seed }: MatrixOptions): Task[] {
  const roll = diceOf(seed);
  const isWanted = ({ cell }: Task): boolean => cells.length === 0 || cells.some((part) => cell.includes(part));
  const named = CELLS.flatMap((cell: Cell) =>
    (cell.victims ?? VICTIMS).flatMap((victim) =>
      Array.from({ length: times }, (): Task => ({
        cell: cell.name,
        victim,
        play: async (stage) => ({ verdict: await playCell(stage, cell, victim) }),
      })),
    ),
  );
  const random = (Object.keys(WORKLOADS) as WorkloadName[]).flatMap((name) =>
    VICTIMS.flatMap((victim) =>
      Array.from({ length: rounds }, (): Task => {
        const share = roll();
        return { cell: `${name}: at any time`, victim, play: (stage) => playRandom(stage, name, victim, share) };
      }),
    ),
  );
  return [...named, ...random].filter(isWanted);
}
