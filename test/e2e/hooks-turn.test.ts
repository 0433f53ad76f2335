import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { identityOf } from '../../src/host/identity.ts';
import { appears } from '../support/appears.ts';
import { hookBench, hookEvents, print, resultsOf, say, textsOf } from '../support/hook-bench.ts';
import { type Rig, rig } from '../support/rig.ts';

const answers = (n: number) => Array.from({ length: n }, (_, i) => ({ text: `answer ${i + 1}` }));
let r: Rig;

beforeAll(async () => {
  r = await rig({
    bodies: true,
    jobs: [
      { match: 'just answer', steps: answers(4) },
      { match: 'endless', steps: answers(12) },
      {
        match: 'work in between',
        steps: [
          { text: 'answer 1' },
          { calls: [{ name: 'Bash', input: { command: 'echo fixed >> out.txt' } }] },
          { text: 'answer 2' },
          { text: 'answer 3' },
        ],
      },
      { match: 'refused', steps: [{ text: 'never', fail: [{ status: 400, message: 'no such thing' }] }] },
    ],
  });
});
afterAll(() => r.close());

describe('a Stop hook', () => {
  it('keeps the turn going until it is content, and knows that it did', async () => {
    const bench = hookBench(r);
    const id = await bench.run('just answer', [
      bench.hook(
        'Stop',
        `printf '%s\\n' "$input" >> inputs.jsonl\n[ -e done.txt ] || { : > done.txt; echo "the tests fail" >&2; exit 2; }`,
      ),
    ]);
    expect((await r.record(id)).result).toBe('answer 2');
    expect((await textsOf(r, id)).at(-1)).toContain('Stop hook: the tests fail');
    const inputs = bench.lines('inputs.jsonl').map((line) => JSON.parse(line) as object);
    expect(inputs).toMatchObject([
      { stop_hook_active: false, last_assistant_message: 'answer 1' },
      { stop_hook_active: true, last_assistant_message: 'answer 2' },
    ]);
  });

  it('may say something instead of an objection', async () => {
    const bench = hookBench(r);
    const hook = bench.hook(
      'Stop',
      `mkdir once 2>/dev/null && ${say('Stop', { additionalContext: 'one more thing' })}`,
    );
    const id = await bench.run('just answer', [hook]);
    expect((await r.record(id)).result).toBe('answer 2');
  });

  it('that never is content is overruled after eight times in a row', async () => {
    const bench = hookBench(r);
    const id = await bench.run('endless', [bench.hook('Stop', print({ decision: 'block', reason: 'again' }))]);
    expect(await r.client.describe(id)).toMatchObject({ status: 'done' });
    expect((await r.record(id)).result).toBe('answer 9');
    expect(hookEvents(r, id).at(-1)).toMatchObject({
      event: 'Stop',
      text: expect.stringContaining('8 times in a row'),
    });
  });

  it('is overruled when the job says so', async () => {
    const bench = hookBench(r);
    const hook = bench.hook('Stop', print({ decision: 'block', reason: 'again' }));
    const id = await bench.run('endless', [hook], { env: { CLAUDE_CODE_STOP_HOOK_BLOCK_CAP: '2' } });
    expect((await r.record(id)).result).toBe('answer 3');
  });

  it('counts anew when the model has worked in between', async () => {
    const bench = hookBench(r);
    const hook = bench.hook(
      'Stop',
      `printf '%s\\n' "$input" >> inputs.jsonl\n${print({ decision: 'block', reason: 'x' })}`,
    );
    const id = await bench.run('work in between', [hook], { env: { CLAUDE_CODE_STOP_HOOK_BLOCK_CAP: '1' } });
    expect((await r.record(id)).result).toBe('answer 3');
    expect(bench.lines('out.txt')).toEqual(['fixed']);
    const active = bench
      .lines('inputs.jsonl')
      .map((line) => (JSON.parse(line) as { stop_hook_active: boolean }).stop_hook_active);
    expect(active).toEqual([false, true, true]);
  });

  it('that wants no continuation lets the answer stand', async () => {
    const bench = hookBench(r);
    const id = await bench.run('just answer', [
      bench.hook('Stop', print({ decision: 'block', reason: 'again' })),
      bench.hook('Stop', print({ continue: false })),
    ]);
    expect(await r.client.describe(id)).toMatchObject({ status: 'done' });
    expect((await r.record(id)).result).toBe('answer 1');
  });

  it('is cut by an interrupt, and the answer is kept', async () => {
    const bench = hookBench(r);
    const id = await bench.start('just answer', [bench.hook('Stop', 'echo $$ > pid.new; mv pid.new pid; sleep 1000')], {
      stay: true,
    });
    const pid = await appears(bench.path('pid'));
    await r.client.signal(id, 'interrupt', {});
    await r.settled(id);
    expect(await r.client.describe(id)).toMatchObject({ status: 'idle' });
    await r.client.cancel(id);
    await r.event(id, 'job.closed');
    expect(identityOf(Number(pid))).toBeUndefined();
    expect(JSON.stringify(await r.messages(id))).toContain('answer 1');
  });

  it('is replaced by StopFailure when the model could not be asked', async () => {
    const bench = hookBench(r);
    const id = await bench.run('refused', [
      bench.hook('Stop', 'echo x > stop.txt'),
      bench.hook('StopFailure', `printf %s "$input" > failure.json\n${print({ continue: false, decision: 'block' })}`, {
        matcher: 'invalid_request',
      }),
      bench.hook('StopFailure', 'echo x > other.txt', { matcher: 'rate_limit' }),
    ]);
    expect(await r.client.describe(id)).toMatchObject({ status: 'failed' });
    expect(bench.lines('stop.txt')).toEqual([]);
    expect(bench.lines('other.txt')).toEqual([]);
    expect(JSON.parse(bench.lines('failure.json').join())).toMatchObject({
      error: 'invalid_request',
      error_details: expect.stringContaining('no such thing'),
    });
  });
});

