import { expect, test } from 'vitest';
import { idFromTitle, readPrompt, titleOf } from '../../src/app/prompt-text.ts';
import { JobId } from '../../src/shapes/ids.ts';
import { captureIo } from '../support/capture-io.ts';

test('the prompt is the argument, whatever is on stdin', async () => {
  expect(await readPrompt('Fix it', captureIo({ stdin: 'other' }))).toBe('Fix it');
});

test.each([['-'], [undefined]])('with the argument %s a piped prompt is taken', async (argument) => {
  expect(await readPrompt(argument, captureIo({ stdin: 'Fix it\nnow\n' }))).toBe('Fix it\nnow\n');
});

test('a prompt of 5 MB passes unchanged', async () => {
  const prompt = 'ä'.repeat(2_621_440);
  expect(await readPrompt('-', captureIo({ stdin: prompt }))).toBe(prompt);
});

test.each([
  ['an empty argument', '', undefined],
  ['white space', ' \n\t', undefined],
  ['an empty pipe', undefined, ''],
])('%s is refused as an empty prompt', async (_what, argument, stdin) => {
  const io = captureIo(stdin === undefined ? {} : { stdin });
  await expect(readPrompt(argument, io)).rejects.toMatchObject({ exitCode: 2, message: 'the prompt is empty' });
});

test('of an empty message it is said how to send one', async () => {
  const refused = readPrompt('', captureIo(), 'nightshift send j "…"');
  await expect(refused).rejects.toMatchObject({ exitCode: 2, fix: 'nightshift send j "…"' });
});

test('without a prompt at a terminal nobody waits for one', async () => {
  await expect(readPrompt(undefined, captureIo())).rejects.toMatchObject({
    exitCode: 2,
    message: 'there is no prompt',
  });
});

test('bytes that are no UTF-8 are refused with a way to convert them', async () => {
  const io = captureIo({ stdin: Buffer.from([0x46, 0xe9, 0x65]) });
  await expect(readPrompt('-', io)).rejects.toMatchObject({ exitCode: 2, fix: expect.stringContaining('iconv') });
});

test.each([
  ['Fix the test', 'Fix the test'],
  ['\n\n  First line\nsecond', 'First line'],
  ['\u001b[31mred\u0007 alert', 'red alert'],
  ['x'.repeat(200), `${'x'.repeat(79)}…`],
  ['😀'.repeat(100), `${'😀'.repeat(39)}…`],
])('the title of %j is its first line that says something', (prompt, title) => {
  expect(titleOf(prompt)).toBe(title);
});

test.each([
  ['Fix the failing test in src/parse.ts', 'fix-the-failing-test-in-src-parse-ts-x7k2'],
  ["Don't über-engineer", 'dont-uber-engineer-x7k2'],
  ['修正', 'job-x7k2'],
  ['a'.repeat(80), `${'a'.repeat(40)}-x7k2`],
  ['one two three four five six seven eight nine ten', 'one-two-three-four-five-six-seven-eight-x7k2'],
])('the id of a job called %j can be typed', (title, id) => {
  expect(idFromTitle(title, 'x7k2')).toBe(id);
  expect(JobId.safeParse(id).success).toBe(true);
});
