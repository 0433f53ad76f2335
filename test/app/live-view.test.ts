import { expect, test } from 'vitest';
import { createLiveView } from '../../src/app/live-view.ts';
import { noPaint } from '../../src/app/paint.ts';
import { logLine } from '../../src/app/render-log.ts';
import type { JobEvent } from '../../src/shapes/event.ts';
import { at, sampleJob, upTo } from '../support/sample-job.ts';
import { usage } from '../support/usage.ts';

const place = { turn: 1, step: 1 };

function lines(events: JobEvent[]): string {
  const view = createLiveView('fix-it-x7k2', { width: 72, paint: noPaint });
  return events.flatMap((event) => view.take(event)).join('\n');
}

test('a job reads as text, calls, questions with their answers, and an end', () => {
  expect(`\n${lines(sampleJob)}\n`).toBe(`
fix-it-x7k2
/srv/app · claude-sonnet-5-5

I read the code first.
Two files.
  ✓ Read src/parse.ts                                               0.1s
  ✗ Grep parseDate                                        no match  0.4s
  ? Bash asks (fix-it-x7k2:1)
      command: rm -rf build && make
    no rule allows it
    nightshift allow fix-it-x7k2:1
    nightshift allow --always fix-it-x7k2:1   # Bash(make:*)
    nightshift allow --save fix-it-x7k2:1   # the same, kept for later jobs
    nightshift deny fix-it-x7k2:1 --message "…"
  fix-it-x7k2:1: allow by ann@desk
  a worker died in Bash; another one has it now
  ✓ Bash rm -rf build && make                               adopted  16s
Done.

done · 1m23s · $0.0106 · 1 turn
`);
});

test('events that come twice are printed once', () => {
  const once: JobEvent['kind'][] = ['call.started', 'model.text', 'job.closed', 'job.opened'];
  const twice = sampleJob.flatMap((event): JobEvent[] => (once.includes(event.kind) ? [event] : [event, event]));
  expect(lines(twice)).toBe(lines(sampleJob));
});

test('what stands below shows streamed text, running calls and what is waited for', () => {
  const view = createLiveView('fix-it-x7k2', { width: 72, paint: noPaint });
  let taken = 0;
  const below = (events: JobEvent[], now: number): string[] => {
    for (const event of events.slice(taken)) view.take(event);
    taken = events.length;
    return view.bottom(now);
  };
  expect(below(upTo('model.text', 2), at(1))).toEqual(['Two fi', '· step 1 · $0 · 1.0s · the model']);
  expect(below(upTo('call.started', 2), at(3))).toEqual([
    '  ● Read src/parse.ts                                               1.0s',
    '  ● Grep parseDate                                                  1.0s',
    '· step 1 · $0.0033 · 3.0s · calls',
  ]);
  expect(below(upTo('prompt.opened'), at(34))).toEqual([
    '· step 2 · $0.0069 · 34s · fix-it-x7k2:1 waits for your answer: 30s',
  ]);
  expect(below(upTo('call.progress'), at(70))).toEqual([
    '  ● Bash rm -rf build && make · cc b.c                              6.0s',
    '· step 2 · $0.0069 · 1m10s · calls',
  ]);
});

test('where nothing stands below, a call that takes long gets a line of its own, once', () => {
  const view = createLiveView('fix-it-x7k2', { width: 72, paint: noPaint });
  for (const event of upTo('call.started', 2)) view.take(event);
  expect(view.overdue(at(2.5))).toEqual([]);
  expect(view.overdue(at(3))).toEqual(['  ● Read src/parse.ts', '  ● Grep parseDate']);
  expect(view.overdue(at(9))).toEqual([]);
});

test('a reply that comes from the spool has no stream and is printed whole; a stream that was cut is told', () => {
  const events: JobEvent[] = [
    { at: at(0), kind: 'model.started', ...place, attempt: 1 },
    { at: at(0), kind: 'model.text', ...place, text: 'I star' },
    { at: at(1), kind: 'model.started', ...place, attempt: 2 },
    {
      at: at(2),
      kind: 'model.ended',
      ...place,
      text: 'I begin again.',
      calls: [],
      stop: 'end_turn',
      usage: usage({}),
      spent: 0,
    },
  ];
  expect(lines(events).split('\n')).toEqual(['I star', '  asked again (attempt 2)', 'I begin again.']);
});

