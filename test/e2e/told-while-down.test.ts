import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CommandLine, commandLine } from '../support/command-line.ts';

const CALLS = 30;
const numbered = (job: string) =>
  Array.from({ length: CALLS }, (_, n) => ({
    name: 'Bash',
    input: { command: `echo ${n} >> ${job}.txt; sleep 0.3` },
  }));
/** Jobs that are told something while all is down, in the middle of their calls: those of one reply, or one a reply. */
const LISTS = ['cancel-list', 'interrupt-list'];
const STEPS = ['cancel-steps', 'interrupt-steps'];

let c: CommandLine;
beforeAll(async () => {
  c = await commandLine({
    jobs: [
      ...LISTS.map((job) => ({ match: job, steps: [{ calls: numbered(job) }, { text: 'all done' }] })),
      ...STEPS.map((job) => ({
        match: job,
        steps: [...numbered(job).map((call) => ({ calls: [call] })), { text: 'all done' }],
      })),
      {
        match: 'asks',
        steps: [{ calls: [{ name: 'Bash', input: { command: 'touch asked' } }] }, { text: 'answered: {{result.0}}' }],
      },
    ],
  });
});
afterAll(() => c.close());

const journal = (job: string): string[] => {
  const path = join(c.dir, `${job}.txt`);
  return existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n') : [];
};

async function downInTheMiddle(job: string): Promise<string[]> {
  expect(await c.run(['start', '--name', job, '--allow', 'Bash', job])).toMatchObject({ code: 0 });
  await expect.poll(() => journal(job).length).toBeGreaterThan(2);
  expect(await c.run(['down', '--now'])).toMatchObject({ code: 0 });
  return journal(job);
}

const named = (what: string): string[] => [...LISTS, ...STEPS].filter((job) => job.startsWith(what));

test.each(named('cancel'))('%s: cancelled while all is down, no further call begins', async (job) => {
  const before = await downInTheMiddle(job);
  expect(await c.run(['cancel', job])).toMatchObject({ code: 0, out: expect.stringContaining('cancelled') });
  expect(await c.run(['result', '--wait', job])).toMatchObject({ code: 6 });
  expect(journal(job)).toEqual(before);
});

test.each(named('interrupt'))('%s: interrupted while all is down, no further call begins', async (job) => {
  const before = await downInTheMiddle(job);
  expect(await c.run(['interrupt', job])).toMatchObject({ code: 0 });
  expect(await c.run(['result', '--wait', job])).toMatchObject({ code: 6 });
  expect(journal(job)).toEqual(before);
});

test('an answer that is given while all is down is confirmed by the worker that comes up', async () => {
  await c.run(['start', '--name', 'asks', 'asks']);
  await expect.poll(() => c.json(['inbox'])).toMatchObject([{ id: 'asks:1' }]);
  expect(await c.run(['down', '--now'])).toMatchObject({ code: 0 });
  expect(await c.json(['deny', 'asks:1'])).toMatchObject([{ id: 'asks:1', accepted: true }]);
  expect(await c.json(['result', '--wait', 'asks'])).toMatchObject({ status: 'done' });
  expect(existsSync(join(c.dir, 'asked'))).toBe(false);
});
