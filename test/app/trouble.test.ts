import { expect, test } from 'vitest';
import {
  type Pendings,
  type PendingStep,
  troubleOf as troubleOfWorkflows,
  troubleText,
} from '../../src/app/trouble.ts';

const now = 1_700_000_000_000;
// The server's numbers for what waits for a worker and what one has.
const [waits, runs] = [1, 2];
/** As the server tells times. */
const at = (ms: number): PendingStep['scheduledTime'] =>
  ({ seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1e6 }) as never;
const failed = { message: 'the disk is full', applicationFailureInfo: {} };
const died = { message: 'activity Heartbeat timeout', timeoutFailureInfo: {} };
const step = (some: PendingStep): PendingStep => ({ state: waits, attempt: 1, scheduledTime: at(now), ...some });

const troubleOf = (steps: PendingStep[], at: number) => troubleOfWorkflows([{ pendingActivities: steps }], at);

test('a step that fails again and again is trouble until it runs for a while', () => {
  const again = step({ attempt: 4, lastFailure: failed, nextAttemptScheduleTime: at(now + 8_000) });
  expect(troubleOf([step({}), again], now)).toEqual({ text: 'the disk is full', attempts: 3, next: now + 8_000 });
  const tries = step({ ...again, state: runs, lastStartedTime: at(now - 1_000) });
  expect(troubleOf([tries], now)).toEqual({ text: 'the disk is full', attempts: 3, next: null });
  expect(troubleOf([tries], now + 60_000)).toBeUndefined();
  expect(troubleOf([step({ ...again, attempt: 2 })], now)).toBeUndefined();
});

test('a failure counts whatever kind of it the server keeps', () => {
  const cut = { message: 'Failure exceeds size limit.', serverFailureInfo: { nonRetryable: false } };
  for (const lastFailure of [cut, { message: cut.message }])
    expect(troubleOf([step({ attempt: 4, lastFailure })], now)).toMatchObject({ text: cut.message, attempts: 3 });
});

test('the death of a worker is no trouble; that no worker is left is', () => {
  expect(troubleOf([step({ attempt: 2, lastFailure: died })], now)).toBeUndefined();
  expect(troubleOf([step({ state: runs, attempt: 5, lastFailure: died })], now)).toBeUndefined();
  expect(troubleOf([step({ scheduledTime: at(now - 60_000) })], now)).toMatchObject({
    text: expect.stringContaining('no worker takes up its next step'),
    attempts: 0,
  });
});

test('a workflow that fails under the code of its worker is trouble, and so is one that no worker takes up', () => {
  const decision = (some: Pendings['pendingWorkflowTask']) =>
    troubleOfWorkflows([{}, { pendingWorkflowTask: { state: runs, scheduledTime: at(now - 60_000), ...some } }], now);
  expect(decision({ attempt: 1 })).toBeUndefined();
  expect(decision({ attempt: 2 })).toBeUndefined();
  expect(decision({ attempt: 5 })).toMatchObject({ text: expect.stringContaining('another version'), attempts: 4 });
  expect(decision({ state: waits })).toMatchObject({ text: expect.stringContaining('no worker'), attempts: 0 });
  expect(decision({ state: waits, scheduledTime: at(now - 1_000) })).toBeUndefined();
});

test('of several troubles the one that was tried most often is told', () => {
  const tried = (attempt: number, message: string): PendingStep =>
    step({ attempt, lastFailure: { ...failed, message } });
  expect(troubleOf([tried(3, 'a'), tried(9, 'b'), tried(4, 'c')], now)).toMatchObject({ text: 'b', attempts: 8 });
});

test('for people it is one line, whatever the error said', () => {
  const text = 'no space left\n\u001b[31mhere';
  const next = new Date(now + 8_000).toISOString();
  expect(troubleText({ text, attempts: 3, next }, now)).toBe(
    'stuck: no space left here (3 tries, next in 8.0s; once mended it goes on by itself)',
  );
  expect(troubleText({ text: 'no worker', attempts: 0, next: null }, now)).toBe('stuck: no worker');
});
