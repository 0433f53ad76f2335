import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { distFile } from '../../src/app/service/dist-file.ts';
import { type CommandLine, commandLine } from '../support/command-line.ts';
import { rig } from '../support/rig.ts';

const bash = (command: string) => ({ name: 'Bash', input: { command } });
const read = { name: 'Read', input: { file_path: 'notes.txt' } };
let c: CommandLine;

beforeAll(async () => {
  c = await commandLine({
    jobs: [
      { match: 'look around', steps: [{ text: 'I look first.', calls: [read] }, { text: 'There is no such file.' }] },
      { match: 'ask twice', steps: [{ calls: [bash('touch a.txt'), bash('touch b.txt')] }, { text: 'Asked.' }] },
      { match: 'many steps', steps: [{ calls: [read] }, { calls: [read] }, { text: 'All steps done.' }] },
      { match: 'be slow', steps: [{ calls: [bash('sleep 60')] }, { text: 'Slept.' }, { text: 'Woken.' }] },
      { match: 'wake up', steps: [{ text: 'Awake.' }, { text: 'Awake again.' }] },
      { match: 'outlive', steps: [{ calls: [bash('echo begun; sleep 6; echo ended')] }, { text: 'Outlived.' }] },
    ],
  });
});
afterAll(() => c.close());

test('Ctrl-C in the first up leaves a service that goes on, and says so', async () => {
  const running = c.begin(['up']);
  await running.said('server: runs');
  running.child.kill('SIGINT');
  expect(await running.end).toMatchObject({
    code: 130,
    out: '',
    err: expect.stringMatching(/goes on by itself\nnightshift status .*\nnightshift down/),
  });
  expect(await c.run(['ls'])).toMatchObject({ code: 0, out: expect.stringContaining('There are no jobs yet') });
});

test('run prints the answer alone on stdout, what happens on stderr, and ends as the job did', async () => {
  const { code, out, err } = await c.run(['run', '--name', 'look', '-'], 'look around\n');
  expect([code, out]).toEqual([0, 'There is no such file.\n']);
  expect(err).toMatch(
    /\nI look first\.\n {2}✗ Read notes\.txt .*\nThere is no such file\.\n\ndone · .* · \$0\.\d+ · 1 turn\n/,
  );
});

test('a job that has ended is listed, shown, told and printed as it was', async () => {
  const where = { id: 'look', title: 'look around', status: 'done', why: null, dir: c.dir };
  expect(await c.json(['ls'])).toEqual([expect.objectContaining({ ...where, turn: 1, step: 2, prompts: 0, tasks: 0 })]);
  expect(await c.json(['show', 'look'])).toMatchObject({
    ...where,
    turns: [
      {
        n: 1,
        status: 'answered',
        steps: [
          {
            n: 1,
            text: 'I look first.',
            calls: [{ index: 0, name: 'Read', state: 'yielded', isError: true, owners: 1 }],
          },
          { n: 2, text: 'There is no such file.', calls: [] },
        ],
      },
    ],
  });
  const messages = (await c.json(['transcript', 'look'])) as { role: string }[];
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
  expect(await c.json(['result', 'look'])).toMatchObject({ id: 'look', status: 'done', isError: false, turns: 1 });
  const { out } = await c.run(['logs', '--jsonl', 'look']);
  const kinds = out
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { kind: string }).kind);
  expect([kinds[0], kinds.at(-1)]).toEqual(['job.opened', 'job.closed']);
});

