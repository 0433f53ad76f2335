import { expect, test } from 'vitest';
import { rowOf } from '../../src/app/commands/ls.ts';
import { openJob } from '../../src/app/job-info.ts';
import { noPaint } from '../../src/app/paint.ts';
import { inboxLines } from '../../src/app/render-inbox.ts';
import { showLines } from '../../src/app/render-show.ts';
import { jobTable } from '../../src/app/render-table.ts';
import { columns } from '../../src/app/text.ts';
import { foldEvents } from '../../src/core/timeline.ts';
import type { JobEvent } from '../../src/shapes/event.ts';
import type { JobMemo } from '../../src/shapes/job.ts';
import { at, sampleJob, upTo } from '../support/sample-job.ts';

const memo: JobMemo = { title: 'Fix it', dir: '/srv/app', status: 'running', updatedAt: at(0), prompts: [], asked: 0 };

function show(events: JobEvent[], some: Partial<JobMemo>, now: number): string {
  const timeline = foldEvents(events);
  const row = rowOf(openJob('fix-it-x7k2', { ...memo, ...some }, at(0)), timeline);
  return `\n${showLines(row, timeline, { now, width: 76, paint: noPaint }).join('\n')}\n`;
}

test('a job that is done is shown with decisions, outcomes, costs and who had its calls', () => {
  expect(show(sampleJob, { status: 'done', updatedAt: at(83) }, at(900))).toBe(`
fix-it-x7k2  done
Fix it
/srv/app · claude-sonnet-5-5 · $0.0106 · 1m23s

turn 1 · prompt · answered
  step 1 · $0.0033 · 900 tokens in, 0% of it cached · 40 out
    I read the code first.
    Two files.
    ✓ Read src/parse.ts                                                 0.1s
        allow: It only reads. · 1.8 KB
    ✗ Grep parseDate                                          no match  0.4s
        20 B
  step 2 · $0.0036 · 1000 tokens in, 90% of it cached · 30 out
    ✓ Bash rm -rf build && make                               adopted  1m16s
        allow: ann@desk decided so. · 2 workers had it · 58.6 KB
  step 3 · $0.0037 · 1200 tokens in, 0% of it cached · 10 out
    Done.
`);
});

test('a job that asks is shown with its question and how to answer', () => {
  const asks = { status: 'waiting', why: 'permission', text: 'Bash: rm -rf build && make' } as const;
  const shown = show(upTo('prompt.opened'), asks, at(34));
  expect(shown).toContain('fix-it-x7k2  waiting (permission)\n');
  expect(shown.slice(shown.indexOf('\n  ? '))).toBe(`
  ? Bash asks (fix-it-x7k2:1)
      command: rm -rf build && make
    no rule allows it
    nightshift allow fix-it-x7k2:1
    nightshift allow --always fix-it-x7k2:1   # Bash(make:*)
    nightshift allow --save fix-it-x7k2:1   # the same, kept for later jobs
    nightshift deny fix-it-x7k2:1 --message "…"
`);
});

