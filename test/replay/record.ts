import { version } from '../../src/app/version.ts';
import { rig } from '../support/rig.ts';
import { clear, keep, recorded } from './histories.ts';
import { furnish, scenarios } from './scenarios.ts';

/**
 * Runs jobs on a real server with a real worker, and keeps the histories of all their workflows: those of these names, or
 * those that have none of this version yet.
 */
export async function record(names: readonly string[]): Promise<void> {
  const known = new Set(recorded().flatMap((one) => (one.version === version() ? [one.workflowId] : [])));
  const all = Object.entries(scenarios).filter(([name]) =>
    names.length > 0 ? names.includes(name) : !known.has(name),
  );
  const strange = names.filter((name) => !(name in scenarios));
  if (strange.length > 0)
    throw new Error(`no such job: ${strange.join(', ')}; there are ${Object.keys(scenarios).join(', ')}`);
  const jobs = all.map(([name, { steps }]) => ({ match: `the job ${name} `, steps }));
  const r = await rig({ jobs });
  try {
    furnish(r.dir);
    for (const [name, { config, drive, fails }] of all) {
      await r.start(`the job ${name} in ${r.dir}`, { ...config?.(r.dir), id: name });
      await drive?.(r, name);
      const { status, text } = await r.settled(name);
      if ((status === 'failed') !== (fails ?? false)) throw new Error(`${name} is ${status}: ${text}`);
    }
    const runs = await allRuns(r.temporal, all.length);
    all.forEach(([name]) => clear(version(), name));
    for (const { workflowId, runId, number } of runs) {
      const history = await r.temporal.workflow.getHandle(workflowId, runId).fetchHistory();
      keep(version(), workflowId, number, history);
      process.stdout.write(`${workflowId} ${number}: ${history.events?.length} events\n`);
    }
  } finally {
    await r.close();
  }
}

type Run = { workflowId: string; runId: string; number: number };

/** All runs of all workflows, numbered from 1 in the order of their starts; waits until the server's list has caught up. */
async function allRuns(client: Awaited<ReturnType<typeof rig>>['temporal'], jobs: number): Promise<Run[]> {
  for (;;) {
    const found: { workflowId: string; runId: string; at: number; open: boolean }[] = [];
    for await (const { workflowId, runId, startTime, status } of client.workflow.list()) {
      found.push({ workflowId, runId, at: startTime.getTime(), open: status.name === 'RUNNING' });
    }
    const closed = found.filter((run) => !run.open);
    if (closed.length === found.length && closed.filter((run) => !run.workflowId.includes('/')).length >= jobs) {
      const counts = new Map<string, number>();
      return found
        .sort((a, b) => a.at - b.at)
        .map(({ workflowId, runId }) => {
          const number = (counts.get(workflowId) ?? 0) + 1;
          counts.set(workflowId, number);
          return { workflowId, runId, number };
        });
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
