import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CommandLine, commandLine } from '../support/command-line.ts';

const bash = (command: string) => ({ name: 'Bash', input: { command } });
const question = {
  name: 'AskUserQuestion',
  input: {
    questions: [
      {
        question: "Which of the team's databases?",
        header: 'Database',
        options: [
          { label: 'Postgres', description: 'a server' },
          { label: 'SQLite', description: 'a file' },
        ],
      },
    ],
  },
};
type Told = {
  id: string;
  accepted: boolean | null;
  why: string;
  rules?: string[];
  saved?: { kept: boolean; file: string };
};
let c: CommandLine;

beforeAll(async () => {
  c = await commandLine({
    jobs: [
      { match: 'which one', steps: [{ calls: [question] }, { text: 'got: {{result.0}}' }] },
      { match: 'two people', steps: [{ calls: [bash('touch both')] }, { text: 'done' }] },
      { match: 'keep it', steps: [{ calls: [bash('touch kept')] }, { text: 'done' }] },
      {
        match: 'several at once',
        steps: [{ calls: ['/etc/hostname', '/etc/hosts'].map((path) => bash(`cat ${path}`)) }, { text: 'done' }],
      },
      { match: 'no further', steps: [{ calls: [bash('touch further')] }, { text: 'must not come here' }] },
      { match: 'changed input', steps: [{ calls: [bash('touch plain')] }, { text: 'done' }] },
      {
        match: 'some code',
        steps: [
          { calls: [bash("python3 -c 'print(1*2)'")] },
          { calls: [bash("python3 -c 'print(1*2)'")] },
          { calls: [bash('python3 -c \'print(1);open("star", "w");print(2)\'')] },
          { calls: [bash('python3')] },
          { text: 'done' },
        ],
      },
      { match: 'wrong input', steps: [{ calls: [bash('touch wrong')] }, { text: 'done' }] },
    ],
  });
});
afterAll(() => c.close());

/** Starts a job and resolves when its question waits. */
async function asking(prompt: string, name: string): Promise<void> {
  const follow = c.begin(['run', '--name', name, prompt]);
  await follow.said(`asks (${name}:1)`);
  follow.child.kill('SIGINT');
  await follow.end;
}
const told = async (args: string[]): Promise<Told[]> => JSON.parse((await c.run([...args, '--json'])).out) as Told[];

test('a question of the model is shown with its options, and takes an answer that fits', async () => {
  await asking('which one', 'which');
  const { out } = await c.run(['inbox']);
  expect(out).toContain("1. Which of the team's databases?");
  expect(out).toContain('a) Postgres – a server');
  expect(out).toContain(`nightshift allow which:1 --input '{"answers":{"1":"Postgres"}}'`);
  expect(out).toContain('--message "…"   # in your own words');

  const bare = await c.run(['allow', 'which:1']);
  expect(bare.code).toBe(1);
  expect(bare.out).toContain('it wants an answer');
  const all = await c.run(['allow', '--all']);
  expect(all.code).toBe(1);
  const wrong = await c.run(['allow', 'which:1', '--input', '{"answers":{"Which color?":"red"}}']);
  expect(wrong.code).toBe(1);
  expect(wrong.out).toContain('"Which color?" is none of the questions');
  expect(((await c.json(['inbox'])) as { id: string }[]).map(({ id }) => id)).toContain('which:1');

  expect(await told(['allow', 'which:1', '--input', '{"answers":{"Database":"SQLite"}}'])).toMatchObject([
    { accepted: true },
  ]);
  const result = await c.json(['result', '--wait', 'which']);
  expect(result).toMatchObject({ status: 'done', result: expect.stringContaining('SQLite') as string });
});

test('an input that the tool does not take is sent back, and the question stays', async () => {
  await asking('wrong input', 'wrong');
  const { code, out } = await c.run(['allow', 'wrong:1', '--input', '{"cmd":"ls"}']);
  expect(code).toBe(1);
  expect(out).toContain('Bash does not take this input: command');
  expect(await told(['deny', 'wrong:1', '--message', 'no'])).toMatchObject([{ accepted: true }]);
});

