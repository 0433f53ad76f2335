import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobConfig } from '../../src/shapes/job.ts';
import type { ToolResultBlock } from '../../src/shapes/message.ts';
import type { Answer } from '../../src/shapes/prompt.ts';
import { type Rig, rig, RULES } from '../support/rig.ts';

const bash = (command: string) => ({ name: 'Bash', input: { command } });
/** Reads outside of the workspace: safe beside others, and a question each. */
const look = (path: string) => bash(`cat ${path}`);
const database = {
  question: 'Which database?',
  header: 'Database',
  options: [
    { label: 'Postgres', description: 'a server' },
    { label: 'SQLite', description: 'a file' },
  ],
};
const extras = {
  question: 'Which extras?',
  header: 'Extras',
  multiSelect: true,
  options: [{ label: 'docs', description: '' }, { label: 'tests' }, { label: 'bench' }],
};
const ask = { name: 'AskUserQuestion', input: { questions: [database, extras] } };
const plan = (text: string) => ({ name: 'ExitPlanMode', input: { plan: text } });
const intoFolder = { name: 'Write', input: { file_path: 'folder/new.txt', content: 'x' } };
let r: Rig;

beforeAll(async () => {
  r = await rig({
    bodies: true,
    jobs: [
      {
        match: 'three at once',
        steps: [{ calls: ['/etc/hostname', '/etc/hosts', '/etc/passwd'].map(look) }, { text: 'seen' }],
      },
      { match: 'kept', steps: [{ calls: [bash('touch kept')] }, { text: 'done' }] },
      { match: 'edited badly', steps: [{ calls: [bash('touch fine')] }, { text: 'done' }] },
      { match: 'edited wrongly', steps: [{ calls: [bash('touch fine')] }, { text: 'done' }] },
      { match: 'with words', steps: [{ calls: [bash('touch words')] }, { text: 'done' }] },
      { match: 'led astray', steps: [{ calls: [intoFolder] }, { calls: [intoFolder] }, { text: 'done' }] },
      { match: 'ask me', steps: [{ calls: [ask] }, { text: 'done' }] },
      { match: 'ask in words', steps: [{ calls: [ask] }, { text: 'done' }] },
      { match: 'ask in vain', steps: [{ calls: [ask, plan('x')] }, { text: 'done' }] },
      {
        match: 'plan it',
        steps: [
          {
            calls: [
              {
                name: 'Write',
                input: { file_path: join('{{prompt | match /in (\\S+)/}}', 'early.txt'), content: 'x' },
              },
            ],
          },
          { calls: [plan('1. write early.txt')] },
          { calls: [plan('1. write late.txt')] },
          {
            calls: [
              { name: 'Write', input: { file_path: join('{{prompt | match /in (\\S+)/}}', 'late.txt'), content: 'x' } },
            ],
          },
          { text: 'planned' },
        ],
      },
    ],
  });
});
afterAll(() => r.close());

const answer = (id: string, n: number, more: Partial<Answer> = {}) =>
  r.client.signal(id, 'answerPermission', { id: `${id}:${n}`, behavior: 'allow', ...more });
const input = (id: string, value: unknown) => r.client.store.blobs(id).put(JSON.stringify(value));
const asked = (id: string, n: number) => r.event(id, 'prompt.opened', (event) => event.id === `${id}:${n}`);
const results = async (id: string): Promise<ToolResultBlock[]> =>
  (await r.messages(id)).flatMap((message) =>
    message.content.filter((block): block is ToolResultBlock => block.type === 'tool_result'),
  );
const inWork = (file: string): string => join(r.dir, file);
const mode = (mode: JobConfig['rules']['mode']): Partial<JobConfig> => ({ rules: { ...RULES, mode } });
const texts = async (id: string): Promise<string> => JSON.stringify(await r.messages(id));

