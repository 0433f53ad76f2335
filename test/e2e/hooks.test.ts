import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { identityOf } from '../../src/host/identity.ts';
import { appears } from '../support/appears.ts';
import { allow, deny, hookBench, hookEvents, print, resultsOf, say, textsOf } from '../support/hook-bench.ts';
import { type Rig, rig, RULES } from '../support/rig.ts';

const bash = (command: string) => ({ name: 'Bash', input: { command } });
let r: Rig;

beforeAll(async () => {
  r = await rig({
    jobs: [
      { match: 'one call', steps: [{ calls: [bash('echo ran >> out.txt')] }, { text: 'went on' }] },
      {
        match: 'two calls',
        steps: [{ calls: [bash('echo a >> out.txt'), bash('echo b >> out.txt')] }, { text: 'no' }],
      },
      { match: 'side by side', steps: [{ calls: ['ls', 'pwd', 'ls -a'].map(bash) }, { text: 'went on' }] },
      { match: 'fails', steps: [{ calls: [bash('echo why; exit 3')] }, { text: 'went on' }] },
      {
        match: 'wrong',
        steps: [
          {
            calls: [
              { name: 'Nothing', input: {} },
              { name: 'Bash', input: { cmd: 1 } },
            ],
          },
          { text: 'went on' },
        ],
      },
      {
        match: 'twice',
        steps: [{ calls: [bash('echo 1 >> out.txt')] }, { calls: [bash('echo 2 >> out.txt')] }, { text: 'x' }],
      },
    ],
  });
});
afterAll(() => r.close());

