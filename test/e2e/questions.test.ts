import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ToolResultBlock } from '../../src/shapes/message.ts';
import type { Answer } from '../../src/shapes/prompt.ts';
import { type Rig, rig, RULES } from '../support/rig.ts';

const write = (file: string) => ({ name: 'Bash', input: { command: `echo asked >> ${file}` } });
let r: Rig;

beforeAll(async () => {
  r = await rig({
    jobs: [
      { match: 'one question', steps: [{ calls: [write('one.txt')] }, { text: 'answered: {{result.0}}' }] },
      { match: 'two answers', steps: [{ calls: [write('two.txt')] }, { text: 'done' }] },
      { match: 'denied', steps: [{ calls: [write('denied.txt')] }, { text: 'went on' }] },
      { match: 'refused for good', steps: [{ calls: [write('never.txt')] }, { text: 'must not come here' }] },
      { match: 'always', steps: [{ calls: [write('a.txt')] }, { calls: [write('a.txt')] }, { text: 'both' }] },
      { match: 'early', steps: [{ calls: [write('early.txt')] }, { text: 'done' }] },
      {
        match: 'hidden',
        steps: [
          {
            calls: [
              { name: 'Glob', input: { pattern: '*.env*' } },
              { name: 'Grep', input: { pattern: 'token' } },
            ],
          },
          { text: 'seen' },
        ],
      },
      { match: 'edited', steps: [{ calls: [write('edited.txt')] }, { text: 'done' }] },
    ],
  });
});
afterAll(() => r.close());

const inWork = (file: string): string => join(r.dir, file);
const lines = (file: string): string[] =>
  existsSync(inWork(file)) ? readFileSync(inWork(file), 'utf8').trim().split('\n') : [];
const answer = (id: string, n: number, more: Partial<Answer> = {}) =>
  r.client.signal(id, 'answerPermission', { id: `${id}:${n}`, behavior: 'allow', ...more });
const results = async (id: string): Promise<ToolResultBlock[]> =>
  (await r.messages(id)).flatMap((message) =>
    message.content.filter((block): block is ToolResultBlock => block.type === 'tool_result'),
  );

describe('a question', () => {
  it('outlives worker and server, and the call runs once with the very input that was shown', async () => {
    const id = await r.start('one question');
    const asked = await r.event(id, 'prompt.opened');
    expect(asked).toMatchObject({ id: `${id}:1`, tool: 'Bash' });
    expect(lines('one.txt')).toEqual([]);
    expect(await r.client.describe(id)).toMatchObject({ status: 'waiting', why: 'permission' });

    await r.killWorkers();
    await r.server.kill();
    await r.server.restart();
    // Nobody works now; the answer is recorded all the same.
    await answer(id, 1);
    expect(await r.client.view(id)).toBeUndefined();
    await r.startWorker();

    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(lines('one.txt')).toEqual(['asked']);
    const decided = r
      .events(id)
      .filter((event) => event.kind === 'call.decided')
      .at(-1);
    expect(decided).toMatchObject({ behavior: 'allow', reason: { kind: 'person' } });
  });

  it('is answered once: the second answer is told that it came too late', async () => {
    const id = await r.start('two answers', { stay: true });
    await r.event(id, 'prompt.opened');
    await answer(id, 1, { by: 'Ada' });
    await answer(id, 1, { behavior: 'deny', by: 'Bob' });
    await r.settled(id);
    expect(lines('two.txt')).toEqual(['asked']);
    expect((await r.client.view(id))?.answers).toMatchObject([
      { id: `${id}:1`, behavior: 'allow', used: true, by: 'Ada' },
      { id: `${id}:1`, behavior: 'deny', used: false, by: 'Bob' },
    ]);
    await r.client.cancel(id);
    await r.settled(id);
  });

  it('that is denied is a result with the words of the person, and the turn goes on', async () => {
    const id = await r.start('denied');
    await r.event(id, 'prompt.opened');
    await answer(id, 1, { behavior: 'deny', message: 'use the other file' });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(lines('denied.txt')).toEqual([]);
    const [result] = await results(id);
    expect(result).toMatchObject({ is_error: true });
    expect(result!.content).toContain('use the other file');
  });

  it('that is denied with an interrupt ends the turn, with its results kept', async () => {
    const id = await r.start('refused for good');
    await r.event(id, 'prompt.opened');
    await answer(id, 1, { behavior: 'deny', interrupt: true });
    expect(await r.settled(id)).toMatchObject({ status: 'stopped', why: 'denied' });
    expect(await results(id)).toHaveLength(1);
    expect(lines('never.txt')).toEqual([]);
  });

  it('that is answered for always is not asked again in this job', async () => {
    const id = await r.start('always');
    await r.event(id, 'prompt.opened');
    await answer(id, 1, { behavior: 'allow-always' });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(lines('a.txt')).toEqual(['asked', 'asked']);
    expect(r.events(id).filter((event) => event.kind === 'prompt.opened')).toHaveLength(1);
  });

  it('may be answered before it is asked', async () => {
    const id = await r.start('early');
    await answer(id, 1);
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(lines('early.txt')).toEqual(['asked']);
  });

  it('may be answered with another input, which is what runs', async () => {
    const id = await r.start('edited');
    await r.event(id, 'prompt.opened');
    const input = await r.client.store.blobs(id).put(JSON.stringify({ command: 'echo changed >> edited.txt' }));
    await answer(id, 1, { input });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(lines('edited.txt')).toEqual(['changed']);
  });
});

describe('a file that a rule denies to be read', () => {
  it('is not to be found by Glob and Grep either', async () => {
    for (const name of ['.env', 'open.env']) writeFileSync(inWork(name), 'token=1\n');
    const rule = { text: 'Read(.env)', tool: 'Read', specifier: '.env', source: { kind: 'cli' as const, base: r.dir } };
    const id = await r.start('hidden', { rules: { ...RULES, deny: [rule] } });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect((await results(id)).map((result) => result.content)).toEqual(['open.env', 'Found 1 file\nopen.env']);
  });
});