describe('a UserPromptSubmit hook', () => {
  it('adds what it prints to the prompt', async () => {
    const bench = hookBench(r);
    const id = await bench.run('just answer', [
      bench.hook('UserPromptSubmit', `printf %s "$input" > input.json; echo "branch: main"`),
    ]);
    expect(JSON.parse(bench.lines('input.json').join())).toMatchObject({ prompt: 'just answer' });
    const texts = await textsOf(r, id);
    expect(texts.slice(-2)).toEqual([
      'just answer',
      '<system-reminder>\nUserPromptSubmit hook: branch: main\n</system-reminder>',
    ]);
  });

  it('that refuses a prompt keeps it from the model', async () => {
    const bench = hookBench(r);
    const before = r.model.requests().length;
    const id = await bench.run('just answer, the key is 1234', [
      bench.hook('UserPromptSubmit', print({ decision: 'block', reason: 'there is a key in it' })),
    ]);
    expect(await r.client.describe(id)).toMatchObject({ status: 'stopped', why: 'hook' });
    expect((await r.record(id)).error).toBe('there is a key in it');
    expect(r.model.requests()).toHaveLength(before);
    expect(await r.messages(id)).toEqual([]);
  });

  it('that refuses a later message leaves the job as it was', async () => {
    const bench = hookBench(r);
    const hook = bench.hook('UserPromptSubmit', `case $input in *secret*) echo "no secrets" >&2; exit 2;; esac`);
    const id = await bench.start('just answer', [hook], { stay: true });
    await r.settled(id);
    const refused = r.event(id, 'hook.ended', (event) => event.decision === 'block');
    await r.client.send(id, 'a secret');
    await refused;
    await r.client.send(id, 'and now?');
    await r.event(id, 'model.ended', (event) => event.text === 'answer 2');
    await r.client.cancel(id);
    await r.event(id, 'job.closed');
    expect(JSON.stringify(await r.messages(id))).not.toContain('a secret');
    expect(JSON.stringify(await r.messages(id))).toContain('and now?');
  });

  it('may end the turn before the model is asked', async () => {
    const bench = hookBench(r);
    const before = r.model.requests().length;
    const id = await bench.run('just answer', [
      bench.hook('UserPromptSubmit', print({ continue: false, stopReason: 'closed on Sundays' })),
    ]);
    expect(await r.client.describe(id)).toMatchObject({ status: 'stopped', why: 'hook' });
    expect((await r.record(id)).error).toBe('closed on Sundays');
    expect(r.model.requests()).toHaveLength(before);
  });
});

describe('hooks of a session', () => {
  it('speak at its start, and run at its end and at every new start', async () => {
    const bench = hookBench(r);
    const hooks = [
      bench.hook('SessionStart', 'echo "node 20"; echo started >> log.txt', { matcher: 'startup' }),
      bench.hook('SessionStart', 'echo "welcome back"; echo resumed >> log.txt', { matcher: 'resume' }),
      bench.hook('SessionEnd', 'echo ended >> log.txt; echo "{\\"continue\\":false}"'),
    ];
    const id = await bench.run('just answer', hooks);
    expect(bench.lines('log.txt')).toEqual(['started', 'ended']);
    expect((await textsOf(r, id)).join('\n')).toContain('SessionStart hook: node 20');

    await r.client.send(id, 'and now?');
    await r.settled(id);
    expect(bench.lines('log.txt')).toEqual(['started', 'ended', 'resumed', 'ended']);
    const texts = (await textsOf(r, id)).join('\n');
    expect(texts).toContain('SessionStart hook: welcome back');
    expect(texts.match(/node 20/g)).toHaveLength(1);
    expect(await resultsOf(r, id)).toEqual([]);
  });

  it('may keep the job from beginning', async () => {
    const bench = hookBench(r);
    const before = r.model.requests().length;
    const id = await bench.run('just answer', [
      bench.hook('SessionStart', print({ continue: false, stopReason: 'the database is down' })),
    ]);
    expect(await r.client.describe(id)).toMatchObject({ status: 'stopped', why: 'hook' });
    expect((await r.record(id)).error).toBe('the database is down');
    expect(r.model.requests()).toHaveLength(before);
  });

  it('have little time at its end', async () => {
    const bench = hookBench(r);
    const id = await bench.run('just answer', [bench.hook('SessionEnd', 'sleep 1000')]);
    expect(hookEvents(r, id)).toMatchObject([{ event: 'SessionEnd', status: 'timeout' }]);
    expect(await r.client.describe(id)).toMatchObject({ status: 'done' });
  });

  it('leave nothing running behind', async () => {
    const bench = hookBench(r);
    await bench.run('just answer', [
      bench.hook(
        'SessionStart',
        'sh -c "echo \\$\\$ > pid; exec sleep 1000" >/dev/null 2>&1 & until [ -s pid ]; do :; done',
      ),
    ]);
    const [pid] = bench.lines('pid');
    expect(identityOf(Number(pid))).toBeUndefined();
  });
});
