import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { openPauses, type Pauses } from '../support/pauses.ts';
import { type Rig, rig, RULES } from '../support/rig.ts';
import { namesIn, untilSeen } from './files.ts';
import { SCRIPT, type Workload } from './workloads.ts';

/** Who dies. */
export const VICTIMS = ['worker', 'server', 'both'] as const;
export type Victim = (typeof VICTIMS)[number];

/** A rig on which jobs are killed one after the other, and the pauses of its workers. */
export type Stage = Pick<Pauses, 'arm' | 'held' | 'disarm'> & {
  rig: Rig;
  /** Makes sure that `n` workers live. */
  keepWorkers(n?: number): Promise<void>;
  /** Resolves when all workers that live poll for tasks. */
  workersPoll(): Promise<void>;
  kill(victim: Victim): Promise<void>;
  /** The server first, then `n` workers. */
  revive(n?: number): Promise<void>;
  reviveServer(): Promise<void>;
  /** Workers that ended though nobody killed them. */
  lost(): number;
  /** Starts a workload in a folder of its own. */
  start(workload: Workload): Promise<{ id: string; dir: string }>;
  close(): Promise<void>;
};

/** `home`: where the home is made instead of a folder for temporary files. */
export async function openStage(env: Record<string, string> = {}, home?: string): Promise<Stage> {
  const pauses = openPauses();
  const r = await rig(SCRIPT, { workers: 0, env: { ...pauses.env, ...env }, ...(home ? { home } : {}) });
  let isServerDead = false;
  let lost = 0;
  let number = 0;

  async function keepWorkers(n = 1): Promise<void> {
    const alive = r.workers.filter(({ child }) => child.exitCode === null && child.signalCode === null);
    lost += r.workers.length - alive.length;
    r.workers.splice(0, r.workers.length, ...alive);
    while (r.workers.length < n) await r.startWorker();
  }
  async function reviveServer(): Promise<void> {
    if (isServerDead) await r.server.restart();
    isServerDead = false;
  }

  return {
    rig: r,
    arm: (window, how) => pauses.arm(window, how),
    held: (window) => pauses.held(window),
    disarm: () => pauses.disarm(),
    keepWorkers,
    async workersPoll() {
      for (const { child } of r.workers) {
        const isThere = (): boolean =>
          child.exitCode !== null || namesIn(r.home.workers).some((name) => name.startsWith(`${child.pid}-`));
        await untilSeen(join(r.home.workers, 'any'), isThere, `the worker ${child.pid}`);
      }
    },
    async kill(victim) {
      const worker = victim === 'server' ? undefined : r.killWorkers();
      if (victim !== 'worker') {
        isServerDead = true;
        await r.server.kill();
      }
      await worker;
    },
    async revive(n) {
      await reviveServer();
      await keepWorkers(n);
    },
    reviveServer,
    lost: () => lost,
    async start({ word, asks, limits, prepare }) {
      number += 1;
      const id = `${word}-${process.pid}-${number}-${r.home.id.slice(0, 4)}`;
      const dir = join(r.dir, id);
      mkdirSync(dir);
      prepare?.(dir);
      const allow = asks ? [] : [{ text: 'Bash', tool: 'Bash', source: { kind: 'cli' as const, base: dir } }];
      await r.start(`${word} in ${dir}`, {
        id,
        dir,
        rules: { ...RULES, mode: asks ? 'default' : 'acceptEdits', allow },
        limits: { concurrency: 10, ...limits },
      });
      return { id, dir };
    },
    async close() {
      await r.close();
      pauses.close();
    },
  };
}