describe('a PreToolUse hook', () => {
  const decide = (permissionDecision: string, more: object = {}) => say('PreToolUse', { permissionDecision, ...more });

  it('that prints something else before its JSON decides nothing', async () => {
    const bench = hookBench(r);
    const id = await bench.run('one call', [bench.hook('PreToolUse', `echo hello; echo '{"decision":"block"}'`)]);
    expect(bench.lines('out.txt')).toEqual(['ran']);
    expect(hookEvents(r, id)).toMatchObject([{ event: 'PreToolUse', status: 'ok', turn: 1, step: 1, index: 0 }]);
  });

  it('that must work blocks when it does not', async () => {
    const bench = hookBench(r);
    const id = await bench.run('one call', [bench.hook('PreToolUse', 'exit 1', { onFailure: 'block' })]);
    expect(bench.lines('out.txt')).toEqual([]);
    expect((await resultsOf(r, id))[0]!.content).toContain('a hook that must work did not');
  });

  it('denies, and the model hears why', async () => {
    const bench = hookBench(r);
    const id = await bench.run('one call', [
      bench.hook('PreToolUse', decide('deny', { permissionDecisionReason: 'use the other file' })),
      bench.hook('PreToolUse', decide('allow')),
    ]);
    expect(bench.lines('out.txt')).toEqual([]);
    expect((await resultsOf(r, id))[0]).toMatchObject({
      is_error: true,
      content: expect.stringContaining('use the other file'),
    });
    expect((await r.record(id)).result).toBe('went on');
  });

  it('denies by exit code 2', async () => {
    const bench = hookBench(r);
    const id = await bench.run('one call', [bench.hook('PreToolUse', 'echo "not today" >&2; exit 2')]);
    expect(bench.lines('out.txt')).toEqual([]);
    expect((await resultsOf(r, id))[0]!.content).toContain('not today');
  });

  it('allows what would be asked, and nothing that a rule denies', async () => {
    const bench = hookBench(r);
    await bench.run('one call', [bench.hook('PreToolUse', decide('allow'))], { rules: RULES });
    expect(bench.lines('out.txt')).toEqual(['ran']);
    const other = hookBench(r);
    await other.run('one call', [other.hook('PreToolUse', decide('allow'))], { rules: deny('Bash(echo *)') });
    expect(other.lines('out.txt')).toEqual([]);
  });

  it.each(['ask', 'defer'])(
    'that says %s leaves it to a person, and does not run again for the answer',
    async (word) => {
      const bench = hookBench(r);
      const id = await bench.start('one call', [
        bench.hook('PreToolUse', `echo x >> hooked.txt\n${decide(word, { additionalContext: 'think twice' })}`),
      ]);
      await r.event(id, 'prompt.opened');
      await r.client.signal(id, 'answerPermission', { id: `${id}:1`, behavior: 'allow' });
      await r.settled(id);
      expect(bench.lines('out.txt')).toEqual(['ran']);
      expect(bench.lines('hooked.txt')).toEqual(['x']);
      expect((await textsOf(r, id)).join()).toContain('PreToolUse hook: think twice');
    },
  );

  it('rewrites the input', async () => {
    const bench = hookBench(r);
    await bench.run('one call', [
      bench.hook('PreToolUse', say('PreToolUse', { updatedInput: { command: 'echo rewritten >> out.txt' } })),
    ]);
    expect(bench.lines('out.txt')).toEqual(['rewritten']);
  });

  it('can rewrite an input neither past a rule nor past its tool', async () => {
    const bench = hookBench(r);
    const rewrite = bench.hook('PreToolUse', decide('allow', { updatedInput: { command: 'rm -f out.txt' } }));
    await bench.run('one call', [rewrite], { rules: deny('Bash(rm *)') });
    writeFileSync(bench.path('out.txt'), 'still here\n');
    const id = await bench.run('one call', [rewrite], { rules: deny('Bash(rm *)') });
    expect(bench.lines('out.txt')).toEqual(['still here']);
    expect((await resultsOf(r, id))[0]!.content).toContain('Bash(rm *)');
    const broken = await bench.run('one call', [bench.hook('PreToolUse', decide('allow', { updatedInput: { n: 1 } }))]);
    expect((await resultsOf(r, broken))[0]!.content).toContain('A PreToolUse hook changed the input');
  });

  it('that makes a call unsafe beside others has it run alone', async () => {
    const bench = hookBench(r);
    const id = await bench.run('side by side', [
      bench.hook(
        'PreToolUse',
        `echo x >> hooked.txt\ncase $input in *'"pwd"'*) ${say('PreToolUse', { updatedInput: { command: 'echo alone >> out.txt' } })}\n;; esac`,
      ),
    ]);
    expect(bench.lines('out.txt')).toEqual(['alone']);
    expect(bench.lines('hooked.txt')).toEqual(['x', 'x', 'x']);
    const ended = r.events(id).flatMap((event) => (event.kind === 'call.ended' ? event.index : []));
    expect(ended.at(-1)).toBe(1);
    expect((await resultsOf(r, id)).filter((result) => result.is_error)).toEqual([]);
  });

  it('lets a person make a call unsafe beside others, without asking twice', async () => {
    const bench = hookBench(r);
    const id = await bench.start('side by side', [
      bench.hook('PreToolUse', `case $input in *'"pwd"'*) ${decide('ask')}\n;; esac`),
    ]);
    await r.event(id, 'prompt.opened');
    const input = await r.client.store.blobs(id).put(JSON.stringify({ command: 'echo edited >> out.txt' }));
    await r.client.signal(id, 'answerPermission', { id: `${id}:1`, behavior: 'allow', input });
    await r.settled(id);
    expect(bench.lines('out.txt')).toEqual(['edited']);
    expect(r.events(id).filter((event) => event.kind === 'prompt.opened')).toHaveLength(1);
    const ended = r.events(id).flatMap((event) => (event.kind === 'call.ended' ? event.index : []));
    expect(ended.at(-1)).toBe(1);
  });

  it('that stops the turn lets the step end, with all results kept', async () => {
    const bench = hookBench(r);
    const id = await bench.run('two calls', [
      bench.hook(
        'PreToolUse',
        `case $input in *'echo a'*) ${print({ continue: false, stopReason: 'enough for today' })}\n;; esac`,
      ),
    ]);
    expect(await r.client.describe(id)).toMatchObject({ status: 'stopped', why: 'hook' });
    expect(bench.lines('out.txt')).toEqual(['a', 'b']);
    expect((await resultsOf(r, id)).map((result) => result.is_error ?? false)).toEqual([false, false]);
    expect((await textsOf(r, id)).at(-1)).toBe('hook_stopped_continuation: enough for today');
  });

  it('runs only for the calls that its matcher and its condition mean', async () => {
    const bench = hookBench(r);
    const mark = (name: string) => `echo ${name} >> hooked.txt`;
    await bench.run('one call', [
      bench.hook('PreToolUse', mark('matched'), { matcher: 'Ba.h', if: 'Bash(echo *)' }),
      bench.hook('PreToolUse', mark('other tool'), { matcher: 'Write' }),
      bench.hook('PreToolUse', mark('other command'), { if: 'Bash(git *)' }),
    ]);
    expect(bench.lines('hooked.txt')).toEqual(['matched']);
  });

  it('gets the call, and neither keys nor the addresses of the service', async () => {
    const bench = hookBench(r);
    const id = await bench.run('one call', [
      bench.hook('PreToolUse', 'printf %s "$input" > input.json; env > env.txt; pwd > pwd.txt'),
    ]);
    expect(JSON.parse(bench.lines('input.json').join('\n'))).toMatchObject({
      session_id: id,
      hook_event_name: 'PreToolUse',
      cwd: bench.dir,
      permission_mode: 'default',
      tool_name: 'Bash',
      tool_input: { command: 'echo ran >> out.txt' },
      tool_use_id: expect.any(String),
    });
    const env = bench.lines('env.txt');
    expect(env).toContain('CLAUDECODE=1');
    expect(env).toContain(`CLAUDE_PROJECT_DIR=${bench.dir}`);
    expect(env.filter((line) => /^(ANTHROPIC|TEMPORAL|NIGHTSHIFT_(?!CALL))/.test(line))).toEqual([]);
    expect(bench.lines('pwd.txt')).toEqual([bench.dir]);
  });

  it("gets no key of the runner's from an output, and can give none to the model", async () => {
    const bench = hookBench(r);
    const id = await bench.run('one call', [
      bench.hook(
        'PreToolUse',
        say('PreToolUse', { updatedInput: { command: 'echo "it is test-key"' }, additionalContext: 'or test-key' }),
      ),
      bench.hook('PostToolUse', 'printf %s "$input" > input.json'),
    ]);
    const input = JSON.parse(bench.lines('input.json').join('\n')) as { tool_response: { stdout: string } };
    expect(input.tool_response.stdout).toBe('it is [key]');
    expect((await textsOf(r, id)).join('\n')).toContain('PreToolUse hook: or [key]');
  });

  it('does not run for a call that its tool refuses, nor does any other', async () => {
    const bench = hookBench(r);
    const events = ['PreToolUse', 'PostToolUse', 'PostToolUseFailure', 'PermissionDenied'] as const;
    const id = await bench.run(
      'wrong',
      events.map((event) => bench.hook(event, `echo ${event} >> hooked.txt`)),
    );
    expect(await resultsOf(r, id)).toHaveLength(2);
    expect(bench.lines('hooked.txt')).toEqual([]);
  });

  it('that edits the settings changes nothing for its own job', async () => {
    const bench = hookBench(r);
    await bench.run('twice', [
      bench.hook(
        'PreToolUse',
        `echo x >> hooked.txt; mkdir -p .claude; echo '{"disableAllHooks":true,"hooks":{}}' > .claude/settings.json`,
      ),
    ]);
    expect(bench.lines('hooked.txt')).toEqual(['x', 'x']);
    expect(bench.lines('out.txt')).toEqual(['1', '2']);
  });

  it('that is cut with its job decides nothing, and the call never begins', async () => {
    const bench = hookBench(r);
    const id = await bench.start('one call', [
      bench.hook('PreToolUse', `${decide('allow')}\necho $$ > pid.new; mv pid.new pid; sleep 1000`),
    ]);
    const pid = await appears(bench.path('pid'));
    await r.client.cancel(id);
    await r.event(id, 'job.closed');
    expect(identityOf(Number(pid))).toBeUndefined();
    expect(bench.lines('out.txt')).toEqual([]);
    expect(hookEvents(r, id)).toMatchObject([{ status: 'cancelled' }]);
    expect((await resultsOf(r, id))[0]).toMatchObject({
      is_error: true,
      content: 'Cancelled: a person cancelled the job. It was cancelled before it had begun.',
    });
  });

  it('with more to say than fits is kept in a file for the model', async () => {
    const bench = hookBench(r);
    const id = await bench.run('one call', [
      bench.hook(
        'PreToolUse',
        `printf '{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"%s"}}' "$(head -c 20000 /dev/zero | tr '\\0' x)"`,
      ),
    ]);
    const said = (await textsOf(r, id)).find((text) => text.includes('PreToolUse hook'))!;
    const path = /saved to: (\S+)/.exec(said)![1]!;
    expect(said.length).toBeLessThan(3_000);
    expect(readFileSync(path, 'utf8')).toBe('x'.repeat(20_000));
  });

  it('that runs aside is waited for by nobody, and does not outlive the job', async () => {
    const bench = hookBench(r);
    await bench.run('one call', [
      bench.hook('PreToolUse', 'echo $$ > aside.pid; echo "{\\"decision\\":\\"block\\"}"; sleep 1000', { async: true }),
      bench.hook('PreToolUse', 'until [ -s aside.pid ]; do :; done'),
    ]);
    expect(bench.lines('out.txt')).toEqual(['ran']);
    const [pid] = bench.lines('aside.pid');
    expect(identityOf(Number(pid))).toBeUndefined();
  });
});

