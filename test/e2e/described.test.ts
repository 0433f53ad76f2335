import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { foldEvents } from '../../src/core/timeline.ts';
import { totals } from '../../src/core/timeline-json.ts';
import type { Hook } from '../../src/shapes/hook.ts';
import type { JobConfig } from '../../src/shapes/job.ts';
import { type Rig, rig, RULES } from '../support/rig.ts';

const bash = (command: string) => ({ name: 'Bash', input: { command } });
const report = (more: object = {}) => ({
  calls: [
    { name: 'report', input: { does: 'makes a file', speaks_to_reader: false, fits: true, description: 2, ...more } },
  ],
});
const names = ['fits', 'differs', 'talks', 'asks', 'hooked', 'denied', 'killed', 'unclear', 'dear', 'lost'] as const;
/** What the small model says about `touch <name>`. */
const said: Record<(typeof names)[number], object> = {
  fits: report(),
  differs: report({ fits: false, description: null }),
  talks: report({ speaks_to_reader: true }),
  asks: report(),
  hooked: report(),
  denied: { stall: { after: 'start', for: 'forever' }, ...report() },
  killed: { stall: { after: 'start', for: 'forever', times: 1 }, ...report() },
  unclear: report(),
  dear: report(),
  lost: { stall: { after: 'start', for: 'forever', times: 'forever' }, ...report() },
};
/** The first reply of `job dear`, and what it costs: 10,000 tokens kept at 2.5 µ$ and 4,000 of output at 10 µ$. */
const DEAR = {
  usage: { cache_creation_input_tokens: 10_000, cache_read_input_tokens: 0, output_tokens: 4_000 },
  spent: 65_000,
};
let r: Rig;

beforeAll(async () => {
  r = await rig({
    jobs: names.flatMap((name) => [
      {
        match: `job ${name}`,
        steps: [
          {
            calls: [bash(name === 'unclear' ? '$(echo touch) unclear' : `touch ${name}`)],
            ...(name === 'dear' ? { usage: DEAR.usage } : {}),
          },
          { text: 'done' },
        ],
      },
      { match: `touch ${name}`, steps: [said[name]] },
    ]),
  });
});
afterAll(() => r.close());

const config: Partial<JobConfig> = {
  allowDescribed: ['run the test suite', 'make an empty file'],
  prices: { 'claude-sonnet-5-5': { input: 2, output: 10 }, 'claude-haiku-5-5': { input: 1, output: 5 } },
};
const asked = (name: string): number =>
  r.model.requests().filter((one) => one.model === 'claude-haiku-5-5' && one.job?.includes(name)).length;
const hook = (decision: string): Hook => ({
  type: 'command',
  event: 'PreToolUse',
  matcher: 'Bash',
  origin: 'test',
  command: `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"${decision}","permissionDecisionReason":"because"}}'`,
});
const decisions = (id: string) => r.events(id).filter((event) => event.kind === 'call.decided');
const answer = (id: string) => r.client.signal(id, 'answerPermission', { id: `${id}:1`, behavior: 'deny' });

/** What watchers add up is what the job has paid, the small model's part included. */
async function paid(id: string): Promise<number> {
  const { state } = await r.record(id);
  expect(totals(foldEvents(r.events(id))).spent).toBe(state.spent);
  return r.events(id).reduce((sum, event) => (event.kind === 'call.described' ? event.spent : sum), 0);
}

describe('a command that nothing decides', () => {
  it('runs when a small model finds that it falls under a description, and that is paid and said', async () => {
    const id = await r.start('job fits', config);
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(existsSync(join(r.dir, 'fits'))).toBe(true);
    expect(decisions(id)).toMatchObject([
      {
        behavior: 'allow',
        reason: { kind: 'described', description: 'make an empty file', model: 'claude-haiku-5-5' },
      },
    ]);
    expect(r.events(id).some((event) => event.kind === 'prompt.opened')).toBe(false);
    expect(await paid(id)).toBeGreaterThan(0);
  });

  it.each(['differs', 'talks'] as const)('is asked about when it %s', async (name) => {
    const id = await r.start(`job ${name}`, config);
    await r.event(id, 'prompt.opened');
    await answer(id);
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(existsSync(join(r.dir, name))).toBe(false);
    expect(decisions(id)[0]).toMatchObject({ behavior: 'ask', reason: { kind: 'default' } });
    expect(await paid(id)).toBeGreaterThan(0);
  });

  it('is asked about once, though the worker dies while the small model is asked', async () => {
    const id = await r.start('job killed', config);
    await r.model.waitFor((one) => one.stalled === true && one.job === 'touch killed');
    await r.killWorkers();
    await r.startWorker();
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(existsSync(join(r.dir, 'killed'))).toBe(true);
    expect(await paid(id)).toBeGreaterThan(0);
  });
});

