import { expect, test } from 'vitest';
import type { JobResult } from '../../src/app/job-result.ts';
import { createStreamJson } from '../../src/app/stream-json.ts';
import type { JobEvent } from '../../src/shapes/event.ts';
import { sampleJob } from '../support/sample-job.ts';
import { usage } from '../support/usage.ts';

const take = (events: JobEvent[]) => {
  const stream = createStreamJson('fix-it-x7k2', ['Read', 'Bash']);
  return events.flatMap((event) => stream.take(event));
};

test('a job is told in the messages that stream-json readers know, in order', () => {
  const told = take(sampleJob);
  expect(told.map(({ type, subtype }) => (typeof subtype === 'string' ? `${type}/${subtype}` : type))).toEqual([
    'system/init',
    'assistant',
    'user',
    'user',
    'assistant',
    'system/permission_request',
    'system/permission_answer',
    'tool_progress',
    'user',
    'assistant',
  ]);
  expect(told[0]).toMatchObject({ cwd: '/srv/app', permissionMode: 'default', tools: ['Read', 'Bash'] });
  expect(told[1]).toMatchObject({
    parent_tool_use_id: null,
    message: {
      role: 'assistant',
      content: [
        { type: 'text', text: 'I read the code first.\nTwo files.' },
        { type: 'tool_use', id: 'a', name: 'Read', input: { file_path: 'src/parse.ts' } },
        { type: 'tool_use', id: 'b', name: 'Grep', input: { pattern: 'parseDate' } },
      ],
      stop_reason: 'tool_use',
      usage: { input_tokens: 900, output_tokens: 40 },
    },
  });
  expect(told[3]).toMatchObject({
    message: {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'b', is_error: true, content: 'no match\nmore' }],
    },
  });
  for (const message of told) expect(message).toMatchObject({ session_id: 'fix-it-x7k2', uuid: expect.any(String) });
  expect(new Set(told.map(({ uuid }) => uuid)).size).toBe(told.length);
});

test('what comes twice is told once, and the same job gets the same ids when it is told again', () => {
  const repeated: JobEvent['kind'][] = ['model.ended', 'call.ended', 'prompt.opened'];
  const twice = sampleJob.flatMap((event): JobEvent[] => (repeated.includes(event.kind) ? [event, event] : [event]));
  expect(take(twice)).toEqual(take(sampleJob));
});

const result: JobResult = {
  id: 'fix-it-x7k2',
  status: 'done',
  why: null,
  result: 'Done.',
  isError: false,
  costUsd: 0.0106,
  usage: usage({ input: 2200, cacheRead: 900, cacheWrite5m: 10, output: 80 }),
  turns: 1,
};

test.each<[Partial<JobResult>, Record<string, unknown>]>([
  [{}, { subtype: 'success', is_error: false, result: 'Done.' }],
  [{ status: 'idle' }, { subtype: 'success' }],
  [
    { status: 'stopped', why: 'usd', isError: true, result: 'too dear' },
    { subtype: 'error_max_budget_usd', errors: ['too dear'] },
  ],
  [{ status: 'stopped', why: 'steps', isError: true }, { subtype: 'error_max_turns' }],
  [{ status: 'failed', why: 'error', isError: true }, { subtype: 'error_during_execution' }],
  [{ status: 'cancelled', isError: true }, { subtype: 'error_during_execution' }],
])('the last message of a job with %j says %j', (some, message) => {
  const stream = createStreamJson('fix-it-x7k2', []);
  expect(stream.end({ ...result, ...some }, 83_000, 3)).toMatchObject({ type: 'result', ...message });
});

test('the last message counts time, steps, money, tokens and what was denied', () => {
  const stream = createStreamJson('fix-it-x7k2', []);
  for (const event of sampleJob) {
    const isBash = event.kind === 'call.ended' && event.step === 2;
    stream.take(isBash ? { ...event, isError: true, outcome: 'denied' } : event);
  }
  expect(stream.end(result, 83_000, 3)).toMatchObject({
    duration_ms: 83_000,
    duration_api_ms: 5_000,
    num_turns: 3,
    total_cost_usd: 0.0106,
    usage: { input_tokens: 2200, cache_read_input_tokens: 900, cache_creation_input_tokens: 10, output_tokens: 80 },
    permission_denials: [{ tool_name: 'Bash', tool_use_id: 'c', tool_input: { command: 'rm -rf build && make' } }],
  });
});

test('the start and end of a background command are system messages, once each', () => {
  const place = { turn: 1, step: 1, index: 0 };
  const id = 'shell-1-1-0';
  const began: JobEvent = { at: 1, kind: 'task.started', id, task: 'shell', brief: 'b', outputFile: '/o', ...place };
  const ended: JobEvent = { at: 2, kind: 'task.ended', id, status: 'completed', exitCode: 0, summary: 's' };
  expect(take([began, began, ended, ended])).toMatchObject([
    { type: 'system', subtype: 'task_started', task_id: id, description: 'b', output_file: '/o' },
    { type: 'system', subtype: 'task_notification', task_id: id, status: 'completed', summary: 's' },
  ]);
});