describe('a hook after a call', () => {
  it('sees the output, says something about it, and puts another one in its place', async () => {
    const bench = hookBench(r);
    const id = await bench.run('one call', [
      bench.hook(
        'PreToolUse',
        say('PreToolUse', { updatedInput: { command: 'echo shown' }, additionalContext: 'before' }),
      ),
      bench.hook('PostToolUse', 'printf %s "$input" > input.json; echo "look at it" >&2; exit 2'),
      bench.hook(
        'PostToolUse',
        say('PostToolUse', { updatedToolOutput: { stdout: 'redacted' }, additionalContext: 'after' }),
      ),
      bench.hook('PostToolUse', print({ decision: 'block', reason: 'run the linter' })),
      bench.hook('PostToolUseFailure', 'echo x > failed.txt'),
    ]);
    expect(JSON.parse(bench.lines('input.json').join('\n'))).toMatchObject({
      tool_input: { command: 'echo shown' },
      tool_response: { stdout: 'shown', stderr: '', interrupted: false },
      duration_ms: expect.any(Number),
    });
    expect((await resultsOf(r, id))[0]!.content).toBe('redacted');
    const said = (await textsOf(r, id)).join('\n');
    for (const text of ['before', 'look at it', 'after', 'run the linter']) expect(said).toContain(text);
    expect(bench.lines('failed.txt')).toEqual([]);
  });

  it('of a failed call gets the error', async () => {
    const bench = hookBench(r);
    const id = await bench.run('fails', [
      bench.hook(
        'PostToolUseFailure',
        `printf %s "$input" > input.json\n${say('PostToolUseFailure', { additionalContext: 'known' })}`,
      ),
      bench.hook('PostToolUse', 'echo x > ok.txt'),
    ]);
    const input = JSON.parse(bench.lines('input.json').join('\n')) as { error: string };
    expect(input.error).toContain('why');
    expect(input.error).toContain('3');
    expect((await textsOf(r, id)).join()).toContain('PostToolUseFailure hook: known');
    expect(bench.lines('ok.txt')).toEqual([]);
  });

  it('ends the turn, with the result kept', async () => {
    const bench = hookBench(r);
    const id = await bench.run('one call', [bench.hook('PostToolUse', print({ continue: false, stopReason: 'done' }))]);
    expect(await r.client.describe(id)).toMatchObject({ status: 'stopped', why: 'hook' });
    expect((await resultsOf(r, id))[0]!.is_error).toBeUndefined();
    expect((await textsOf(r, id)).at(-1)).toBe('hook_stopped_continuation: done');
  });
});

