import { expect, test } from 'vitest';
import { permissionsCheck } from '../../../src/app/commands/permissions-check.ts';
import { captureIo } from '../../support/capture-io.ts';

const env = { PATH: process.env['PATH'], HOME: '/nowhere', NIGHTSHIFT_HOME: '/nowhere/state' };
const call = (id: number, tool: string, input: unknown, cwd = '/') => JSON.stringify({ id, cwd, tool, input });

test('every line gets its answer, whatever the line before was', async () => {
  const stdin = [
    'not json',
    call(1, 'Read', { file_path: '/a\0b' }),
    call(2, 'Write', { file_path: `/${'a/'.repeat(3000)}`, content: '' }),
    call(3, 'NotebookEdit', { notebook_path: '/a\0b' }),
    call(4, 'Bash', { command: 'cat a\0b' }),
    call(5, 'Read', { file_path: '/etc/hosts' }, '/a\0b'),
    call(6, 'Bash', { command: 'ls' }),
  ].join('\n');
  const io = captureIo({ stdin, env });
  expect(await permissionsCheck({ jsonl: true }, io)).toBe(1);
  const answers = io
    .out()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const nul = { behavior: 'deny', reason: { kind: 'tool' }, text: expect.stringContaining('NUL character') as string };
  expect(answers[0]).toMatchObject({ id: null, error: expect.stringMatching(/^line 1 is not JSON: /) as string });
  expect(answers[1]).toMatchObject({ id: 1, ...nul });
  expect(answers[3]).toMatchObject({ id: 3, ...nul });
  expect(answers[5]).toMatchObject({
    id: 5,
    error: expect.stringContaining('cwd: it takes an absolute path') as string,
  });
  expect(answers[6]).toMatchObject({ id: 6, behavior: 'allow' });
  expect(answers.map(({ id }) => id)).toEqual([null, 1, 2, 3, 4, 5, 6]);
  expect(io.out()).not.toContain('bug in nightshift');
});

test('a single call with a path that can not be is answered too', async () => {
  const io = captureIo({ env });
  expect(await permissionsCheck({ tool: 'Read', input: '{"file_path":"a\\u0000b"}', dir: '/' }, io)).toBe(0);
  expect(io.out()).toBe('deny: The path holds a NUL character, which no file name can.\n');
});
