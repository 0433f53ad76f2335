import { describe, expect, it } from 'vitest';
import { apply, createTimeline, foldEvents } from '../../src/core/timeline.ts';
import { liveOf, toJson, totals } from '../../src/core/timeline-json.ts';
import type { JobEvent } from '../../src/shapes/event.ts';
import type { Usage } from '../../src/shapes/message.ts';
import type { DecisionReason } from '../../src/shapes/permission.ts';

const T0 = Date.UTC(2026, 0, 5);
const usage: Usage = { input: 10, output: 5, cacheRead: 3, cacheWrite5m: 2, cacheWrite1h: 1 };
type Body<E> = E extends unknown ? Omit<E, 'at'> : never;

/** Events one second apart. */
const log = (...bodies: Body<JobEvent>[]): JobEvent[] => bodies.map((body, n) => ({ at: T0 + n * 1_000, ...body }));
const started = (step = 1, turn = 1): Body<JobEvent> => ({ kind: 'model.started', turn, step, attempt: 1 });
const reply = (
  step: number,
  ids: string[],
  more: Partial<Extract<JobEvent, { kind: 'model.ended' }>> = {},
): Body<JobEvent> => ({
  kind: 'model.ended',
  turn: 1,
  step,
  text: `reply ${step}`,
  calls: ids.map((id, index) => ({
    index,
    id,
    name: 'Bash',
    brief: `brief ${id}`,
    safe: false,
    input: { command: id },
  })),
  stop: ids.length > 0 ? 'tool_use' : 'end_turn',
  usage,
  spent: 1_500,
  ...more,
});
const begin = (step: number, index: number, id: string, owner = 1): Body<JobEvent> => ({
  kind: 'call.started',
  turn: 1,
  step,
  index,
  id,
  name: 'Bash',
  brief: `brief ${id}`,
  owner,
});
const reason: DecisionReason = { kind: 'rule', rule: 'Bash(ls:*)', source: 'cli', behavior: 'allow' };
const decided = (step: number, index: number): Body<JobEvent> => ({
  kind: 'call.decided',
  turn: 1,
  step,
  index,
  behavior: 'allow',
  reason,
  text: 'allowed by the rule Bash(ls:*)',
});
const end = (step: number, index: number): Body<JobEvent> => ({
  kind: 'call.ended',
  turn: 1,
  step,
  index,
  isError: false,
  outcome: 'ok',
  bytes: 12,
  preview: 'out',
  path: '/p',
});
const opened: Body<JobEvent> = {
  kind: 'job.opened',
  title: 't',
  dir: '/d',
  model: 'm',
  mode: 'default',
  warnings: ['w'],
};
const turn: Body<JobEvent> = { kind: 'turn.started', turn: 1, input: 'prompt' };