test('what could not be printed is said, and no success', async () => {
  const [program, cli] = [process.execPath, distFile('src/app/cli.js')];
  const child = spawn('bash', ['-c', '"$0" "$@" > /dev/full', program, cli, 'ls'], { cwd: c.dir, env: c.env });
  let err = '';
  child.stderr.on('data', (text) => (err += String(text)));
  const [code] = (await once(child, 'close')) as [number];
  expect([code, err]).toEqual([1, expect.stringMatching(/^error: the output can't be written: ENOSPC/)]);
});

test('a warning about settings is said once to whoever runs a job, and kept for those who look later', async () => {
  const settings = JSON.stringify({ permissions: { allow: ['Bsh(ls)'] } });
  const { code, err } = await c.run(['run', '--name', 'warned', '--settings', settings, 'look around']);
  const warnings = (text: string): number => text.split('approves nothing').length - 1;
  expect([code, warnings(err)]).toEqual([0, 1]);
  expect(warnings((await c.run(['watch', 'warned'])).out)).toBe(1);
});

test('a name is taken once; --reuse prints the id that has it', async () => {
  const again = await c.run(['start', '--name', 'look', 'look around']);
  expect([again.code, again.out, again.err]).toEqual([1, '', expect.stringContaining('a job look exists already')]);
  const reused = await c.run(['start', '--name', 'look', '--reuse', 'look around']);
  expect([reused.code, reused.out]).toEqual([0, 'look\n']);
});

test('questions are listed, answered once each, and the job goes on with the answers', async () => {
  const running = c.begin(['run', '--name', 'asks', 'ask twice']);
  await running.said('nightshift allow asks:1');
  expect(await c.json(['inbox'])).toMatchObject([
    { id: 'asks:1', job: 'asks', tool: 'Bash', input: { command: 'touch a.txt' }, suggestions: [expect.any(String)] },
  ]);
  expect(await c.json(['ls', '--status', 'waiting'])).toMatchObject([{ id: 'asks', why: 'permission', prompts: 1 }]);
  expect((await c.run(['allow', 'asks:7'])).code).toBe(3);

  expect(await c.json(['allow', 'asks:1'])).toMatchObject([{ id: 'asks:1', job: 'asks', accepted: true }]);
  const late = await c.run(['deny', 'asks:1', '--json']);
  expect([late.code, JSON.parse(late.out)]).toEqual([
    1,
    [{ id: 'asks:1', job: 'asks', accepted: false, why: expect.stringMatching(/^answered before: allow by .+ at 20/) }],
  ]);

  await running.said('nightshift deny asks:2');
  expect((await c.run(['deny', 'asks:2', '--message', 'b is not wanted'])).code).toBe(0);
  expect(await running.end).toMatchObject({ code: 0, out: 'Asked.\n' });
  expect([existsSync(join(c.dir, 'a.txt')), existsSync(join(c.dir, 'b.txt'))]).toEqual([true, false]);
  expect(JSON.stringify(await c.json(['transcript', 'asks']))).toContain('b is not wanted');
  expect((await c.run(['allow', 'asks:2'])).code).toBe(1);
});

test('a job stops at its limit with 5, and goes on with a higher one', async () => {
  const run = await c.run(['run', '--name', 'bound', '--max-steps', '1', 'many steps']);
  expect([run.code, run.out]).toEqual([5, '']);
  expect(run.err).toMatch(/stopped \(steps\).*\nnightshift resume bound --max-steps N/);
  const silent = { code: 5, out: '', err: expect.stringMatching(/bound is stopped \(steps\); it gave no answer/) };
  expect(await c.run(['result', 'bound'])).toMatchObject(silent);
  const same = await c.run(['resume', 'bound', '--max-steps', '1']);
  expect([same.code, same.err]).toEqual([2, expect.stringContaining('would stop at once: it has used 1 step')]);
  expect(await c.json(['resume', 'bound', '--max-steps', '9'])).toEqual({ id: 'bound', status: expect.any(String) });
  expect(await c.run(['result', '--wait', 'bound'])).toMatchObject({ code: 0, out: 'All steps done.\n' });
  expect((await c.run(['resume', 'bound'])).err).toContain('it has nothing to go on with');
});

test('a message to a job that has used up its turns waits, and says which command lets it go on', async () => {
  const flags = ['--name', 'once', '--stay', '--max-turns', '1'];
  expect(await c.run(['run', ...flags, 'wake up'])).toMatchObject({ code: 0, err: expect.stringMatching(/\nidle\n/) });
  expect((await c.run(['send', 'once', 'and again'])).out).toMatch(
    /can't go on: it has used 1 turn.*\nnightshift resume once --max-turns N\n/,
  );
  expect(await c.run(['result', '--wait', 'once'])).toMatchObject({ code: 5 });
  expect(await c.json(['send', 'once', 'once more'])).toMatchObject({ limit: 'turns' });
  expect(await c.run(['result', '--wait', 'once'])).toMatchObject({ code: 5 });
  expect((await c.run(['resume', 'once', '--max-turns', '3'])).code).toBe(0);
  expect(await c.run(['result', '--wait', 'once'])).toMatchObject({ code: 0, out: 'Awake again.\n' });
});

test('a job that asks at its limit says so to whoever follows it, and goes on when it is raised', async () => {
  const running = c.begin(['run', '--name', 'asks-more', '--max-steps', '1', '--on-limit', 'ask', 'many steps']);
  await running.said('it goes on with more: nightshift resume asks-more');
  expect(await c.json(['ls', '--status', 'waiting'])).toMatchObject([{ id: 'asks-more', why: 'limit' }]);
  expect((await c.run(['show', 'asks-more'])).out).toMatch(/nightshift resume asks-more .*--max-steps N/);
  expect((await c.run(['resume', 'asks-more'])).err).toContain('nightshift resume asks-more --max-usd');
  expect((await c.run(['resume', 'asks-more', '--max-steps', '9'])).code).toBe(0);
  expect(await running.end).toMatchObject({ code: 0, out: 'All steps done.\n' });
});

test('Ctrl-C ends the watching; interrupt and cancel end what runs, and a message opens it again', async () => {
  const running = c.begin(['run', '--name', 'slow', '--allow', 'Bash', 'be slow']);
  await running.said('● Bash sleep 60');
  running.child.kill('SIGINT');
  const left = await running.end;
  expect([left.code, left.err]).toEqual([130, expect.stringContaining('nightshift watch slow')]);
  expect(await c.json(['ls', '--status', 'running'])).toMatchObject([{ id: 'slow', activity: 'Bash sleep 60' }]);

  expect((await c.run(['interrupt', 'slow'])).code).toBe(0);
  const stopping = {
    id: 'slow',
    status: 'running',
    why: 'interrupting',
    text: expect.stringContaining('told to stop'),
  };
  expect(await c.json(['ls', '--status', 'running'])).toMatchObject([stopping]);
  expect((await c.run(['interrupt', '--now', 'slow'])).code).toBe(0);
  expect(await c.run(['result', '--wait', 'slow'])).toMatchObject({ code: 6 });
  expect(JSON.stringify(await c.json(['transcript', 'slow']))).toContain('"is_error":true');
  expect((await c.run(['send', 'slow', 'go on'])).code).toBe(0);
  const watching = await c.run(['watch', 'slow']);
  expect([watching.code, watching.out]).toEqual([0, expect.stringMatching(/Slept\.\n\ndone/)]);
  expect(watching.out).toMatch(/\n‖ turn ended: interrupted\n\n> go on\n/);
  expect(await c.json(['show', 'slow'])).toMatchObject({
    turns: [
      { n: 1, status: 'interrupted', input: 'be slow' },
      { n: 2, status: 'answered', input: 'go on' },
    ],
  });

  expect((await c.run(['cancel', 'slow'])).code).toBe(1);
  expect((await c.run(['send', 'slow', 'once more'])).code).toBe(0);
  expect(await c.run(['result', '--wait', 'slow'])).toMatchObject({ code: 0, out: 'Woken.\n' });
}, 120_000);

test('while a job goes on its result is 1, and watch is 0 even for one that was cancelled', async () => {
  const following = c.begin(['run', '--name', 'going', '--allow', 'Bash', 'be slow']);
  await following.said('● Bash sleep 60');
  expect(await c.run(['result', 'going'])).toEqual({
    code: 1,
    out: '',
    err: 'going is running; it has not answered yet\n',
  });
  const { code, out } = await c.run(['result', '--json', 'going']);
  expect([code, JSON.parse(out)]).toEqual([1, expect.objectContaining({ id: 'going', status: 'running', result: '' })]);
  expect((await c.run(['cancel', 'going'])).code).toBe(0);
  expect((await following.end).code).toBe(6);
  expect((await c.run(['result', 'going'])).code).toBe(6);
  expect((await c.run(['watch', 'going'])).code).toBe(0);
});

test('a followed job outlives server and worker, and the command that follows it does too', async () => {
  const running = c.begin(['run', '--name', 'long', '--allow', 'Bash', 'outlive']);
  await running.said('● Bash echo begun');
  const { server, worker } = (await c.json(['status'])) as Record<'server' | 'worker', { pid: number }>;
  process.kill(server.pid, 'SIGKILL');
  process.kill(worker.pid, 'SIGKILL');
  expect(await running.end).toMatchObject({ code: 0, out: 'Outlived.\n' });
  expect(await c.json(['show', 'long'])).toMatchObject({
    turns: [{ steps: [{ calls: [{ outcome: expect.stringMatching(/^(adopted|probed)$/), owners: 2 }] }, {}] }],
  });
  expect(c.model.requests().filter((request) => request.refused)).toEqual([]);
});

test('run --output-format stream-json is one message per line, from init to result', async () => {
  const { code, out } = await c.run(['run', '--output-format', 'stream-json', 'look around']);
  const messages = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; subtype?: string; tools?: string[] });
  expect(code).toBe(0);
  expect(messages.map(({ type }) => type)).toEqual(['system', 'assistant', 'user', 'assistant', 'result']);
  expect(messages[0]?.tools).toEqual(expect.arrayContaining(['Bash', 'Read', 'Edit', 'Write', 'Glob', 'Grep']));
  expect(messages.at(-1)).toMatchObject({ subtype: 'success', is_error: false, result: 'There is no such file.' });
});

test('a job that was ended behind our back is seen as failed, and a start that failed leaves no job', async () => {
  const r = await rig({ steps: [{ calls: [bash('echo once >> once.txt')] }, { text: 'done' }] });
  try {
    const id = await r.start('ask me');
    await r.event(id, 'prompt.opened');
    await r.temporal.workflow.getHandle(id).terminate('by hand');
    mkdirSync(join(r.home.jobs, 'never-begun'));
    expect(await r.client.list()).toMatchObject([
      {
        id,
        title: 'ask me',
        dir: r.dir,
        open: false,
        status: 'failed',
        why: 'error',
        text: expect.stringContaining('it left no record'),
      },
    ]);
    await expect(r.client.describe('never-begun')).rejects.toMatchObject({ exitCode: 3 });
    await expect(r.client.send(id, 'go on')).rejects.toMatchObject({ exitCode: 1 });
  } finally {
    await r.close();
  }
});