describe('an answer', () => {
  it('for always closes every question that its rule covers', async () => {
    const id = await r.start('three at once');
    for (const n of [1, 2, 3]) await asked(id, n);
    await answer(id, 2, { behavior: 'allow-always', rules: ['Bash(cat:*)'] });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    const events = r.events(id);
    const closed = events.filter((event) => event.kind === 'prompt.withdrawn').map((event) => event.id);
    expect(closed.toSorted()).toEqual([`${id}:1`, `${id}:3`]);
    expect(events.filter((event) => event.kind === 'prompt.opened')).toHaveLength(3);
    expect((await results(id)).map((result) => result.is_error ?? false)).toEqual([false, false, false]);
    const decided = events.filter((event) => event.kind === 'call.decided' && event.behavior === 'allow');
    expect(decided.map((event) => (event.kind === 'call.decided' ? event.reason.kind : '')).toSorted()).toEqual([
      'person',
      'rule',
      'rule',
    ]);
    expect(r.refused()).toEqual([]);
  });

  it('that is to be kept is written into the settings of the folder, once', async () => {
    const id = await r.start('kept');
    await asked(id, 1);
    await answer(id, 1, { behavior: 'allow-always', save: true });
    const saved = await r.event(id, 'rules.saved');
    expect(saved).toMatchObject({
      id: `${id}:1`,
      file: inWork('.claude/settings.local.json'),
      rules: ['Bash(touch:*)'],
    });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(JSON.parse(readFileSync(saved.file, 'utf8'))).toEqual({ permissions: { allow: ['Bash(touch:*)'] } });
  });

  it('with an input that a rule denies is refused, and nothing runs', async () => {
    const deny = { text: 'Bash(rm:*)', tool: 'Bash', specifier: 'rm:*', source: { kind: 'cli' as const, base: r.dir } };
    const id = await r.start('edited badly', { rules: { ...RULES, deny: [deny] } });
    await asked(id, 1);
    await answer(id, 1, { input: await input(id, { command: 'touch made; rm made' }) });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    const [result] = await results(id);
    expect(result).toMatchObject({ is_error: true });
    expect(result!.content).toContain('Bash(rm:*)');
    expect(existsSync(inWork('made'))).toBe(false);
    expect(existsSync(inWork('fine'))).toBe(false);
  });

  it('with another input is on record with what ran', async () => {
    const id = await r.start('edited badly');
    await asked(id, 1);
    await answer(id, 1, { input: await input(id, { command: 'touch instead' }) });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(existsSync(inWork('instead'))).toBe(true);
    const decided = (await r.client.store.events(id)).filter((event) => event.kind === 'call.decided').at(-1);
    expect(decided).toMatchObject({
      behavior: 'allow',
      text: expect.stringContaining('It ran with this input instead: {"command":"touch instead"}'),
    });
    expect(await texts(id)).toContain('The input of this Bash call was changed before it ran.');
  });

  it('with an input that the tool does not take is refused', async () => {
    const id = await r.start('edited wrongly');
    await asked(id, 1);
    await answer(id, 1, { input: await input(id, { cmd: 'touch made' }) });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect((await results(id))[0]!.content).toContain('does not accept that input');
    expect(existsSync(inWork('fine'))).toBe(false);
  });

  it('holds for the file that was asked about, not for where a link leads by now', async () => {
    const id = await r.start('led astray');
    await asked(id, 1);
    const outside = mkdtempSync(join(tmpdir(), 'nightshift-outside-'));
    symlinkSync(outside, inWork('folder'));
    await answer(id, 1);
    await asked(id, 2);
    expect(readdirSync(outside)).toEqual([]);
    await answer(id, 2);
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    const [first, second] = await results(id);
    expect(first).toMatchObject({
      is_error: true,
      content: expect.stringContaining(`leads to ${outside}/new.txt now`),
    });
    expect(second).not.toHaveProperty('is_error');
    expect(readFileSync(join(outside, 'new.txt'), 'utf8')).toBe('x');
    rmSync(outside, { recursive: true });
  });

  it('says to the model what the person said with it', async () => {
    const id = await r.start('with words');
    await asked(id, 1);
    await answer(id, 1, { message: 'but never again' });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(existsSync(inWork('words'))).toBe(true);
    expect(await texts(id)).toContain('The person who allowed this Bash call said: but never again');
  });
});

describe('a question of the model', () => {
  it('is answered by choices', async () => {
    const id = await r.start('ask me', mode('bypassPermissions'));
    expect(await asked(id, 1)).toMatchObject({ tool: 'AskUserQuestion', brief: 'Which database? / Which extras?' });
    await answer(id, 1, {
      input: await input(id, { answers: { 'Which database?': 'SQLite', '2': ['docs', 'bench'] } }),
      message: 'keep it small',
    });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    const [result] = await results(id);
    expect(result!.is_error).toBeUndefined();
    expect(result!.content).toBe(
      'A person answered:\n- Which database?\n  SQLite\n- Which extras?\n  docs, bench\n\nThey also said: keep it small',
    );
  });

  it('is answered in other words', async () => {
    const id = await r.start('ask in words');
    await asked(id, 1);
    await answer(id, 1, { message: 'whatever runs in CI' });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect((await results(id))[0]!.content).toBe('A person answered in their own words: whatever runs in CI');
  });

  it('is not asked where nobody is asked', async () => {
    const id = await r.start('ask in vain', mode('dontAsk'));
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    const [question, exit] = await results(id);
    expect(question).toMatchObject({ is_error: true });
    expect(question!.content).toContain('nobody is asked in this mode');
    expect(exit!.content).toContain('not in plan mode');
    const tools = r.model.requests().filter((one) => JSON.stringify(one.body).includes('ask in vain'));
    expect(tools.length).toBeGreaterThan(0);
    for (const request of tools)
      expect(JSON.stringify(request.body)).not.toMatch(/"name":"(ExitPlanMode|AskUserQuestion)","desc/);
  });
});

describe('a job in plan mode', () => {
  it('changes nothing before its plan is approved, and goes on in the default mode then', async () => {
    const id = await r.start(`plan it in ${r.dir}`, mode('plan'));
    await asked(id, 1);
    await answer(id, 1, { behavior: 'deny', message: 'plan first' });
    expect(await asked(id, 2)).toMatchObject({ tool: 'ExitPlanMode' });
    await answer(id, 2, { behavior: 'deny', message: 'another file' });
    await asked(id, 3);
    await answer(id, 3, { input: await input(id, { plan: '1. write late.txt, 2. stop' }) });
    const write = await asked(id, 4);
    const decided = r.events(id).filter((event) => event.kind === 'call.decided' && event.behavior === 'ask');
    expect(decided.at(-1)).toMatchObject({ reason: { kind: 'default' } });
    expect(write.tool).toBe('Write');
    await answer(id, 4);
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    const [early, first, second] = await results(id);
    expect(early!.content).toContain('plan first');
    expect(first!.content).toContain('another file');
    expect(second!.content).toContain('The approved plan:\n1. write late.txt, 2. stop');
    expect(existsSync(inWork('early.txt'))).toBe(false);
    expect(readFileSync(inWork('late.txt'), 'utf8')).toBe('x');
    expect((await r.record(id)).state.last?.ctx).toMatchObject({ mode: 'default' });
  });
});
