import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { answerPrompt } from '../../src/app/answer-prompt.ts';
import { currentTranscript } from '../../src/app/current-transcript.ts';
import { foldEvents } from '../../src/core/timeline.ts';
import { type Rig, rig } from '../support/rig.ts';

const touch = (file: string) => ({ name: 'Bash', input: { command: `touch ${file}` } });
const read = { name: 'Bash', input: { command: 'echo seen' } };
let r: Rig;

beforeAll(async () => {
  r = await rig({
    jobs: [
      { match: '/^look around$/', steps: [{ text: 'asked: {{prompt}}' }] },
      { match: 'two questions', steps: [{ calls: [touch('one')] }, { calls: [touch('two')] }, { text: 'done' }] },
      { match: 'still open', steps: [{ calls: [read, touch('four')] }, { text: 'done' }] },
      { match: 'a word meanwhile', steps: [{ calls: [touch('three')] }, { expect: ['the blue one'], text: 'done' }] },
      { match: 'rehearse by the house rules', steps: [{ text: 'by the rules' }] },
    ],
  });
});
afterAll(() => r.close());

it('a prompt is found beside instruction files, and they are looked at when it says nothing', async () => {
  writeFileSync(join(r.dir, 'CLAUDE.md'), 'Here we rehearse by the house rules.\n');
  const [plain, ruled] = [await r.start('look around'), await r.start('whatever comes')];
  await Promise.all([r.settled(plain), r.settled(ruled)]);
  const answers = [await r.messages(plain), await r.messages(ruled)].map((messages) => messages.at(-1)?.content);
  expect(answers).toMatchObject([[{ text: 'asked: look around' }], [{ text: 'by the rules' }]]);
  expect(r.refused()).toEqual([]);
});

it('a message into a running turn is an event of the step that takes it', async () => {
  const id = await r.start('a word meanwhile');
  await r.event(id, 'prompt.opened');
  await r.client.send(id, 'take the blue one');
  await r.client.signal(id, 'answerPermission', { id: `${id}:1`, behavior: 'allow' });
  expect(await r.settled(id)).toMatchObject({ status: 'done' });
  const { turns } = foldEvents(r.events(id));
  expect(turns.map(({ input }) => input)).toEqual(['a word meanwhile']);
  expect(turns[0]?.steps.map(({ messages }) => messages.map(({ text }) => text))).toEqual([[], ['take the blue one']]);
});

it('a call that waits for a person is told as one, not as one that was stopped', async () => {
  const id = await r.start('still open');
  await r.event(id, 'prompt.opened');
  const last = (await currentTranscript(r.client, await r.client.describe(id))).at(-1);
  expect(last?.content).toMatchObject([
    { type: 'tool_result', content: expect.stringContaining('seen') },
    { type: 'tool_result', content: `This call waits for an answer: ${id}:1` },
  ]);
  expect(last?.content[1]).not.toHaveProperty('is_error');
  await r.client.signal(id, 'answerPermission', { id: `${id}:1`, behavior: 'allow' });
  expect(await r.settled(id)).toMatchObject({ status: 'done' });
  // Nothing of it was written.
  expect(JSON.stringify(await r.messages(id))).not.toContain('waits for an answer');
});

it('a worker that does not answer is not taken for none, and none is told as such', async () => {
  const id = await r.start('two questions');
  await r.event(id, 'prompt.opened');
  const { child } = r.workers[0]!;
  child.kill('SIGSTOP');
  const ask = async () => currentTranscript(r.client, await r.client.describe(id));
  const answer = (n: number, by: string) => answerPrompt(r.client, { id: `${id}:${n}`, behavior: 'allow', by });
  try {
    const [seen, given] = await Promise.allSettled([ask(), answer(1, 'Ada')]);
    expect(seen).toMatchObject({ status: 'rejected', reason: { exitCode: 4 } });
    expect(String((seen as PromiseRejectedResult).reason)).toMatch(/did not answer in time/);
    expect(given).toMatchObject({ value: { accepted: null, why: expect.stringMatching(/did not say in time/) } });
  } finally {
    child.kill('SIGCONT');
  }
  await r.event(id, 'prompt.opened', (event) => event.id === `${id}:2`);
  await expect(answer(3, 'Ada')).rejects.toMatchObject({
    exitCode: 3,
    message: `${id}:3 is not asked yet: ${id} has asked 2 questions so far`,
  });

  await r.killWorkers();
  await expect(ask()).rejects.toMatchObject({ exitCode: 4, message: expect.stringContaining('no worker is up') });
  expect(await answer(2, 'Bob')).toMatchObject({ accepted: null, why: expect.stringContaining('a worker is up') });
  await r.startWorker();
  expect(await r.settled(id)).toMatchObject({ status: 'done' });
});
