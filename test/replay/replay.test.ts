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
  for (const { name, workflowId, history } of recorded()) {
    const outcome = Worker.runReplayHistory({ workflowBundle }, history, workflowId);
    ends.set(
      name,
      await outcome.then(
        () => undefined,
        (error: unknown) => String(error),
      ),
    );
  }
  return ends;
}

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
    const failed = [...(await replayAll('../../workflows/index.ts'))].filter(([, error]) => error !== undefined);
    expect(failed).toEqual([]);
  });

  it('can not be replayed with workflows that do something else', { timeout: 240_000 }, async () => {
    const ends = await replayAll('./changed-workflows.ts');
    const turns = recorded().filter((one) => /\/t\d+$/.test(one.workflowId));
    const first = turns.filter((one) => one.name.endsWith('.1.bin'));
    expect(first.length).toBeGreaterThanOrEqual(Object.keys(scenarios).length);
    for (const { name } of first) expect(ends.get(name), name).toMatch(/[Nn]ondeterminism/);
  });
});