test('waits, failed requests and ends that are not good say what to do', () => {
  const events: JobEvent[] = [
    { at: at(0), kind: 'model.failed', ...place, error: '529 overloaded', until: null, spent: 0 },
    { at: at(0), kind: 'job.waiting', why: 'credentials', until: null, text: 'the API refused the key' },
    { at: at(9), kind: 'job.resumed' },
    { at: at(60), kind: 'job.closed', status: 'stopped', why: 'usd', spent: 5_000_000 },
  ];
  expect(`\n${lines(events)}\n`).toBe(`
  ! model: 529 overloaded
‖ waits: the API refused the key
    export ANTHROPIC_API_KEY=… && nightshift up

stopped (usd) · 1m00s · $5.00 · 1 turn
nightshift resume fix-it-x7k2 --max-usd X
`);
});

test('escape sequences and marks that turn the writing never reach the terminal', () => {
  const call = { turn: 1, step: 1, index: 0 };
  const events: JobEvent[] = [
    {
      at: at(0),
      kind: 'call.started',
      ...call,
      id: 'a',
      name: 'Bash',
      brief: 'echo \u001b]0;title\u0007\u202ehi\u001b[2J',
      owner: 1,
    },
    {
      at: at(0),
      kind: 'call.ended',
      ...call,
      isError: true,
      outcome: 'error',
      bytes: 1,
      preview: '\u001b[31mred\u001b[0m\u009b1m',
    },
  ];
  expect(lines(events)).toMatch(/^ {2}✗ Bash echo hi +red1m {2}0\.0s$/);
});

test('a background command is told of when it goes on alone and when it ends, once each', () => {
  const began: JobEvent = {
    at: at(1),
    kind: 'task.started',
    id: 'shell-1-1-0',
    task: 'shell',
    brief: 'npm test',
    outputFile: '/o',
    turn: 1,
    step: 1,
    index: 0,
  };
  const summary = 'Background command "npm test" failed with exit code 1';
  const ended: JobEvent = { at: at(9), kind: 'task.ended', id: 'shell-1-1-0', status: 'failed', exitCode: 1, summary };
  expect(lines([began, began, ended, ended])).toBe(
    `  ↷ shell-1-1-0 goes on in the background\n  ↶ shell-1-1-0: ${summary}`,
  );
});

test('a message into the running turn is said once, when the model gets it', () => {
  const message = { at: at(1), kind: 'message.taken', ...place, id: 'm', text: 'the\nblue one' } as const;
  expect(lines([message, message])).toBe('> the blue one');
  expect(logLine(message)).toBe('2026-11-30T12:00:01.000Z 1.1 message.taken the blue one');
});

test('of a handler of a hook the command is cut short, never what came of it', () => {
  const hook = `cat > asked.json; echo '${JSON.stringify({ hookSpecificOutput: { decision: 'allow' } })}'`;
  const text = 'not done: entry 2 of updatedPermissions has no rules';
  const event = { at: at(1), kind: 'hook.ended', event: 'PermissionRequest', hook, status: 'ok', ms: 1, text } as const;
  expect(lines([event])).toBe(`  PermissionRequest hook cat > asked.jso…: ok · ${text}`);
  expect(lines([{ ...event, text: 'short' }])).toBe(
    `  PermissionRequest hook cat > asked.json; echo '{"hookSpec…: ok · short`,
  );
});

test('a notice comes before a sentence that streams, never into it', () => {
  const view = createLiveView('fix-it-x7k2', { width: 72, paint: noPaint });
  const text = (piece: string): string[] => view.take({ at: at(1), kind: 'model.text', ...place, text: piece });
  expect([...text('I read the '), ...view.note('stuck: the disk is full'), ...text('code first.\n')]).toEqual([
    '! stuck: the disk is full',
    'I read the code first.',
  ]);
});
