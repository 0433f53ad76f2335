import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ToolResultBlock } from '../../src/shapes/message.ts';
import { type CommandLine, commandLine } from '../support/command-line.ts';
import { type Rig, rig, RULES } from '../support/rig.ts';

type Case = { what: string; env?: Record<string, string>; args: string[]; code: number; says: RegExp };
const call = (name: string, input: Record<string, unknown>) => ({ name, input });

describe('a command that can not be carried out', () => {
  let c: CommandLine;
  beforeAll(async () => {
    c = await commandLine({ keys: ['rehearsal'], jobs: [{ match: 'hello', steps: [{ text: 'Hello.' }] }] });
  });
  afterAll(() => c.close());

  /** Runs with other variables; an empty one is taken away. */
  const runWith = async (env: Record<string, string>, args: string[], stdin?: string) => {
    const before = { ...c.env };
    Object.assign(c.env, env);
    try {
      return await c.run(args, stdin);
    } finally {
      for (const name of Object.keys(env)) delete c.env[name];
      Object.assign(c.env, before);
    }
  };

  it.each([
    { what: 'no key', env: { ANTHROPIC_API_KEY: '' }, args: ['run', 'hello'], code: 2, says: /ANTHROPIC_API_KEY/ },
    { what: 'an empty prompt', args: ['run', '  '], code: 2, says: /prompt/ },
    { what: 'a bad job name', args: ['run', '--name', 'No Such/Name', 'hello'], code: 2, says: /a-z 0-9/ },
    { what: 'a missing workspace', args: ['run', '--dir', 'nowhere', 'hello'], code: 2, says: /no such folder/ },
    { what: 'an unknown flag', args: ['run', '--max-stepz', '3', 'hello'], code: 2, says: /--max-steps/ },
    { what: 'a rule that is none', args: ['run', '--allow', 'Bash(', 'hello'], code: 2, says: /Bash\(/ },
    {
      what: 'a model without a price and a budget',
      args: ['run', '--model', 'claude-none-1', '--max-usd', '1', 'hello'],
      code: 2,
      says: /price/,
    },
    {
      what: 'bypass as root',
      args: ['run', '--permission-mode', 'bypassPermissions', 'hello'],
      code: 2,
      says: /IS_SANDBOX/,
    },
    { what: 'an unknown job', args: ['show', 'nobody'], code: 3, says: /there is no job nobody/ },
    { what: 'an unknown prompt', args: ['allow', 'nobody:1'], code: 3, says: /nobody/ },
    {
      what: 'a script that is no YAML',
      args: ['model-server', '--script', 'broken.yaml'],
      code: 2,
      says: /broken\.yaml:\d/,
    },
    {
      what: 'a script that is not there',
      args: ['model-server', '--script', 'none.yaml'],
      code: 2,
      says: /none\.yaml/,
    },
    {
      what: 'a home that is a file',
      env: { NIGHTSHIFT_HOME: '/dev/null' },
      args: ['ls'],
      code: 4,
      says: /NIGHTSHIFT_HOME/,
    },
    {
      what: 'a home that can not be written',
      env: { NIGHTSHIFT_HOME: '/proc/nightshift' },
      args: ['run', 'hello'],
      code: 4,
      says: /NIGHTSHIFT_HOME/,
    },
    {
      what: 'a temporal program that is none',
      env: { NIGHTSHIFT_TEMPORAL_CLI: '/etc/hostname', NIGHTSHIFT_HOME: '/tmp/nightshift-none' },
      args: ['up'],
      code: 4,
      says: /NIGHTSHIFT_TEMPORAL_CLI/,
    },
    {
      what: 'a server that can not be reached',
      env: { TEMPORAL_ADDRESS: '127.0.0.1:1', NIGHTSHIFT_HOME: '/tmp/nightshift-none' },
      args: ['run', 'hello'],
      code: 4,
      says: /127\.0\.0\.1:1/,
    },
  ] as Case[])('says what to do about $what, with exit code $code', async ({ env = {}, args, code, says }) => {
    writeFileSync(join(c.dir, 'broken.yaml'), 'steps:\n  - text: "open\n');
    const ran = await runWith(env, args);
    expect(ran.code, ran.err).toBe(code);
    expect(ran.err).toMatch(says);
    expect(ran.err).not.toMatch(/\n\s+at /);
    rmSync('/tmp/nightshift-none', { recursive: true, force: true });
  });

  it('refuses a port that is taken, and says so', async () => {
    writeFileSync(join(c.dir, 'good.yaml'), 'steps:\n  - text: hello\n');
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    const ran = await c.run(['model-server', '--script', 'good.yaml', '--port', String(port)]);
    expect(ran.code).toBe(4);
    expect(ran.err).toContain(String(port));
    taken.close();
  });

  it('refuses a prompt that is no UTF-8, and takes one of 5 MB', async () => {
    const child = c.begin(['run', '-'], undefined);
    expect((await child.end).code).toBe(2);
    const large = await c.run(['run', '-'], `hello ${'x'.repeat(5_000_000)}`);
    // Five million bytes are more than the model's window: said so, and nothing lost.
    expect([0, 1]).toContain(large.code);
    expect(large.out + large.err).toMatch(/Hello|too long|context/);
  });

  it('lets a job with a wrong key wait, says which command mends it, and goes on when it is mended', async () => {
    const wrong = { ...c.env, ANTHROPIC_API_KEY: 'wrong' };
    Object.assign(c.env, wrong);
    expect((await c.run(['up'])).code).toBe(0);
    const started = await c.run(['start', '--name', 'locked-out', 'hello']);
    expect(started.code).toBe(0);
    await expect
      .poll(
        async () =>
          ((await c.json(['ls', '--all'])) as { id: string; why: string }[]).find((job) => job.id === 'locked-out')
            ?.why,
        { timeout: 20_000 },
      )
      .toBe('credentials');
    expect((await c.run(['show', 'locked-out'])).out).toContain('nightshift up');
    c.env['ANTHROPIC_API_KEY'] = 'rehearsal';
    expect((await c.run(['up'])).code).toBe(0);
    expect(await c.run(['result', '--wait', 'locked-out'])).toMatchObject({ code: 0, out: 'Hello.\n' });
  });
});

describe('what a model or a workspace may do wrong', () => {
  let r: Rig;
  beforeAll(async () => {
    r = await rig({
      jobs: [
        {
          match: 'odd calls',
          steps: [
            { calls: [call('Nope', {}), call('Read', { path: 1 }), call('Bash', { command: ['ls'] })] },
            { text: 'told' },
          ],
        },
        {
          match: 'huge',
          steps: [{ calls: [call('Bash', { command: 'yes nightly | head -c 20000000' })] }, { text: 'got it' }],
        },
        {
          match: 'binary',
          steps: [
            { calls: [call('Bash', { command: 'head -c 3000 /dev/urandom; printf "\\000\\377\\033[31mred"' })] },
            { text: 'fine' },
          ],
        },
        {
          match: 'gone',
          steps: [
            { calls: [call('Bash', { command: 'touch here' })] },
            {
              calls: [
                call('Bash', { command: 'pwd' }),
                call('Glob', { pattern: '*' }),
                call('Write', { file_path: 'a.txt', content: 'a' }),
              ],
            },
            { text: 'gone indeed' },
          ],
        },
        {
          match: 'damage',
          steps: [{ calls: [call('Bash', { command: 'echo one' })] }, { text: 'one' }, { text: 'two' }],
        },
        { match: 'silence', steps: [{ calls: [call('Bash', { command: 'true' })] }, { text: 'quiet' }] },
      ],
    });
  });
  afterAll(() => r.close());

  const free = () => ({
    ...RULES,
    mode: 'acceptEdits' as const,
    allow: [{ text: 'Bash', tool: 'Bash', source: { kind: 'cli' as const, base: r.dir } }],
  });
  const results = async (id: string): Promise<ToolResultBlock[]> =>
    (await r.messages(id)).flatMap((message) =>
      message.content.filter((block): block is ToolResultBlock => block.type === 'tool_result'),
    );

  it('gets a result that says what to do for an unknown tool and for input that does not parse', async () => {
    const id = await r.start('odd calls', { rules: free() });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    const [unknown, read, bash] = await results(id);
    expect(unknown!.content).toMatch(/^No such tool: Nope\. Tools you have: .*Bash/);
    expect(read!.content).toContain('file_path');
    expect(bash!.content).toContain('command');
    expect(r.refused()).toEqual([]);
  });

  it('keeps twenty megabytes of output in a file and hands the model its start', async () => {
    const id = await r.start('huge', { rules: free() });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    const [result] = await results(id);
    const text = result!.content as string;
    expect(text).toMatch(
      /^<persisted-output>\nOutput too large \(19\.1 MB\)\. Full output saved to: (\S+)\n\nPreview \(first 2\.0 KB\):\nnightly\n/,
    );
    const path = /saved to: (\S+)/.exec(text)![1]!;
    expect(readFileSync(path)).toHaveLength(19_999_999); // less the last line end
  });

  it('cleans binary output so that the next request is accepted, and names what said nothing', async () => {
    const id = await r.start('binary', { rules: free() });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect((await results(id))[0]!.content).toContain('red');
    const quiet = await r.start('silence', { rules: free() });
    await r.settled(quiet);
    expect((await results(quiet))[0]!.content).toBe('(Bash completed with no output)');
    expect(r.refused()).toEqual([]);
  });

  it('is told when the workspace is deleted under the job', async () => {
    const dir = join(r.dir, 'doomed');
    mkdirSync(dir);
    const id = await r.start('gone', { dir, rules: { ...RULES, mode: 'default' } });
    await r.event(id, 'prompt.opened');
    rmSync(dir, { recursive: true });
    await r.client.signal(id, 'answerPermission', { id: `${id}:1`, behavior: 'allow' });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    const told = await results(id);
    expect(told.map((result) => result.is_error)).toEqual([true, true, true, true]);
    for (const result of told) expect(result.content).toContain(`The workspace ${dir} does not exist any more`);
  });

  it('notices a damaged blob, names it, and fails the job instead of going on with something else', async () => {
    const id = await r.start('damage', { rules: free(), stay: true });
    await r.settled(id);
    const folder = join(r.home.jobs, id, 'blobs');
    for (const sub of readdirSync(folder)) {
      for (const name of readdirSync(join(folder, sub))) {
        chmodSync(join(folder, sub, name), 0o600);
        writeFileSync(join(folder, sub, name), 'flipped');
      }
    }
    await r.killWorkers();
    await r.startWorker();
    await r.client.send(id, 'go on');
    await expect.poll(async () => (await r.client.describe(id)).status, { timeout: 40_000 }).toBe('failed');
    expect((await r.client.describe(id)).text ?? JSON.stringify(r.events(id).at(-1))).toMatch(/does not have its hash/);
  });
});
