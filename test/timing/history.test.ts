import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { turnId } from '../../src/core/paths.ts';
import { type Rig, rig, RULES } from '../support/rig.ts';
import { stepCosts } from '../support/step-costs.ts';

const STEPS = 150;
let r: Rig;

beforeAll(async () => {
  r = await rig({
    jobs: [
      {
        match: 'long',
        steps: [
          {
            repeat: STEPS,
            calls: [{ name: 'Read', input: { file_path: '{{prompt | match /in (\\S+)/}}/f{{n}}.txt' } }],
          },
          { text: 'Read everything.' },
        ],
      },
      {
        match: 'short',
        steps: [
          {
            repeat: 12,
            calls: [{ name: 'Bash', input: { command: 'echo {{n}} >> journal.txt', description: 'Count' } }],
          },
          { text: 'Counted.' },
        ],
      },
    ],
  });
  for (let n = 1; n <= STEPS; n++) writeFileSync(join(r.dir, `f${n}.txt`), `the text of file ${n}\n`);
});
afterAll(() => r.close());

/** Events and bytes of each run of a workflow, oldest first. */
async function runs(workflowId: string): Promise<{ events: number; bytes: number }[]> {
  const found: { events: number; bytes: number; at: number }[] = [];
  for await (const run of r.temporal.workflow.list({ query: `WorkflowId = '${workflowId}'` })) {
    const seen = await r.temporal.workflow.getHandle(workflowId, run.runId).describe();
    found.push({ events: seen.historyLength, bytes: Number(seen.historySize), at: run.startTime.getTime() });
  }
  return found.sort((a, b) => a.at - b.at);
}
const sum = (numbers: number[]): number => numbers.reduce((a, b) => a + b, 0);
const median = (numbers: number[]): number => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)]!;

describe('the history of a long job', () => {
  it('grows by 12 events and at most 4 KiB a step, in runs of bounded length, at a flat pace', async () => {
    const id = await r.start(`a long job in ${r.dir}`);
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(r.refused()).toEqual([]);

    const all = await runs(turnId(id, 1));
    expect(Math.max(...all.map((run) => run.events))).toBeLessThan(1_040);
    const steady = all[0]!; // a whole run: some 83 steps, its start and its end
    expect(sum(all.map((run) => run.events)) / STEPS).toBeLessThan(12.5);
    expect(steady.bytes / (steady.events / 12)).toBeLessThan(4_096);

    const costs = stepCosts(r.events(id));
    expect(median(costs.slice(-50))).toBeLessThan(1.25 * median(costs.slice(0, 50)));
  });

  it('rolls over at a low limit and loses nothing', async () => {
    const id = await r.start('a short job', {
      rules: { ...RULES, allow: [{ text: 'Bash', tool: 'Bash', source: { kind: 'cli', base: r.dir } }] },
      limits: { concurrency: 10, events: 20 },
    });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(r.refused()).toEqual([]);
    expect((await runs(turnId(id, 1))).length).toBeGreaterThan(4);
    expect((await runs(id)).length).toBeGreaterThan(2);
    const texts = (await r.messages(id)).flatMap((message) =>
      message.content.filter((block) => block.type === 'tool_result'),
    );
    expect(texts).toHaveLength(12);
    expect((await r.record(id)).state).toMatchObject({ steps: 13, turn: 1 });
  });
});