describe('a hook on a question', () => {
  const answer = (decision: object) => say('PermissionRequest', { decision });

  it('allows for the person', async () => {
    const bench = hookBench(r);
    const id = await bench.run(
      'one call',
      [bench.hook('PermissionRequest', `printf %s "$input" > input.json\n${answer({ behavior: 'allow' })}`)],
      { rules: RULES },
    );
    expect(bench.lines('out.txt')).toEqual(['ran']);
    expect(r.events(id).filter((event) => event.kind === 'prompt.opened')).toEqual([]);
    expect(JSON.parse(bench.lines('input.json').join())).toMatchObject({ permission_suggestions: expect.any(Array) });
    const decided = r.events(id).findLast((event) => event.kind === 'call.decided');
    expect(decided).toMatchObject({ behavior: 'allow', reason: { kind: 'hook', event: 'PermissionRequest' } });
  });

  it('allows no changed input past a rule', async () => {
    const bench = hookBench(r);
    const hook = bench.hook('PermissionRequest', answer({ behavior: 'allow', updatedInput: { command: 'rm -rf x' } }));
    const id = await bench.run('one call', [hook], { rules: deny('Bash(rm *)') });
    expect((await resultsOf(r, id))[0]!.content).toContain('Bash(rm *)');
  });

  it('denies for the person and ends the turn', async () => {
    const bench = hookBench(r);
    const hook = bench.hook('PermissionRequest', answer({ behavior: 'deny', message: 'never', interrupt: true }));
    const id = await bench.run('one call', [hook], { rules: RULES });
    expect(await r.client.describe(id)).toMatchObject({ status: 'stopped', why: 'denied' });
    expect((await resultsOf(r, id))[0]!.content).toContain('never');
  });

  it('is told when one is opened, without holding it up', async () => {
    const bench = hookBench(r);
    const id = await bench.start(
      'one call',
      [
        bench.hook('Notification', 'printf %s "$input" > input.json; mv input.json told.json', {
          matcher: 'permission_prompt',
        }),
      ],
      { rules: RULES },
    );
    await r.event(id, 'prompt.opened');
    await r.event(id, 'hook.ended', (event) => event.event === 'Notification');
    expect(JSON.parse(bench.lines('told.json').join())).toMatchObject({
      notification_type: 'permission_prompt',
      message: expect.stringContaining('Bash'),
    });
    await r.client.signal(id, 'answerPermission', { id: `${id}:1`, behavior: 'deny' });
    await r.settled(id);
  });

  it('may let a denied call be tried again', async () => {
    const bench = hookBench(r);
    const hook = bench.hook(
      'PermissionDenied',
      `printf %s "$input" > input.json\n${say('PermissionDenied', { retry: true })}`,
    );
    const id = await bench.run('one call', [hook], { rules: deny('Bash') });
    expect((await resultsOf(r, id))[0]!.content).toContain('You may try this call again');
    expect(JSON.parse(bench.lines('input.json').join())).toMatchObject({ reason: expect.stringContaining('Bash') });
  });
});

describe('handlers of one event', () => {
  it('run at the same time, each once however often it is written', async () => {
    const bench = hookBench(r);
    const meet = (mine: string, other: string) => `echo x >> ${mine}; until [ -e ${other} ]; do :; done`;
    const [a, b] = [bench.hook('PreToolUse', meet('a', 'b')), bench.hook('PreToolUse', meet('b', 'a'))];
    await bench.run('one call', [a, b, { ...a, origin: 'another file' }], { rules: allow('Bash') });
    expect([bench.lines('a'), bench.lines('b')]).toEqual([['x'], ['x']]);
  });
});