test('a job that is held up says by what, in its table and when it is shown', () => {
  const timeline = foldEvents(upTo('call.started', 2));
  const held = { text: 'The disk is full.', attempts: 3, next: at(11) };
  const row = rowOf(openJob('fix-it-x7k2', memo, at(0)), timeline, held);
  const said = 'stuck: The disk is full. (3 tries, next in 8.0s; once mended it goes on by itself)';
  expect(row.trouble).toEqual({ ...held, next: new Date(at(11)).toISOString() });
  expect(showLines(row, timeline, { now: at(3), width: 76, paint: noPaint })).toContain(said);
  expect(jobTable([row], { now: at(3), width: 80, paint: noPaint }).join('\n')).toMatch(
    /\nfix-it-x7k2 +running \(stuck\) .*\nfix-it-x7k2 is stuck: The disk is full\. \(3 tries/,
  );
});

test('a terminal of 40 columns gets each job on lines of its own, and no line that is too long', () => {
  const timeline = foldEvents(upTo('prompt.opened'));
  const asks = { ...memo, title: 'Fix what the parser does with dates', status: 'waiting', why: 'permission' } as const;
  const row = rowOf(openJob('fix-it-x7k2', asks, at(0)), timeline);
  const narrow = { now: at(34), width: 40, paint: noPaint };
  expect(jobTable([row], narrow)).toEqual([
    'fix-it-x7k2',
    '  waiting (permission)',
    '  step 1.2 · $0.0069 · 34s',
    '  Fix what the parser does with dates',
  ]);
  const shown = showLines(row, timeline, narrow);
  const commands = shown.filter((line) => line.includes('nightshift '));
  expect(shown.filter((line) => columns(line) > 40 && !commands.includes(line))).toEqual([]);
});

test('what is unsure stands at the end', () => {
  const events = sampleJob.map((event): JobEvent => {
    const isBash = event.kind === 'call.ended' && event.step === 2;
    return isBash ? { ...event, isError: true, outcome: 'unknown' } : event;
  });
  const shown = show(events, { status: 'done', updatedAt: at(83) }, at(900));
  expect(shown).toMatch(/\? Bash rm -rf build && make +outcome unknown {2}1m16s/);
  expect(shown.trimEnd().split('\n').slice(-2)).toEqual([
    'unsure: of 1 call nobody knows whether it took effect',
    '  1.2.0 Bash rm -rf build && make',
  ]);
});

test('an inbox shows all of every input, line by line, and says when there is more', () => {
  const input = {
    file_path: '/srv/app/a.sh',
    content: Array.from({ length: 25 }, (_, n) => `line ${n + 1}`).join('\n'),
  };
  const item = { id: 'j:1', job: 'j', tool: 'Write', brief: 'a.sh', since: new Date(at(0)).toISOString() };
  const lines = inboxLines([{ ...item, input, reason: 'no rule allows it', suggestions: [] }], {
    now: at(60),
    width: 76,
  });
  expect(lines.slice(0, 5)).toEqual([
    'j has waited for 1m00s',
    '  ? Write asks (j:1)',
    '      file_path: /srv/app/a.sh',
    '      content:',
    '        line 1',
  ]);
  expect(lines.slice(-5)).toEqual([
    '        line 20',
    '        … 5 more lines: nightshift inbox --json',
    '    no rule allows it',
    '    nightshift allow j:1',
    '    nightshift deny j:1 --message "…"',
  ]);
});

test('jobs stand in columns, also with titles in wide letters, and never run over the line', () => {
  const timeline = foldEvents(upTo('call.started', 2));
  const row = (id: string, some: Partial<JobMemo>) => rowOf(openJob(id, { ...memo, ...some }, at(0)), timeline);
  const prompts = [{ id: 'b:1', key: 'k', tool: 'Bash', body: 'x', since: 0 }];
  const rows = [
    row('a', { title: '修正テスト' }),
    row('bb', { status: 'waiting', why: 'permission', prompts, title: `Long ${'title '.repeat(30)}` }),
  ];
  const table = jobTable(rows, { now: at(125), width: 80, paint: noPaint });
  expect(`\n${table.join('\n')}\n`).toBe(`
JOB  STATUS                STEP  COST     ASKS  AGE    TITLE
a    running               1.1   $0.0033  -     2m05s  修正テスト
bb   waiting (permission)  1.1   $0.0033  1     2m05s  Long title title title t…
`);
  expect(Math.max(...table.map(columns))).toBe(80);
});

test('background commands are shown with how they stand, and counted while the job is open', () => {
  const place = { turn: 1, step: 1, index: 0 };
  const began = (n: number): JobEvent => {
    const id = `shell-1-1-${n}`;
    return { at: at(1), kind: 'task.started', id, task: 'shell', brief: `npm ${n}`, outputFile: `/o/${id}`, ...place };
  };
  const summary = 'Background command "npm 0" failed with exit code 1';
  const ended: JobEvent = { at: at(9), kind: 'task.ended', id: 'shell-1-1-0', status: 'failed', exitCode: 1, summary };
  const events = [...upTo('job.opened'), began(0), began(1), ended];
  const shown = show(events, {}, at(61));
  expect(shown.slice(shown.indexOf('\nin the background'))).toBe(`
in the background
  shell-1-1-0 failed 8.0s  npm 0
    /o/shell-1-1-0
  shell-1-1-1 running 1m00s  npm 1
    /o/shell-1-1-1
`);
  const info = openJob('fix-it-x7k2', memo, at(0));
  expect(rowOf(info, foldEvents(events)).tasks).toBe(1);
  expect(rowOf({ ...info, open: false }, foldEvents(events)).tasks).toBe(0);
});

test('what hooks decided, said or could not do stands with what it was about', () => {
  const hook = { kind: 'hook.ended', ms: 3, status: 'ok' } as const;
  const job: JobEvent = { ...hook, at: at(1), event: 'SessionStart', hook: './up.sh', status: 'timeout' };
  const call: JobEvent = {
    ...hook,
    at: at(2),
    event: 'PreToolUse',
    hook: './check.sh',
    decision: 'allow',
    text: 'known',
    turn: 1,
    step: 1,
    index: 0,
  };
  const lines = show([...sampleJob, job, call], { status: 'done', updatedAt: at(83) }, at(900)).split('\n');
  expect(lines).toContain('  SessionStart hook ./up.sh: timeout');
  expect(lines.indexOf('        PreToolUse hook ./check.sh: allow · known')).toBe(
    lines.findIndex((line) => line.includes('Read src/parse.ts')) + 2,
  );
});

test('a message into the running turn stands before its step, and a long reason leaves room for size and file', () => {
  const message = { at: at(3), kind: 'message.taken', turn: 1, step: 2, id: 'm', text: 'the blue one' } as const;
  const rule = 'The allow rule Bash(rm:*) of the PermissionRequest hook cat > asked.json; echo "{}" covers it.';
  const events = [...sampleJob, message, message].map((event): JobEvent =>
    event.kind === 'call.decided' && event.step === 2 ? { ...event, text: rule } : event,
  );
  const lines = show(events, { status: 'done', updatedAt: at(83) }, at(900)).split('\n');
  expect(lines.filter((line) => line.startsWith('  > '))).toEqual(['  > the blue one']);
  expect(lines[lines.indexOf('  > the blue one') + 1]).toMatch(/^ {2}step 2 /);
  const reason = lines.find((line) => line.includes('The allow rule'));
  expect(reason).toMatch(/^ {8}allow: The allow rule Bash\(rm:\*\) of .*… · 2 workers had it · 58\.6 KB$/);
  expect(columns(reason ?? '')).toBe(76);
});