describe('timeline', () => {
  const whole = log(
    opened,
    turn,
    started(),
    reply(1, ['a', 'b']),
    begin(1, 0, 'a'),
    decided(1, 0),
    end(1, 0),
    begin(1, 1, 'b'),
    decided(1, 1),
    end(1, 1),
    started(2),
    reply(2, []),
    { kind: 'job.closed', status: 'done', spent: 3_000 },
  );

  it('tells what was done, by which rule and what it cost', () => {
    const timeline = foldEvents(whole);
    expect(timeline).toMatchObject({ title: 't', status: 'done', warnings: ['w'] });
    expect(totals(timeline)).toEqual({
      steps: 2,
      spent: 3_000,
      usage: { input: 20, output: 10, cacheRead: 6, cacheWrite5m: 4, cacheWrite1h: 2 },
    });
    const [first] = toJson(timeline).turns;
    expect(first).toMatchObject({
      n: 1,
      status: 'answered',
      input: 'prompt',
      startedAt: '2026-01-05T00:00:01.000Z',
      endedAt: '2026-01-05T00:00:11.000Z',
    });
    expect(first!.steps.map(({ n, costUsd, text }) => [n, costUsd, text])).toEqual([
      [1, 0.0015, 'reply 1'],
      [2, 0.0015, 'reply 2'],
    ]);
    expect(first!.steps[0]!.calls[0]).toEqual({
      id: 'a',
      index: 0,
      name: 'Bash',
      brief: 'brief a',
      input: { command: 'a' },
      state: 'yielded',
      isError: false,
      outcome: 'ok',
      decision: { behavior: 'allow', reason: 'allowed by the rule Bash(ls:*)' },
      owners: 1,
      startedAt: '2026-01-05T00:00:04.000Z',
      endedAt: '2026-01-05T00:00:06.000Z',
      result: { bytes: 12, preview: 'out', path: '/p' },
    });
  });

  it('is the same when each event comes twice, and event by event', () => {
    const timeline = createTimeline();
    for (const event of whole) {
      apply(timeline, event);
      apply(timeline, structuredClone(event));
    }
    expect(timeline).toEqual(foldEvents(whole));
  });

  it('has no decision for a call that was never decided', () => {
    const { turns } = toJson(
      foldEvents(
        log(turn, started(), reply(1, ['a']), begin(1, 0, 'a'), {
          ...end(1, 0),
          isError: true,
          outcome: 'error',
        } as Body<JobEvent>),
      ),
    );
    expect(turns[0]!.steps[0]!.calls[0]).toMatchObject({
      decision: null,
      isError: true,
      outcome: 'error',
      state: 'completed',
    });
  });

  it('counts owners and keeps the first start over a crash', () => {
    const timeline = foldEvents(
      log(turn, started(), reply(1, ['a']), begin(1, 0, 'a'), begin(1, 0, 'a', 2), begin(1, 0, 'a', 1)),
    );
    expect(toJson(timeline).turns[0]!.steps[0]!.calls[0]).toMatchObject({
      owners: 2,
      state: 'executing',
      startedAt: '2026-01-05T00:00:03.000Z',
      endedAt: null,
      result: null,
      isError: null,
    });
  });

  it('shows what is live: text of the attempt that runs, running calls with progress, questions', () => {
    const say = (text: string, thinking?: true): Body<JobEvent> => ({
      kind: 'model.text',
      turn: 1,
      step: 1,
      text,
      ...(thinking ? { thinking } : {}),
    });
    const timeline = createTimeline();
    const take = (...bodies: Body<JobEvent>[]): void => log(...bodies).forEach((event) => apply(timeline, event));
    take(
      turn,
      started(),
      say('lost'),
      { kind: 'model.started', turn: 1, step: 1, attempt: 2 },
      say('hm', true),
      say('Now '),
      say('I'),
    );
    expect(liveOf(timeline)).toEqual({
      turn: 1,
      step: 1,
      running: [],
      asking: [],
      model: { attempt: 2, since: T0 + 3_000, text: 'Now I', thinking: 'hm' },
    });
    take(reply(1, ['a', 'b']), begin(1, 0, 'a'), {
      kind: 'call.progress',
      turn: 1,
      step: 1,
      index: 0,
      text: '50%',
      bytes: 3,
    });
    take(begin(1, 1, 'b'), {
      kind: 'call.asked',
      turn: 1,
      step: 1,
      index: 1,
      key: 'k',
      text: 'why',
      suggestions: ['Bash(b)'],
    });
    take({ kind: 'prompt.opened', id: 'j:1', key: 'k', tool: 'Bash', brief: 'b', since: T0 });
    const live = liveOf(timeline);
    expect(live.model).toBeUndefined();
    expect(live.running.map(({ id, progress }) => [id, progress?.text])).toEqual([['a', '50%']]);
    expect(live.asking.map(({ id, asked }) => [id, asked?.text, asked?.suggestions])).toEqual([
      ['b', 'why', ['Bash(b)']],
    ]);
    expect(timeline.prompts.map(({ id }) => id)).toEqual(['j:1']);
    take(decided(1, 1), end(1, 0));
    expect(timeline.prompts).toEqual([]);
    expect(liveOf(timeline).running.map(({ id }) => id)).toEqual(['b']);
  });

  it('closes a question when it is answered', () => {
    const open: Body<JobEvent> = { kind: 'prompt.opened', id: 'j:1', key: 'k', tool: 'Bash', brief: 'b', since: T0 };
    expect(foldEvents(log(open, { kind: 'prompt.answered', id: 'j:1', behavior: 'deny', used: true })).prompts).toEqual(
      [],
    );
    expect(
      foldEvents(log(open, { kind: 'prompt.answered', id: 'j:2', behavior: 'deny', used: false })).prompts,
    ).toHaveLength(1);
  });

  it('tells of background commands: what runs, and how each ended, once', () => {
    const place = { turn: 1, step: 2, index: 0 };
    const begun: Body<JobEvent> = {
      kind: 'task.started',
      id: 'shell-1-2-0',
      task: 'shell',
      brief: 'npm test',
      outputFile: '/o',
      ...place,
    };
    const ended: Body<JobEvent> = {
      kind: 'task.ended',
      id: 'shell-1-2-0',
      status: 'failed',
      exitCode: 1,
      summary: 'failed with exit code 1',
    };
    const running = { id: 'shell-1-2-0', kind: 'shell', brief: 'npm test', startedAt: T0, outputFile: '/o' };
    expect(foldEvents(log(begun, begun)).tasks).toEqual([{ ...running, status: 'running' }]);
    const late = { ...ended, status: 'lost' as const };
    const timeline = foldEvents(log(begun, ended, late, { ...ended, id: 'other' }));
    expect(timeline.tasks).toEqual([
      { ...running, status: 'failed', exitCode: 1, summary: 'failed with exit code 1', endedAt: T0 + 1_000 },
    ]);
    expect(toJson(timeline).tasks).toEqual([
      {
        id: 'shell-1-2-0',
        kind: 'shell',
        status: 'failed',
        brief: 'npm test',
        startedAt: '2026-01-05T00:00:00.000Z',
        endedAt: '2026-01-05T00:00:01.000Z',
        outputFile: '/o',
      },
    ]);
    expect(toJson(foldEvents(log(begun))).tasks).toMatchObject([{ status: 'running', endedAt: null }]);
  });

  it('says what the job waits for, until it goes on', () => {
    const wait: Body<JobEvent> = { kind: 'job.waiting', why: 'rate_limit', until: T0 + 5, text: 'limit' };
    expect(foldEvents(log(opened, wait))).toMatchObject({
      status: 'waiting',
      waiting: { why: 'rate_limit', until: T0 + 5, since: T0 + 1_000 },
    });
    for (const next of [started(), { kind: 'job.resumed' as const }]) {
      const timeline = foldEvents(log(opened, wait, next));
      expect([timeline.status, timeline.waiting]).toEqual(['running', undefined]);
    }
  });

  it('counts a request that failed once, and what it cost', () => {
    const failed: Body<JobEvent> = { kind: 'model.failed', turn: 1, step: 1, error: '529', until: null, spent: 200 };
    const events = log(turn, started(), failed, started(), failed, started(), reply(1, []));
    const timeline = foldEvents([...events.slice(0, 3), events[2]!, ...events.slice(3)]);
    expect(timeline.turns[0]!.steps[0]!.failures).toHaveLength(2);
    expect(totals(timeline).spent).toBe(1_900);
  });

  it('joins replies of one step that were cut at a limit, and takes the last of two for one request', () => {
    const cut = reply(1, [], { text: 'one ', stop: 'max_tokens' });
    const joined = foldEvents(log(turn, started(), cut, started(), reply(1, ['a'], { text: 'two' })));
    expect(toJson(joined).turns[0]!.steps[0]).toMatchObject({ text: 'one two', costUsd: 0.003, calls: [{ id: 'a' }] });
    expect(joined.turns[0]!.status).toBe('running');
    const replaced = foldEvents(log(turn, started(), reply(1, ['a']), started(), reply(1, ['b'])));
    expect(toJson(replaced).turns[0]!.steps[0]).toMatchObject({
      costUsd: 0.0015,
      calls: [{ id: 'b', state: 'queued' }],
    });
  });

  it('keeps what an early call did before its reply was whole', () => {
    const [call] = toJson(foldEvents(log(turn, started(), begin(1, 0, 'a'), end(1, 0), reply(1, ['a'])))).turns[0]!
      .steps[0]!.calls;
    expect(call).toMatchObject({ id: 'a', input: { command: 'a' }, state: 'completed', outcome: 'ok' });
  });

  it('takes a call without an end for cancelled once its step is behind', () => {
    const calls = (events: JobEvent[]): unknown[] =>
      toJson(foldEvents(events)).turns[0]!.steps[0]!.calls.map(({ state, outcome, result }) => [
        state,
        outcome,
        result?.bytes,
      ]);
    const open = [turn, started(), reply(1, ['a', 'b']), begin(1, 0, 'a'), end(1, 0)];
    expect(calls(log(...open))).toEqual([
      ['completed', 'ok', 12],
      ['queued', null, undefined],
    ]);
    const behind = [
      ['yielded', 'ok', 12],
      ['yielded', 'cancelled', 0],
    ];
    expect(calls(log(...open, { kind: 'turn.started', turn: 2, input: 'message' }, started(1, 2)))).toEqual(behind);
    expect(calls(log(...open, { kind: 'job.closed', status: 'cancelled', spent: 0 }))).toEqual(behind);
  });

  it('goes on after the job was closed, with the turn that was stopped and the next', () => {
    const timeline = foldEvents(
      log(opened, turn, started(), reply(1, ['a']), {
        kind: 'job.closed',
        status: 'stopped',
        why: 'usd',
        error: 'no money',
        spent: 1,
      }),
    );
    expect(timeline).toMatchObject({
      status: 'stopped',
      why: 'usd',
      error: 'no money',
      turns: [{ status: 'stopped' }],
    });
    for (const event of log({ kind: 'job.resumed' }, started(2))) apply(timeline, event);
    expect([timeline.status, timeline.why, timeline.turns[0]!.status]).toEqual(['running', undefined, 'running']);
    for (const event of log(started(1, 2))) apply(timeline, event);
    expect(timeline.turns.map(({ n, status }) => [n, status])).toEqual([
      [1, 'stopped'],
      [2, 'running'],
    ]);
  });

  it('counts lost events and leaves out kinds of a later version', () => {
    const later = JSON.parse('{"at":1,"kind":"later.kind"}') as JobEvent;
    expect(foldEvents([...log({ kind: 'events.lost', lines: 3, error: 'ENOSPC' }), later])).toMatchObject({
      lost: 3,
      turns: [],
    });
  });

  it('keeps what hooks decided, said or could not do, each once', () => {
    const hook = { kind: 'hook.ended', event: 'PreToolUse', hook: './check.sh', ms: 3, turn: 1, step: 1 } as const;
    const silent = { ...hook, status: 'ok', index: 0 } as const;
    const denies = { ...silent, decision: 'deny', text: 'not here' } as const;
    const fails = { ...silent, status: 'error', index: 1, text: 'exit code 1' } as const;
    const events = log(silent, denies, fails);
    expect(foldEvents([...events, ...events]).hooks).toMatchObject([
      { hook: './check.sh', index: 0, decision: 'deny', text: 'not here' },
      { hook: './check.sh', index: 1, status: 'error', text: 'exit code 1' },
    ]);
  });

  it('costs the same per event however long the job is', () => {
    const step = (n: number): JobEvent[] =>
      log(started(n), reply(n, [`c${n}`]), begin(n, 0, `c${n}`), decided(n, 0), end(n, 0));
    const timeline = createTimeline();
    const time = (from: number): number => {
      const began = performance.now();
      for (let n = from; n < from + 2_000; n++) for (const event of step(n)) apply(timeline, event);
      return performance.now() - began;
    };
    time(1);
    const early = time(2_001);
    for (let n = 1; n <= 5; n++) time(2_001 + n * 2_000);
    expect(time(14_001)).toBeLessThan(early * 5 + 100);
    expect(totals(timeline).steps).toBe(16_000);
  });
});
