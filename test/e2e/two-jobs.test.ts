import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ToolResultBlock } from '../../src/shapes/message.ts';
import { type Rig, rig, RULES } from '../support/rig.ts';

const NOTES = '{{prompt | match / in (\\S+)/}}/notes.txt';
const read = { name: 'Read', input: { file_path: NOTES } };
const edit = (old_string: string, new_string: string) => ({
  name: 'Edit',
  input: { file_path: NOTES, old_string, new_string },
});
const bash = (command: string) => ({ name: 'Bash', input: { command } });
const END = { text: 'ready' };
/** Each end of a named pipe waits for the other, so both jobs have to be there at the same time. */
const meet = (pipe: string, how: 'hear' | 'say') => bash(how === 'hear' ? `cat ${pipe}` : `echo on > ${pipe}`);

let r: Rig;
beforeAll(async () => {
  r = await rig({
    jobs: [
      {
        match: 'slow',
        steps: [
          { calls: [read] },
          { calls: [meet('has-read', 'say')] },
          { calls: [meet('has-changed', 'hear')] },
          { calls: [edit('red', 'green')] },
          { calls: [edit('two', 'due')] },
          { calls: [read] },
          { calls: [edit('blue', 'green')] },
          END,
        ],
      },
      {
        match: 'quick',
        steps: [
          { calls: [meet('has-read', 'hear')] },
          { calls: [read] },
          { calls: [edit('red', 'blue')] },
          { calls: [meet('has-changed', 'say')] },
          END,
        ],
      },
      ...(['hear', 'say'] as const).map((how) => ({
        match: how,
        steps: [
          { calls: [read] },
          { calls: [meet('../meeting', how)] },
          { calls: [edit('red', how)] },
          { calls: [bash('pwd; cat notes.txt')] },
          END,
        ],
      })),
    ],
  });
});
afterAll(() => r.close());

function workspace(name: string): string {
  const dir = join(r.dir, name);
  mkdirSync(dir);
  writeFileSync(join(dir, 'notes.txt'), 'one red\ntwo\n');
  return dir;
}
const start = (word: string, dir: string): Promise<string> =>
  r.start(`${word} in ${dir}`, {
    dir,
    rules: {
      ...RULES,
      mode: 'acceptEdits',
      allow: [{ text: 'Bash', tool: 'Bash', source: { kind: 'cli', base: dir } }],
    },
  });
const results = async (id: string): Promise<ToolResultBlock[]> =>
  (await r.messages(id)).flatMap((message) =>
    message.content.filter((block): block is ToolResultBlock => block.type === 'tool_result'),
  );

describe('two jobs at once', { timeout: 60_000 }, () => {
  it('in one folder: an edit of what the other one changed is refused, and nothing of either is lost', async () => {
    const dir = workspace('shared');
    for (const pipe of ['has-read', 'has-changed']) execFileSync('mkfifo', [join(dir, pipe)]);
    const [slow, quick] = await Promise.all([start('slow', dir), start('quick', dir)]);
    expect((await r.settled(slow)).status).toBe('done');
    expect((await r.settled(quick)).status).toBe('done');
    const said = await results(slow);
    expect(said.filter(({ is_error }) => is_error).map(({ content }) => content)).toEqual([
      expect.stringContaining('was changed since you read it, and old_string is not in it. Read it again'),
    ]);
    expect(said).toHaveLength(7);
    expect((await results(quick)).some(({ is_error }) => is_error)).toBe(false);
    expect(readFileSync(join(dir, 'notes.txt'), 'utf8')).toBe('one green\ndue\n');
    expect(r.refused()).toEqual([]);
  });

  it('in two folders: neither sees or touches what the other has', async () => {
    execFileSync('mkfifo', [join(r.dir, 'meeting')]);
    const dirs = { hear: workspace('hearing'), say: workspace('saying') };
    const ids = await Promise.all([start('hear', dirs.hear), start('say', dirs.say)]);
    for (const id of ids) expect((await r.settled(id)).status).toBe('done');
    for (const [how, dir] of Object.entries(dirs)) {
      expect(readFileSync(join(dir, 'notes.txt'), 'utf8')).toBe(`one ${how}\ntwo\n`);
    }
    const shown = await Promise.all(ids.map(async (id) => (await results(id)).at(-1)?.content));
    expect(shown).toEqual([`${dirs.hear}\none hear\ntwo`, `${dirs.say}\none say\ntwo`]);
  });
});