test('always holds for the very code that was shown, and says where there is no rule to keep', async () => {
  await asking('some code', 'code');
  const { out } = await c.run(['allow', '--always', 'code:1']);
  expect(out).toContain("code:1: allowed; for the rest of the job: Bash(python3 -c 'print(1\\*2)')");
  const shown = async (): Promise<unknown> =>
    ((await c.json(['inbox'])) as { id: string; input: unknown }[]).map(({ id, input }) => [id, input]);
  // The same code ran a second time without a question.
  await expect
    .poll(shown, { timeout: 60_000 })
    .toMatchObject([['code:2', { command: expect.stringContaining('star') }]]);
  expect(existsSync(join(c.dir, 'star'))).toBe(false);
  await c.run(['deny', 'code:2']);
  await expect.poll(shown, { timeout: 60_000 }).toMatchObject([['code:3', { command: 'python3' }]]);
  expect((await c.run(['inbox'])).out).not.toContain('--always');
  expect((await c.run(['allow', '--always', 'code:3'])).out).toContain(
    'code:3: allowed; there is no rule to keep, so the next one asks again',
  );
  expect(await c.json(['result', '--wait', 'code'])).toMatchObject({ status: 'done' });
});

test('an edited input in a protected folder is refused, and the command promises no more than that', async () => {
  mkdirSync(join(c.dir, '.git'), { recursive: true });
  await asking('changed input', 'changed');
  const { code, out } = await c.run(['allow', 'changed:1', '--input', '{"command":"echo a > .git/changed"}']);
  expect(code).toBe(0);
  expect(out).toContain(
    'changed:1: allowed with your input; deny rules, ask rules and safety checks are looked at again',
  );
  expect(await c.json(['result', '--wait', 'changed'])).toMatchObject({ status: 'done' });
  expect(existsSync(join(c.dir, '.git/changed'))).toBe(false);
  expect(JSON.stringify(await c.json(['transcript', 'changed']))).toContain('.git is a protected folder');
});

test('of two people who answer at once one is heard, and the other is told by whom', async () => {
  await asking('two people', 'both');
  const answers = await Promise.all([told(['allow', 'both:1']), told(['deny', 'both:1'])]);
  const [first, second] = answers.flat().toSorted((a, b) => Number(b.accepted) - Number(a.accepted));
  expect([first?.accepted, second?.accepted]).toEqual([true, false]);
  expect(second?.why).toMatch(/^answered before: (allow|deny) by .+@.+ at \d{4}-/);
  expect(await c.json(['result', '--wait', 'both'])).toMatchObject({ status: 'done' });
});

test('all questions of all jobs are answered by one command', { timeout: 180_000 }, async () => {
  await asking('several at once', 'bulk');
  await asking('two people', 'other');
  await expect.poll(async () => ((await c.json(['inbox'])) as unknown[]).length, { timeout: 60_000 }).toBe(3);
  const answers = await told(['allow', '--all']);
  expect(answers.map(({ id }) => id).toSorted()).toEqual(['bulk:1', 'bulk:2', 'other:1']);
  // A job that is slow to say so has the answer all the same.
  expect(answers.filter(({ accepted }) => accepted === false)).toEqual([]);
  for (const job of ['bulk', 'other'])
    expect(await c.json(['result', '--wait', job])).toMatchObject({ status: 'done' });
  expect(await c.json(['inbox'])).toEqual([]);
});

test('a question that is denied with --interrupt ends the turn', { timeout: 180_000 }, async () => {
  await asking('no further', 'further');
  expect(await told(['deny', '--interrupt', '--message', 'that is enough', 'further:1'])).toMatchObject([
    { accepted: true },
  ]);
  const { code, out } = await c.run(['result', '--wait', 'further', '--json']);
  expect(code).toBe(1);
  expect(JSON.parse(out)).toMatchObject({ status: 'stopped', why: 'denied' });
  expect(JSON.stringify(await c.json(['transcript', 'further']))).toContain('that is enough');
});

test('a rule is kept for later jobs, which do not ask again', async () => {
  await c.run(['trust']);
  await asking('keep it', 'keep');
  const { out, code } = await c.run(['allow', '--save', 'keep:1']);
  expect(code).toBe(0);
  const file = join(c.dir, '.claude/settings.local.json');
  expect(out).toContain('keep:1: allowed; for the rest of the job: Bash(touch:*)');
  expect(out).toContain(`kept in ${file}`);
  expect(readFileSync(file, 'utf8')).toContain('"Bash(touch:*)"');
  expect(await c.run(['run', '--name', 'later', 'keep it'])).toMatchObject({ code: 0 });
  expect(await c.json(['inbox'])).toEqual([]);
});
