import { type Cell, type Scene, UNATTENDED } from './cells.ts';
import type { Stage, Victim } from './stage.ts';
import { judge, type Verdict } from './verdict.ts';
import { type Workload, type WorkloadName, WORKLOADS } from './workloads.ts';

/** Plays a named moment once: everything lives, the victim dies there, everything lives again and the job has to end. */
export async function playCell(stage: Stage, cell: Cell, victim: Victim): Promise<Verdict> {
  const workload: Workload = WORKLOADS[cell.workload];
  const { window } = cell;
  stage.disarm();
  await stage.revive();
  const before = stage.rig.model.requests().length;
  if (window) stage.arm(window);
  const scene: Scene = { stage, ...(await stage.start(workload)) };
  await cell.moment?.(scene);
  if (window) {
    await stage.held(window);
    for (let passed = 0; passed < (cell.skip ?? 0); passed++) {
      stage.disarm();
      stage.arm(window);
      await stage.held(window);
    }
  }
  await stage.kill(victim);
  if (cell.needsServer) await stage.reviveServer();
  await cell.dead?.(scene);
  stage.disarm();
  await stage.revive();
  await cell.alive?.(scene);
  return judgeRound(scene, workload, cell.status ?? 'done', before);
}

/** How long a job may last before the latest kill at a random time, in ms. */
const LATEST_MS = 4_000;

/**
 * Kills the victim at a share (0 to 1) of the job's time, wherever it is then, and says after how many ms that was. A job
 * that ends before its kill has shown how long it lasts: another one is killed at that share of its time.
 */
export async function playRandom(
  stage: Stage,
  name: WorkloadName,
  victim: Victim,
  share: number,
): Promise<{ verdict: Verdict; afterMs: number }> {
  const workload: Workload = WORKLOADS[name];
  const { status = 'done', help } = UNATTENDED[name];
  stage.disarm();
  let afterMs = share * LATEST_MS;
  for (;;) {
    await stage.revive();
    const before = stage.rig.model.requests().length;
    const scene: Scene = { stage, ...(await stage.start(workload)) };
    const begun = performance.now();
    const helped = persist(() => help?.(scene));
    const ended = stage.rig.settled(scene.id).then(() => performance.now() - begun);
    const lasted = await Promise.race([ended, new Promise<void>((resolve) => setTimeout(resolve, afterMs))]);
    if (lasted !== undefined) {
      await helped;
      afterMs = share * lasted;
      continue;
    }
    ended.catch(() => undefined); // the judge waits for it, and says so
    await stage.kill(victim);
    await stage.revive();
    await helped;
    return { verdict: await judgeRound(scene, workload, status, before), afterMs: Math.round(afterMs) };
  }
}

async function judgeRound(
  { stage, id, dir }: Scene,
  workload: Workload,
  status: Cell['status'],
  before: number,
): Promise<Verdict> {
  await stage.rig.settled(id);
  const requests = stage.rig.model.requests().slice(before);
  return judge(stage.rig, id, workload, { dir, status: status ?? 'done', requests });
}

/** The server may be dead at the moment: a person would try again too. */
async function persist(act: () => Promise<void> | undefined): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await act();
    } catch (error) {
      if (tries === 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}
