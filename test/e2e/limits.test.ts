import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Rig, rig } from '../support/rig.ts';

const glob = { name: 'Glob', input: { pattern: '{{n}}.txt' } };
let r: Rig;

beforeAll(async () => {
  r = await rig({
    jobs: [
      { match: 'steps', steps: [{ repeat: 6, calls: [glob] }, { text: 'six steps' }] },
      { match: 'dollars', steps: [{ repeat: 6, calls: [glob], usage: { output_tokens: 20_000 } }, { text: 'paid' }] },
      { match: 'deadline', steps: [{ calls: [{ name: 'Sleep', input: { seconds: 3600 } }] }, { text: 'late' }] },
      { match: 'turns', steps: [{ text: 'first' }, { text: 'second' }, { text: 'third' }] },
      {
        match: 'same',
        steps: [{ repeat: 50, calls: [{ name: 'Glob', input: { pattern: 'same.txt' } }] }, { text: 'never' }],
      },
      { match: 'cut', steps: [{ repeat: 9, text: 'and on and on', stop_reason: 'max_tokens' }] },
      { match: 'no', steps: [{ text: 'I will not do that.', stop_reason: 'refusal' }] },
      { match: 'ask me', steps: [{ repeat: 3, calls: [glob] }, { text: 'three steps' }] },
    ],
  });
});
afterAll(() => r.close());

const resume = async (id: string, limits: object): Promise<void> => {
  expect(await r.client.reopen(await r.client.describe(id), [], limits)).toBe(true);
};

describe('a limit', () => {
  it('of steps ends the job with what it has, and a higher one lets it go on', async () => {
    const id = await r.start('steps', { limits: { concurrency: 10, steps: 3 } });
    expect(await r.settled(id)).toMatchObject({ status: 'stopped', why: 'steps' });
    expect((await r.record(id)).state.steps).toBe(3);
    await resume(id, { steps: 20 });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect((await r.record(id)).result).toBe('six steps');
    expect((await r.record(id)).state).toMatchObject({ steps: 7, turn: 1 });
    expect(r.refused()).toEqual([]);
  });

  it('of money is never passed: the worst case is reserved before each request', async () => {
    // Five of these replies fit; what is left then is less than the least that a request reserves.
    const budget = 1_012_000;
    const id = await r.start('dollars', { limits: { concurrency: 10, budget } });
    expect(await r.settled(id)).toMatchObject({ status: 'stopped', why: 'usd' });
    expect((await r.record(id)).state.spent).toBeLessThanOrEqual(budget);
    expect((await r.record(id)).state.spent).toBeGreaterThan(budget / 2);
    await resume(id, { budget: 20_000_000 });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(r.refused()).toEqual([]);
  });

  it('of time counts while the job waits', async () => {
    const id = await r.start('deadline', { limits: { concurrency: 10, deadline: Date.now() + 3_000 } });
    expect(await r.settled(id)).toMatchObject({ status: 'stopped', why: 'deadline' });
    expect((await r.messages(id)).at(-1)!.content[0]).toMatchObject({ type: 'tool_result', is_error: true });
  });

  it('of turns ends the job before the next one', async () => {
    const id = await r.start('turns', { limits: { concurrency: 10, turns: 2 }, stay: true });
    const isIdle = async (): Promise<boolean> => {
      const view = await r.client.view(id);
      return view?.status === 'idle' && view.turn === undefined;
    };
    await expect.poll(isIdle, { timeout: 20_000 }).toBe(true);
    await r.client.send(id, 'more');
    await r.event(id, 'model.ended', (event) => event.turn === 2);
    await expect.poll(isIdle, { timeout: 20_000 }).toBe(true);
    await r.client.send(id, 'and more');
    await r.event(id, 'job.closed');
    await expect.poll(async () => (await r.client.describe(id)).status, { timeout: 20_000 }).toBe('stopped');
    expect(await r.client.describe(id)).toMatchObject({ why: 'turns' });
    expect((await r.record(id)).state.queue).toHaveLength(1);
    await resume(id, { turns: 5 });
    await r.event(id, 'model.ended', (event) => event.turn === 3);
  });

  it('of identical calls in a row stops a model that goes round in circles', async () => {
    const id = await r.start('same', { limits: { concurrency: 10, sameCall: 4 } });
    expect(await r.settled(id)).toMatchObject({ status: 'stopped', why: 'same_call' });
    expect((await r.messages(id)).at(-1)!.content[0]).toMatchObject({ type: 'tool_result', is_error: true });
  });

  it('that asks waits for a person to raise it', async () => {
    const id = await r.start('ask me', { limits: { concurrency: 10, steps: 2 }, onLimit: 'ask' });
    await r.event(id, 'call.ended', (event) => event.step === 2);
    await expect.poll(async () => (await r.client.describe(id)).status, { timeout: 20_000 }).toBe('waiting');
    expect(await r.client.describe(id)).toMatchObject({ why: 'limit' });
    await r.client.signal(id, 'extend', { steps: 10 });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
  });
});

describe('a reply', () => {
  it('that is cut at the output limit again and again fails the turn with a text that says so', async () => {
    const id = await r.start('cut');
    expect(await r.settled(id)).toMatchObject({ status: 'failed' });
    expect((await r.record(id)).error).toContain('output limit');
    expect(r.refused()).toEqual([]);
  });

  it('that refuses ends the turn as a refusal', async () => {
    const id = await r.start('no');
    expect(await r.settled(id)).toMatchObject({ status: 'stopped', why: 'refusal' });
  });
});
