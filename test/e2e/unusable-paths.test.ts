import { spawnSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ToolResultBlock } from '../../src/shapes/message.ts';
import { type Rig, rig, RULES } from '../support/rig.ts';

const NAME = 'd'.repeat(250);
const DEEP = `${`${NAME}/`.repeat(18)}link/f`;
const file_path = (path: string) => `{{prompt | match / in (\\S+)/}}/${path}`;
const PATHS = [`${'a/'.repeat(3000)}f`, 'n'.repeat(300), 'circle', 'circle/f', DEEP];
/** Calls that each path is given to. */
const CALLS = 5;
const calls = [
  ...PATHS.flatMap((path) => [
    { name: 'Write', input: { file_path: file_path(path), content: 'x' } },
    { name: 'Edit', input: { file_path: file_path(path), old_string: '', new_string: 'x' } },
    { name: 'Read', input: { file_path: file_path(path) } },
    { name: 'Grep', input: { path: file_path(path), pattern: 'x' } },
    { name: 'Glob', input: { path: file_path(path), pattern: '*' } },
  ]),
  { name: 'Bash', input: { command: `cat ${NAME}/${'n'.repeat(300)}` } },
];
const removal = { name: 'Bash', input: { command: 'rm circle' } };

let r: Rig;
beforeAll(async () => {
  r = await rig({ steps: [{ calls }, { calls: [removal] }, { text: 'none of them can be used' }] });
});
afterAll(async () => {
  spawnSync('rm', ['-rf', join(r.dir, NAME)]); // longer than what Node can remove
  await r.close();
});

it('a path that nobody can use is an error for the model, whatever the tool', async () => {
  symlinkSync('circle', join(r.dir, 'circle'));
  const deep = `cd "$1" && for n in $(seq 18); do mkdir ${NAME} && cd -P ${NAME}; done && ln -s /etc link`;
  expect(spawnSync('bash', ['-c', deep, 'bash', r.dir])).toMatchObject({ status: 0 });
  const id = await r.start(`look in ${r.dir}`, { rules: { ...RULES, mode: 'acceptEdits' } });
  expect(await r.settled(id)).toMatchObject({ status: 'done' });
  const results = (await r.messages(id)).flatMap(({ content }) =>
    content.filter((block): block is ToolResultBlock => block.type === 'tool_result'),
  );
  const said = results.map(({ content }) => (typeof content === 'string' ? content : ''));
  const long = /: the name is too long for the file system \(ENAMETOOLONG\)\.$/;
  const circle = /: its links lead in a circle \(ELOOP\)\.$/;
  PATHS.forEach((path, i) => {
    const ofPath = said.slice(i * CALLS, (i + 1) * CALLS);
    for (const text of ofPath) expect(text).toMatch(path.startsWith('circle') ? circle : long);
    for (const text of ofPath) expect(text.length).toBeLessThan(700);
  });
  expect(said.slice(-2)).toEqual([
    expect.stringMatching(/^Exit code 1\ncat: .*: File name too long$/),
    '(Bash completed with no output)',
  ]);
  expect(results.map((result) => result.is_error === true)).toEqual([...calls.map(() => true), false]);
});
