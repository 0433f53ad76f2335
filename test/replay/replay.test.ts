import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { beforeAll, describe, expect, it } from 'vitest';
import { version } from '../../src/app/version.ts';
import { recorded } from './histories.ts';
import { scenarios } from './scenarios.ts';

const logger = new DefaultLogger('ERROR');

async function replayAll(workflows: string): Promise<Map<string, string | undefined>> {
  const workflowsPath = fileURLToPath(new URL(workflows, import.meta.url));
  const workflowBundle = await bundleWorkflowCode({ workflowsPath, logger });
  const ends = new Map<string, string | undefined>();
  // One worker for all of them; several runs may have the same workflow id.
  const all = recorded();
  const names = new Map(all.map(({ name, history }) => [runOf(history), name]));
  for await (const { runId, error } of Worker.runReplayHistories({ workflowBundle }, all)) {
    ends.set(names.get(runId)!, error && String(error));
  }
  return ends;
}

const runOf = ({ events }: ReturnType<typeof recorded>[number]['history']): string =>
  events![0]!.workflowExecutionStartedEventAttributes!.originalExecutionRunId!;

beforeAll(() => {
  // A history that can't be replayed is told by the result; what the core says about it is not shown.
  Runtime.install({
    logger: new DefaultLogger('ERROR', () => undefined),
    telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' }, forward: {} } },
  });
});

describe('recorded histories of every version', () => {
  it('are there for each kind of job, of this version too', () => {
    const jobs = recorded().filter((one) => one.version === version() && !one.workflowId.includes('/'));
    expect([...new Set(jobs.map((one) => one.workflowId))].sort()).toEqual(Object.keys(scenarios).sort());
  });

  it('can be replayed with the workflows as they are now', { timeout: 240_000 }, async () => {
    const ends = await replayAll('../../workflows/index.ts');
    expect(ends.size).toBe(recorded().length);
    expect([...ends].filter(([, error]) => error !== undefined)).toEqual([]);
  });

  it('can not be replayed with workflows that do something else', { timeout: 240_000 }, async () => {
    const ends = await replayAll('./changed-workflows.ts');
    const turns = recorded().filter((one) => /\/t\d+$/.test(one.workflowId));
    const first = turns.filter((one) => one.name.endsWith('.1.bin'));
    expect(first.length).toBeGreaterThanOrEqual(Object.keys(scenarios).length);
    for (const { name } of first) expect(ends.get(name), name).toMatch(/[Nn]ondeterminism/);
  });
});
