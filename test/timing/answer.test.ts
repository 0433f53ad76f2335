import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { answerPrompt } from '../../src/app/answer-prompt.ts';
import { rig } from '../support/rig.ts';

test('with no worker up an answer is recorded within two seconds, and takes effect when there is one', async () => {
  const r = await rig({
    steps: [{ calls: [{ name: 'Bash', input: { command: 'echo once >> once.txt' } }] }, { text: 'done' }],
  });
  try {
    const id = await r.start('ask me');
    await r.event(id, 'prompt.opened');
    await r.killWorkers();
    const started = performance.now();
    const answer = { id: `${id}:1`, behavior: 'allow', by: 'ann@desk' } as const;
    expect(await answerPrompt(r.client, answer)).toMatchObject({
      accepted: null,
      why: expect.stringContaining('recorded'),
    });
    expect(performance.now() - started).toBeLessThan(2_000);
    await r.startWorker();
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(readFileSync(join(r.dir, 'once.txt'), 'utf8')).toBe('once\n');
    expect(await answerPrompt(r.client, { ...answer, by: 'bob@desk' })).toMatchObject({
      accepted: false,
      why: expect.stringContaining('answered before: allow by ann@desk'),
    });
  } finally {
    await r.close();
  }
});
