import { describe, expect, it } from 'vitest';
import { outcomeOf } from '../../src/core/hook-output.ts';
import type { HookEvent, HookOutcome, HookRun } from '../../src/shapes/hook.ts';

const ran = (over: Partial<HookRun> = {}): HookRun => ({ exit: 0, stdout: '', stderr: '', ms: 5, ...over });
const json = (value: unknown, over: Partial<HookRun> = {}): HookRun => ran({ stdout: JSON.stringify(value), ...over });
const specific = (event: HookEvent, fields: object, over: Partial<HookRun> = {}): HookRun =>
  json({ hookSpecificOutput: { hookEventName: event, ...fields } }, over);

type Row = [what: string, event: HookEvent, run: HookRun, expected: Partial<HookOutcome>];
const pre = (fields: object, over: Partial<HookRun> = {}): HookRun => specific('PreToolUse', fields, over);

describe('a handler', () => {
  it.each<Row>([
    ['that says nothing has no objection', 'PreToolUse', ran(), { status: 'ok' }],
    [
      'that allows says why',
      'PreToolUse',
      pre({ permissionDecision: 'allow', permissionDecisionReason: 'known' }),
      { status: 'ok', decision: 'allow', reason: 'known' },
    ],
    [
      'that denies says why',
      'PreToolUse',
      pre({ permissionDecision: 'deny', permissionDecisionReason: 'no' }),
      { status: 'ok', decision: 'deny', reason: 'no' },
    ],
    [
      'that defers leaves everything else out',
      'PreToolUse',
      pre({ permissionDecision: 'defer', permissionDecisionReason: 'x', updatedInput: { a: 1 } }),
      { status: 'ok', decision: 'defer' },
    ],
    [
      'may rewrite without deciding',
      'PreToolUse',
      pre({ updatedInput: { command: 'ls' }, additionalContext: 'rewritten' }),
      { status: 'ok', input: { command: 'ls' }, context: 'rewritten' },
    ],
    [
      'that allows for a person may want permissions changed, entry by entry',
      'PermissionRequest',
      specific('PermissionRequest', { decision: { behavior: 'allow', updatedPermissions: [{ type: 'x' }, 1] } }),
      { status: 'ok', decision: 'allow', updates: [{ type: 'x' }, 1] },
    ],
    [
      'that wants them changed must give a list',
      'PermissionRequest',
      specific('PermissionRequest', { decision: { behavior: 'allow', updatedPermissions: {} } }),
      { status: 'error', error: 'hookSpecificOutput.decision.updatedPermissions of its output must be a list' },
    ],
    [
      'that denies for a person changes none',
      'PermissionRequest',
      specific('PermissionRequest', { decision: { behavior: 'deny', message: 'no', updatedPermissions: [1] } }),
      { status: 'ok', decision: 'deny', reason: 'no' },
    ],
    [
      'may have a first input at the start',
      'SessionStart',
      specific('SessionStart', { initialUserMessage: 'begin here' }),
      { status: 'ok', prompt: 'begin here' },
    ],
    [
      'of the old form approves',
      'PreToolUse',
      json({ decision: 'approve', reason: 'old' }),
      { status: 'ok', decision: 'allow', reason: 'old' },
    ],
    [
      'of the old form blocks',
      'PreToolUse',
      json({ decision: 'block', reason: 'old' }),
      { status: 'ok', decision: 'deny', reason: 'old' },
    ],
    [
      'with both forms is read in the new one',
      'PreToolUse',
      json({ decision: 'block', hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'allow' } }),
      { status: 'ok', decision: 'allow', reason: 'the hook gave no reason' },
    ],
    [
      'that prints text before its JSON prints text',
      'PreToolUse',
      ran({ stdout: 'ready\n{"decision":"block"}' }),
      { status: 'ok' },
    ],
    [
      'with exit code 2 denies, and its complaint is the reason',
      'PreToolUse',
      ran({ exit: 2, stderr: 'not here\n', stdout: '{"half' }),
      { status: 'ok', decision: 'deny', reason: 'not here' },
    ],
    [
      'with exit code 2 denies whatever its JSON says, and the rest of that is read',
      'PreToolUse',
      pre({ permissionDecision: 'allow', additionalContext: 'but' }, { exit: 2, stderr: 'no' }),
      { status: 'ok', decision: 'deny', reason: 'no', context: 'but' },
    ],
    [
      'with exit code 2 and a JSON denial gives the reason of that',
      'PreToolUse',
      pre({ permissionDecision: 'deny', permissionDecisionReason: 'json' }, { exit: 2, stderr: 'err' }),
      { status: 'ok', decision: 'deny', reason: 'json' },
    ],
    [
      'with another code but good JSON is believed',
      'PreToolUse',
      pre({ permissionDecision: 'deny', permissionDecisionReason: 'r' }, { exit: 1 }),
      { status: 'ok', decision: 'deny', reason: 'r' },
    ],
    [
      'with another code alone decides nothing',
      'PreToolUse',
      ran({ exit: 1, stderr: 'boom' }),
      { status: 'error', error: 'it ended with exit code 1: boom' },
    ],
    [
      'that is missing decides nothing',
      'PreToolUse',
      ran({ exit: 127, stderr: 'not found' }),
      { status: 'error', error: 'it ended with exit code 127: not found' },
    ],
    [
      'that dies by a signal decides nothing',
      'PreToolUse',
      ran({ exit: null, signal: 'SIGSEGV' }),
      { status: 'error', error: 'it was ended by SIGSEGV' },
    ],
    [
      'that takes too long decides nothing, whatever it has printed',
      'PreToolUse',
      pre({ permissionDecision: 'deny' }, { exit: null, timedOut: true, ms: 2_010 }),
      { status: 'timeout', error: 'it took longer than 2 s and was ended' },
    ],
    ['that was cut decides nothing', 'PreToolUse', ran({ exit: null, aborted: true }), { status: 'cancelled' }],
    [
      'with half a JSON decides nothing',
      'PreToolUse',
      ran({ stdout: '{"decision":"bl' }),
      { status: 'error', error: 'its output starts like JSON and is none: {"decision":"bl' },
    ],
    [
      'with an unknown word decides nothing',
      'PreToolUse',
      pre({ permissionDecision: 'maybe' }),
      {
        status: 'error',
        error: 'hookSpecificOutput.permissionDecision of its output must be "allow", "deny", "ask" or "defer"',
      },
    ],
    [
      'that answers for another event decides nothing',
      'PreToolUse',
      specific('PostToolUse', { permissionDecision: 'deny' }),
      { status: 'error', error: 'hookSpecificOutput.hookEventName must be "PreToolUse" in the output of this hook' },
    ],
    [
      'may end the turn with a word for people',
      'PreToolUse',
      json({ continue: false, stopReason: 'enough', systemMessage: 'look' }),
      { status: 'ok', stop: 'enough', message: 'look' },
    ],
    ['may end the turn without a word', 'PostToolUse', json({ continue: false }), { status: 'ok', stop: '' }],
    [
      'can give the model a context only in its place',
      'UserPromptSubmit',
      json({ additionalContext: 'lost' }),
      { status: 'ok' },
    ],
    [
      'speaks to the model in plain text where a prompt comes in',
      'UserPromptSubmit',
      ran({ stdout: 'branch: main\n' }),
      { status: 'ok', context: 'branch: main' },
    ],
    [
      'speaks to the model in plain text where a session starts',
      'SessionStart',
      ran({ stdout: 'hello' }),
      { status: 'ok', context: 'hello' },
    ],
    ['speaks to nobody in plain text elsewhere', 'Stop', ran({ stdout: 'hello' }), { status: 'ok' }],
    [
      'blocks a prompt',
      'UserPromptSubmit',
      json({ decision: 'block', reason: 'secret in it' }),
      { status: 'ok', decision: 'block', reason: 'secret in it' },
    ],
    [
      'blocks a prompt by exit code 2',
      'UserPromptSubmit',
      ran({ exit: 2, stderr: 'no' }),
      { status: 'ok', decision: 'block', reason: 'no' },
    ],
    [
      'lets the model go on by exit code 2',
      'Stop',
      ran({ exit: 2, stderr: 'tests fail' }),
      { status: 'ok', decision: 'block', reason: 'tests fail' },
    ],
    [
      'shows the model its complaint about a result',
      'PostToolUse',
      ran({ exit: 2, stderr: 'lint fails' }),
      { status: 'ok', context: 'lint fails' },
    ],
    [
      'puts another output in place of a result',
      'PostToolUse',
      specific('PostToolUse', { updatedToolOutput: 'short' }),
      { status: 'ok', output: 'short' },
    ],
    [
      'shows people its complaint about a start',
      'SessionStart',
      ran({ exit: 2, stderr: 'no net' }),
      { status: 'ok', message: 'no net' },
    ],
    [
      'answers a question for the person',
      'PermissionRequest',
      specific('PermissionRequest', { decision: { behavior: 'allow', updatedInput: { a: 1 } } }),
      { status: 'ok', decision: 'allow', input: { a: 1 } },
    ],
    [
      'denies for the person and ends the turn',
      'PermissionRequest',
      specific('PermissionRequest', { decision: { behavior: 'deny', message: 'no', interrupt: true } }),
      { status: 'ok', decision: 'deny', reason: 'no', interrupt: true },
    ],
    ['answers no question by exit code 2', 'PermissionRequest', ran({ exit: 2, stderr: 'no' }), { status: 'ok' }],
    [
      'lets a denied call be tried again',
      'PermissionDenied',
      specific('PermissionDenied', { retry: true }),
      { status: 'ok', retry: true },
    ],
    ['changes nothing at the end', 'SessionEnd', json({ continue: false, systemMessage: 'x' }), { status: 'ok' }],
    ['changes nothing when told of a question', 'Notification', json({ continue: false }), { status: 'ok' }],
    ['changes nothing after a failure', 'StopFailure', json({ continue: false, decision: 'block' }), { status: 'ok' }],
  ])('%s', (_what, event, run, expected) => {
    expect(outcomeOf(event, run)).toEqual(expected);
  });

  it.each<[HookRun]>([
    [ran({ exit: 1 })],
    [ran({ exit: null, timedOut: true })],
    [ran({ exit: null, failed: 'it could not be run' })],
    [ran({ stdout: '{"half' })],
  ])('that must work blocks when it does not: %j', (run) => {
    expect(outcomeOf('PreToolUse', run, 'block')).toMatchObject({ decision: 'deny' });
    expect(outcomeOf('Stop', run, 'block')).toMatchObject({ decision: 'block' });
    expect(outcomeOf('Notification', run, 'block').decision).toBeUndefined();
  });
});