describe('a call that takes its worker with it while a small model is asked', () => {
  it('is given up after three of them, and what was asked is paid in full', async () => {
    const id = await r.start('job lost', config);
    for (const attempt of [1, 2, 3]) {
      await r.model.waitFor((one) => one.stalled === true && one.job === 'touch lost' && one.attempt === attempt);
      await r.killWorkers();
      await r.startWorker();
    }
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(existsSync(join(r.dir, 'lost'))).toBe(false);
    expect(r.events(id).find((event) => event.kind === 'call.ended')).toMatchObject({
      outcome: 'unknown',
      preview: expect.stringContaining('The worker died 3 times in this call'),
    });
    // Three requests that the small model may have answered: each counts as if it had, with all that it was allowed.
    const output = 3 * 1_024 * 5;
    const replies = r.events(id).reduce((sum, event) => (event.kind === 'model.ended' ? sum + event.spent : sum), 0);
    expect((await r.record(id)).state.spent - replies).toBeGreaterThan(output);
    expect(await paid(id)).toBeGreaterThan(output);
  });
});

describe('no model is asked', () => {
  it('when what is left of the money may not be enough for it', async () => {
    const budget = DEAR.spent + 3_000;
    const id = await r.start('job dear', { ...config, limits: { concurrency: 10, budget } });
    await r.event(id, 'prompt.opened');
    expect(asked('dear')).toBe(0);
    expect(decisions(id)).toMatchObject([{ behavior: 'ask', reason: { kind: 'default' } }]);
    expect(r.events(id).find((event) => event.kind === 'call.described')).toMatchObject({
      fits: null,
      spent: 0,
      text: expect.stringContaining('budget'),
    });
    await r.client.signal(id, 'answerPermission', { id: `${id}:1`, behavior: 'allow' });
    expect(await r.settled(id)).toMatchObject({ status: 'stopped', why: 'usd' });
    expect(existsSync(join(r.dir, 'dear'))).toBe(true);
    expect((await r.record(id)).state.spent).toBe(DEAR.spent);
    expect(await paid(id)).toBe(0);
  });

  it('where a rule asks', async () => {
    const rule = {
      text: 'Bash(touch:*)',
      tool: 'Bash',
      specifier: 'touch:*',
      source: { kind: 'cli' as const, base: r.dir },
    };
    const id = await r.start('job asks', { ...config, rules: { ...RULES, ask: [rule] } });
    await r.event(id, 'prompt.opened');
    await answer(id);
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(asked('asks')).toBe(0);
    expect(existsSync(join(r.dir, 'asks'))).toBe(false);
  });

  it('where the command can not be told from its text', async () => {
    const id = await r.start('job unclear', config);
    await r.event(id, 'prompt.opened');
    await answer(id);
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(r.events(id).some((event) => event.kind === 'call.described')).toBe(false);
  });
});

describe('a hook', () => {
  it('that asks is not answered by a model', async () => {
    const id = await r.start('job hooked', { ...config, hooks: [hook('ask')] });
    await r.event(id, 'prompt.opened');
    await answer(id);
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(decisions(id)[0]).toMatchObject({ behavior: 'ask', reason: { kind: 'hook' } });
    expect(existsSync(join(r.dir, 'hooked'))).toBe(false);
    await paid(id);
  });

  it('that denies does not wait for a model that says nothing', async () => {
    const began = performance.now();
    const id = await r.start('job denied', { ...config, hooks: [hook('deny')] });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(performance.now() - began).toBeLessThan(15_000);
    expect(decisions(id)[0]).toMatchObject({ behavior: 'deny', reason: { kind: 'hook' } });
    await paid(id);
  });
});
