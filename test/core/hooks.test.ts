import { describe, expect, it } from 'vitest';
import { distinct, hookLabel, hookProblem, matching, merge, timeoutMs } from '../../src/core/hooks.ts';
import type { Hook, HookEvent, HookOutcome } from '../../src/shapes/hook.ts';

const hook = (over: Partial<Hook> = {}): Hook =>
  ({ event: 'PreToolUse', type: 'command', command: 'true', origin: 'user settings', ...over }) as Hook;
const said = (over: Partial<HookOutcome>): HookOutcome => ({ status: 'ok', ...over });

describe('a matcher', () => {
  const runs: [matcher: string | undefined, ...tools: string[]][] = [
    [undefined, 'Bash', 'Edit', 'Write', 'NotebookEdit', 'mcp__kb__search', 'mcp__brave-search__web'],
    ['', 'Bash', 'Edit', 'Write', 'NotebookEdit', 'mcp__kb__search', 'mcp__brave-search__web'],
    ['*', 'Bash', 'Edit', 'Write', 'NotebookEdit', 'mcp__kb__search', 'mcp__brave-search__web'],
    ['Bash', 'Bash'],
    ['bash'],
    ['Edit|Write', 'Edit', 'Write'],
    ['Edit, Write', 'Edit', 'Write'],
    ['Edit.*', 'Edit', 'NotebookEdit'],
    ['^Edit$', 'Edit'],
    ['^Notebook', 'NotebookEdit'],
    ['mcp__kb__.*', 'mcp__kb__search'],
    ['mcp__kb'],
    ['mcp__brave-search'],
    ['mcp__.*__w.*', 'mcp__brave-search__web'],
    ['Bash(git *)'],
    ['['],
  ];
  const tools = ['Bash', 'Edit', 'Write', 'NotebookEdit', 'mcp__kb__search', 'mcp__brave-search__web'];

  it.each(runs)('%j runs for its tools only', (matcher, ...expected) => {
    const hooks = [hook(matcher === undefined ? {} : { matcher })];
    expect(tools.filter((tool) => matching(hooks, 'PreToolUse', [tool]).length > 0)).toEqual(expected);
  });

  it('is compared with every name of a tool', () => {
    expect(matching([hook({ matcher: 'KillShell' })], 'PreToolUse', ['TaskStop', 'KillShell'])).toHaveLength(1);
  });

  it('means nothing where there is nothing to compare', () => {
    expect(matching([hook({ event: 'Stop', matcher: 'Bash' })], 'Stop', [])).toHaveLength(1);
  });

  it('of a failure may list names by bars only', () => {
    const of = (matcher: string) =>
      matching([hook({ event: 'StopFailure', matcher })], 'StopFailure', ['server_error']);
    expect(of('server_error|unknown')).toHaveLength(1);
    expect(of('server_error, unknown')).toHaveLength(0);
  });
});

describe('an event', () => {
  it('has its own hooks only', () => {
    const hooks = [hook(), hook({ event: 'PostToolUse' })];
    expect(matching(hooks, 'PostToolUse', ['Bash'])).toEqual([hooks[1]]);
  });

  it('that is about no call never runs a hook with a condition', () => {
    expect(matching([hook({ event: 'Stop', if: 'Bash' })], 'Stop', [])).toEqual([]);
    expect(matching([hook({ if: 'Bash' })], 'PreToolUse', ['Bash'])).toHaveLength(1);
  });

  it('runs what several files bring once, and what differs each', () => {
    const http: Partial<Hook> = { type: 'http', url: 'http://127.0.0.1/x' };
    const hooks = [
      hook(),
      hook({ origin: 'project settings', matcher: 'Bash', if: 'Bash(ls)' }),
      hook({ args: [] }),
      hook({ async: true }),
      hook(http),
      hook({ ...http, origin: 'project settings' }),
      hook({ ...http, headers: { a: 'b' } }),
    ];
    expect(distinct(hooks)).toEqual([hooks[0], hooks[2], hooks[3], hooks[4], hooks[6]]);
  });
});

describe('a problem of a hook', () => {
  it.each<[Partial<Hook>, string]>([
    [{ matcher: '[' }, 'no valid regular expression'],
    [{ matcher: 'Bash(git *)' }, 'permission rule'],
    [{ event: 'Stop', if: 'Bash' }, 'never runs'],
    [{ matcher: 'Edit|Write' }, 'none'],
    [{ matcher: 'mcp__.*' }, 'none'],
  ])('%j is told', (over, text) => {
    expect(hookProblem(hook(over)) ?? 'none').toContain(text);
  });
});

describe('several outcomes', () => {
  it.each<[HookOutcome['decision'][], HookOutcome['decision']]>([
    [['allow', 'deny', 'ask'], 'deny'],
    [['allow', 'defer', 'ask'], 'defer'],
    [['allow', 'ask'], 'ask'],
    [['allow', undefined], 'allow'],
    [[undefined, undefined], undefined],
  ])('%j come to %s', (decisions, expected) => {
    const outcomes = decisions.map((decision) => said(decision ? { decision, reason: `${decision}!` } : {}));
    const verdict = merge(outcomes);
    expect(verdict.decision).toBe(expected);
    expect(verdict.reason).toBe(expected && `${expected}!`);
  });

  it('keep all that was said, and the last new input', () => {
    const verdict = merge([
      said({ context: 'one', input: { n: 1 }, stop: 'enough' }),
      said({ context: 'two', input: { n: 2 }, message: 'seen' }),
      said({ stop: '' }),
    ]);
    expect(verdict).toEqual({ contexts: ['one', 'two'], messages: ['seen'], input: { n: 2 }, stop: 'enough' });
  });

  it('that end deferred keep the input as it was', () => {
    expect(merge([said({ decision: 'allow', input: { n: 1 } }), said({ decision: 'defer' })]).input).toBeUndefined();
  });

  it('join the reasons of those that decided', () => {
    const outcomes = [
      said({ decision: 'deny', reason: 'a' }),
      said({ decision: 'allow', reason: 'b' }),
      said({ decision: 'deny', reason: 'c', interrupt: true }),
    ];
    expect(merge(outcomes)).toMatchObject({ decision: 'deny', reason: 'a\nc', interrupt: true });
  });
});

describe('the time of a handler', () => {
  const at = (event: HookEvent, timeout?: number): Hook => hook(timeout === undefined ? { event } : { event, timeout });
  it.each<[Hook, number]>([
    [at('PreToolUse'), 600_000],
    [at('PreToolUse', 2), 2_000],
    [at('UserPromptSubmit'), 30_000],
    [at('SessionEnd'), 1_500],
    [at('SessionEnd', 1), 1_000],
    [at('SessionEnd', 20), 20_000],
    [at('SessionEnd', 300), 60_000],
  ])('%# is that of its event, or its own', (one, ms) => {
    expect(timeoutMs(one, [one])).toBe(ms);
  });

  it('at the end of a session is one span that the longest of them widens', () => {
    const [short, long] = [at('SessionEnd'), at('SessionEnd', 10)];
    expect(timeoutMs(short, [short, long])).toBe(10_000);
    expect(timeoutMs(long, [short, long], 3_000)).toBe(3_000);
  });
});

describe('the name of a handler', () => {
  it('leaves out what may be secret in an address', () => {
    const url = 'https://ada:secret@example.org/hook?token=secret#secret';
    expect(hookLabel(hook({ type: 'http', url }))).toBe('https://example.org/hook');
  });
});
