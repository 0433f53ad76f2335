import { expect, it } from 'vitest';
import {
  callDir,
  callMark,
  hooksDir,
  hooksMark,
  parseCallMark,
  parseHandlerMark,
  rungDir,
  rungMark,
  turnDir,
} from '../../src/core/paths.ts';

const home = '0123456789ab';
const call = { home, job: 'fix-it', turn: 3, step: 12, index: 0 };

it('the mark of a call names it, and no handler', () => {
  const mark = callMark(home, 'fix-it', 3, 12, 0);
  expect(parseCallMark(mark)).toEqual(call);
  expect(parseHandlerMark(mark)).toBeUndefined();
});

it('the mark of a handler names its ledger folder, and the call that it is about', () => {
  const dir = `${hooksDir(callDir(3, 12, 0), 'PreToolUse')}/1`;
  expect(parseHandlerMark(hooksMark(home, 'fix-it', `${dir}.`))).toEqual({ home, job: 'fix-it', dir, call });
  expect(parseCallMark(hooksMark(home, 'fix-it', `${dir}.`))).toBeUndefined();
});

it('the mark of a handler of a turn, a job or a question names no call', () => {
  const stop = `${hooksDir(turnDir(3), 'Stop.2')}/0`;
  const start = `${hooksDir('', 'SessionStart.abc')}/0`;
  for (const dir of [stop, start]) {
    expect(parseHandlerMark(hooksMark(home, 'fix-it', `${dir}.`))).toEqual({ home, job: 'fix-it', dir });
  }
  const rung = rungDir('fix-it:4', 1, 0);
  expect(parseHandlerMark(rungMark(home, 'fix-it', rung))).toEqual({ home, job: 'fix-it', dir: rung });
});

it.each(['', 'hooks@', `hooks@${home}/fix-it/`, 'something else'])('%j is no mark of a handler', (mark) => {
  expect(parseHandlerMark(mark)).toBeUndefined();
});
