import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { countLines, untilSeen } from '../chaos/files.ts';
import { openStage, type Stage } from '../chaos/stage.ts';
import { killMarked } from '../../src/host/supervisor.ts';
import { faults, judge } from '../chaos/verdict.ts';
import { WORKLOADS } from '../chaos/workloads.ts';

// As after a power cut: nothing of the worker, the command and its supervisor is left, and no exit code.

const LIMIT_MS = 150_000;
let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

it.each([
  ['beforeCommit', 'ok', /no output/, 2],
  ['afterCommit', 'probed', /^\[\w+ [0-9a-f]{7,}\] made\n/, 1],
] as const)(
  'a commit that dies with everything around it is there once: %s',
  async (name, outcome, answer, hookRuns) => {
    await stage.revive();
    const workload = WORKLOADS[name];
    const { id, dir } = await stage.start(workload);
    const journal = join(dir, 'journal.txt');
    await untilSeen(journal, () => countLines(journal, 'begun') > 0, 'the hook');
    await stage.rig.killWorkers();
    const record = readFileSync(join(stage.rig.home.jobs, id, 'turns/1/1.0/process'), 'utf8');
    const { pid, mark } = JSON.parse(record) as { pid: number; mark: string };
    process.kill(-pid, 'SIGKILL');
    await killMarked(mark);
    writeFileSync(join(dir, 'gate'), '');
    await stage.keepWorkers();
    const verdict = await judge(stage.rig, id, workload, { dir, status: 'done' });
    expect(faults(verdict)).toEqual([]);
    expect(verdict).toMatchObject({ once: 1, unknown: 0 });
    const ended = await stage.rig.event(id, 'call.ended');
    expect(ended).toMatchObject({ outcome, isError: false });
    expect(ended.preview).toMatch(answer);
    expect(countLines(journal, 'begun')).toBe(hookRuns);
  },
  LIMIT_MS,
);
