import { describe, expect, test } from 'vitest';
import { Rules } from '../../src/shapes/permission.ts';
import { decide, reasonText } from '../../src/permissions/chain.ts';
import { isToolRemoved } from '../../src/permissions/hidden.ts';
import { suggestions } from '../../src/permissions/suggestions.ts';
import { mergeRules, parseRule, unknownToolWarnings, withRules, type RuleLayer } from '../../src/permissions/rules.ts';
import type { Behavior, RuleSource } from '../../src/shapes/permission.ts';
import { checkedCall, decisionOf, place, plainContext, rulesOf } from './support.ts';

const source: RuleSource = { kind: 'user', base: '/home/dev/.claude' };
const at = { trusted: true, ...place };

describe('a rule is read', () => {
  test.each<[string, string, string | undefined]>([
    ['Bash', 'Bash', undefined],
    ['Bash(*)', 'Bash', undefined],
    ['Bash(npm test:*)', 'Bash', 'npm test:*'],
    [' Bash( npm test ) ', 'Bash', 'npm test'],
    ['Bash(echo \\(a\\))', 'Bash', 'echo \\(a\\)'],
    ['Bash(f(x))', 'Bash', 'f(x)'],
    ['Task(Explore)', 'Agent', 'Explore'],
    ['mcp__a__*', 'mcp__a__*', undefined],
    ['toString', 'toString', undefined],
  ])('%s', (text, tool, specifier) => {
    expect(parseRule(text, 'allow', source)).toMatchObject({ tool, ...(specifier === undefined ? {} : { specifier }) });
  });

  test.each<[unknown, Behavior, RegExp]>([
    ['Bash(npm test', 'allow', /is not a rule/],
    ['Bash npm', 'deny', /is not a rule/],
    ['', 'deny', /is not a rule/],
    ['(x)', 'deny', /is not a rule/],
    [7, 'allow', /must be a string/],
    [null, 'allow', /must be a string/],
    ['*', 'allow', /approves nothing/],
    ['B*', 'allow', /approves nothing/],
    ['mcp__*', 'allow', /approves nothing/],
    ['mcp__a*__b', 'allow', /approves nothing/],
    ['Bash()', 'allow', /approves nothing/],
    ['mcp__*(x:y)', 'deny', /takes no specifier/],
    ['Bash(command:rm *)', 'deny', /Bash\(pattern\)/],
    ['WebFetch(url:https://x)', 'deny', /WebFetch\(domain:host\)/],
    ['WebFetch(https://x/*)', 'allow', /WebFetch\(domain:host\)/],
    ['WebFetch(domain:)', 'allow', /names no host/],
    ['Write(src/**)', 'allow', /write Edit\(src\/\*\*\)/],
    ['Glob(src/**)', 'deny', /write Read\(src\/\*\*\)/],
    ['Read(!x)', 'deny', /no effect/],
    ['WebSearch(x)', 'allow', /takes no specifier/],
    ['mcp__a__b(x)', 'deny', /parameter:value/],
    ['Write(content:x)', 'allow', /no effect/],
    ['bash(npm test)', 'allow', /write Bash\(npm test\)/],
  ])('%j in %s has no effect, and says so', (text, list, why) => {
    const warning = parseRule(text, list, source);
    expect(warning).toMatchObject({ text: expect.stringMatching(why), list, source });
    expect('tool' in warning).toBe(false);
  });
});

describe('layers', () => {
  const layer = (kind: RuleSource['kind'], more: Omit<RuleLayer, 'source'>): RuleLayer => ({
    source: { kind, base: '/work/proj' },
    ...more,
  });

  test('add up, and the strongest one that names a mode decides it', () => {
    const rules = mergeRules(
      [
        layer('local', { allow: ['A'] }),
        layer('project', { allow: ['B'], defaultMode: 'plan' }),
        layer('user', { deny: ['C'], defaultMode: 'acceptEdits' }),
      ],
      at,
    );
    expect(rules.allow.map((rule) => rule.text)).toEqual(['A', 'B']);
    expect(rules.deny.map((rule) => rule.text)).toEqual(['C']);
    expect(rules.mode).toBe('plan');
  });

  test('of a folder that is not trusted only forbid', () => {
    const rules = mergeRules(
      [
        layer('project', {
          allow: ['Bash'],
          deny: ['Bash(rm *)'],
          ask: ['WebFetch'],
          additionalDirectories: ['/'],
          defaultMode: 'bypassPermissions',
        }),
        layer('user', { allow: ['Bash(ls x)'], defaultMode: 'dontAsk' }),
      ],
      { ...at, trusted: false },
    );
    expect(rules).toMatchObject({ mode: 'dontAsk', directories: [], trusted: false });
    expect(rules.warnings.map((warning) => warning.text)).toEqual([
      expect.stringContaining('nightshift trust'),
      expect.stringContaining('nightshift trust'),
    ]);
    const verdict = (command: string) =>
      decide(checkedCall('Bash', { command }, place.root), rules, plainContext()).behavior;
    expect([verdict('npm test'), verdict('rm x'), verdict('ls x')]).toEqual(['deny', 'deny', 'allow']);
    expect(
      decide(checkedCall('Bash', { command: 'npm test' }, place.root), { ...rules, trusted: true }, plainContext())
        .behavior,
    ).toBe('allow');
  });

  test('give way to managed ones that say so, except for what they forbid', () => {
    const rules = mergeRules(
      [
        layer('managed', { allow: ['A'], managedOnly: true }),
        layer('cli', { allow: ['B'], additionalDirectories: ['/x'] }),
        layer('user', { deny: ['C'], managedOnly: true }),
      ],
      at,
    );
    expect([rules.allow.map((rule) => rule.text), rules.deny.map((rule) => rule.text), rules.directories]).toEqual([
      ['A'],
      ['C'],
      [],
    ]);
  });

  test('are not widened by an answer where managed ones count alone, and no answer like that is suggested', () => {
    const rules = mergeRules([layer('managed', { managedOnly: true })], at);
    const more = withRules(rules, { allow: ['Bash(npm test)'], deny: ['Read'], directories: ['/x'] }, source);
    expect([more.allow, more.deny.map(({ text }) => text), more.directories]).toEqual([[], ['Read'], []]);
    expect(suggestions(checkedCall('Bash', { command: 'npm test' }, place.root), plainContext(), rules)).toEqual([]);
  });

  test('name folders from the start of the job or from home', () => {
    expect(
      mergeRules([layer('user', { additionalDirectories: ['../shared', '~/x', '/data/', '../shared'] })], at)
        .directories,
    ).toEqual(['/work/shared', '/home/dev/x', '/data']);
  });

  test('that name no mode we have are told', () => {
    const rules = mergeRules([layer('user', { defaultMode: { a: 1 } }), layer('user', { defaultMode: 'auto' })], at);
    expect(rules.mode).toBe('default');
    expect(rules.warnings).toHaveLength(2);
  });

  test('come back from JSON as they were', () => {
    const rules = mergeRules([layer('user', { allow: ['Bash(a *)', 'bad('], deny: ['Read(x)'] })], at);
    const again = Rules.parse(JSON.parse(JSON.stringify(rules)));
    expect(again).toEqual(rules);
    expect(decide(checkedCall('Bash', { command: 'a b' }, place.root), again, plainContext()).behavior).toBe('allow');
  });

  test('can be added to, without changing what was there', () => {
    const rules = rulesOf({ allow: ['A'] });
    const more = withRules(
      rules,
      { allow: ['Bash(b *)', 'bad('], directories: ['/y'], mode: 'acceptEdits' },
      { kind: 'session', base: place.root },
    );
    expect(rules.allow).toHaveLength(1);
    expect([more.allow.map((rule) => rule.text), more.directories, more.mode, more.warnings.length]).toEqual([
      ['A', 'Bash(b *)'],
      ['/y'],
      'acceptEdits',
      1,
    ]);
    expect(reasonText(decide(checkedCall('Bash', { command: 'b c' }, place.root), more, plainContext()))).toBe(
      'The allow rule Bash(b *) of the answers given in this job covers it.',
    );
  });
});

describe('tools by name', () => {
  const verdict = (setting: Parameters<typeof rulesOf>[0], tool: string, server?: string) => {
    const call = checkedCall(tool, {}, place.root);
    const traits = server === undefined ? call.traits : { ...call.traits, mcp: { server, readOnly: false } };
    return decide({ ...call, traits }, rulesOf(setting), plainContext()).behavior;
  };

  test.each<[string, string, string | undefined, string]>([
    ['mcp__a', 'mcp__a__x', undefined, 'allow'],
    ['mcp__a', 'mcp__a__x', 'a', 'allow'],
    ['mcp__a', 'mcp__a__b__x', 'a__b', 'ask'],
    ['mcp__a__*', 'mcp__a__b__x', 'a__b', 'ask'],
    ['mcp__a__b', 'mcp__a__b__x', 'a__b', 'allow'],
    ['mcp__a', 'mcp__ab__x', undefined, 'ask'],
    ['mcp__a__get_*', 'mcp__a__get_x', 'a', 'allow'],
    ['mcp__a__get_*', 'mcp__a__set_x', 'a', 'ask'],
    ['mcp__a__x', 'mcp__a__x', 'a', 'allow'],
    ['mcp__my_server', 'mcp__my_server__x', 'my server', 'allow'],
    ['Custom', 'Custom', undefined, 'allow'],
    ['Custom', 'custom', undefined, 'ask'],
  ])('%s in allow, %s of %s: %s', (rule, tool, server, expected) =>
    expect(verdict({ allow: [rule] }, tool, server)).toBe(expected),
  );

  test('deny takes globs and any server it may mean', () => {
    for (const rule of ['*', 'mcp__*', 'mcp__a', 'mcp__a*', '*x'])
      expect(verdict({ deny: [rule] }, 'mcp__a__b__x', 'a__b')).toBe('deny');
    expect(verdict({ deny: ['mcp__c'] }, 'mcp__a__x', 'a')).toBe('ask');
  });

  test('a bare deny takes the tool away from the model', () => {
    const rules = rulesOf({ deny: ['Bash(*)', 'mcp__a', 'Web*', 'Read(x)', 'Task'] });
    expect(
      ['Bash', 'mcp__a__x', 'mcp__ab__x', 'WebFetch', 'Read', 'Agent'].filter((tool) => isToolRemoved(rules, tool)),
    ).toEqual(['Bash', 'mcp__a__x', 'WebFetch', 'Agent']);
  });

  test('rules follow the names of the tools that speak for others', () => {
    const write = { file_path: '/work/proj/a', content: '' };
    expect(decisionOf({ allow: ['Edit'] }, 'Write', write).behavior).toBe('allow');
    expect(decisionOf({ allow: ['Write'] }, 'Write', write).behavior).toBe('allow');
    expect(decisionOf({ allow: ['Write'] }, 'Edit', write).behavior).toBe('ask');
    expect(decisionOf({ ask: ['Edit'], mode: 'acceptEdits' }, 'Write', write).behavior).toBe('ask');
    expect(decisionOf({ deny: ['Read'] }, 'Grep', { pattern: 'x' }).behavior).toBe('deny');
    const old = { ...checkedCall('TaskStop', {}, place.root), aliases: ['KillShell'] };
    expect(decide(old, rulesOf({ allow: ['KillShell'] }), plainContext()).behavior).toBe('allow');
  });

  test('rules about a tool that nobody has are told', () => {
    const rules = rulesOf({ deny: ['Bsh', 'mcp__x', 'Wr*'], allow: ['bash', 'Bash'] });
    expect(unknownToolWarnings(rules, ['Bash']).map((warning) => warning.rule)).toEqual(['Bsh', 'bash']);
  });
});

describe('parameters, agents, skills', () => {
  const agent = {
    description: 'd',
    prompt: 'p',
    subagent_type: 'Explore',
    model: 'opus',
    run_in_background: true,
    n: 3,
    deep: { a: 1 },
  };
  test.each<[string, string]>([
    ['Agent(model:opus)', 'deny'],
    ['Agent( model : opus )', 'deny'],
    ['Agent(model:op*)', 'deny'],
    ['Agent(model:claude-opus)', 'allow'],
    ['Agent(isolation:*)', 'allow'],
    ['Agent(run_in_background:true)', 'deny'],
    ['Agent(n:3)', 'deny'],
    ['Agent(deep:*)', 'allow'],
    ['Agent(constructor:*)', 'allow'],
    ['Agent(Explore)', 'deny'],
    ['Agent(explore)', 'allow'],
    ['Task(Explore)', 'deny'],
  ])('%s in deny: %s', (rule, expected) =>
    expect(decisionOf({ deny: [rule] }, 'Agent', agent).behavior).toBe(expected),
  );

  test('a name that the model gives is forbidden like a type, and never allows', () => {
    expect(
      decisionOf({ deny: ['Agent(Explore)'] }, 'Agent', { ...agent, subagent_type: 'other', name: 'Explore' }).behavior,
    ).toBe('deny');
    expect(decisionOf({ deny: ['Agent(general-purpose)'] }, 'Agent', {}).behavior).toBe('deny');
  });

  test.each<[string, Record<string, unknown>, string]>([
    ['Skill(commit)', { skill: 'commit' }, 'allow'],
    ['Skill(commit)', { skill: '/commit' }, 'allow'],
    ['Skill(commit)', { skill: 'commit', args: 'x' }, 'ask'],
    ['Skill(commit *)', { skill: 'commit', args: 'x' }, 'allow'],
    ['Skill(commit:*)', { skill: 'commit' }, 'allow'],
    ['Skill(commit *)', { skill: 'commit-all' }, 'ask'],
    ['Skill(commit)', {}, 'ask'],
  ])('%s in allow, %j: %s', (rule, input, expected) =>
    expect(decisionOf({ allow: [rule] }, 'Skill', input).behavior).toBe(expected),
  );
  test('a skill is denied with arguments too', () => {
    expect(decisionOf({ deny: ['Skill(deploy)'] }, 'Skill', { skill: 'deploy', args: 'prod' }).behavior).toBe('deny');
  });
});

describe('WebFetch', () => {
  test.each<[string, string, string]>([
    ['example.com', 'https://example.com/a', 'allow'],
    ['Example.COM', 'http://EXAMPLE.com.:8080/', 'allow'],
    ['example.com', 'https://api.example.com/', 'ask'],
    ['*.example.com', 'https://a.b.example.com/', 'allow'],
    ['*.example.com', 'https://example.com/', 'ask'],
    ['*.example.com', 'https://badexample.com/', 'ask'],
    ['api.*.com', 'https://api.x.com/', 'allow'],
    ['api.*.com', 'https://api.x.y.com/', 'ask'],
    ['*', 'https://anything/', 'allow'],
    ['example.com', 'https://example.com@evil.test/', 'ask'],
    ['example.com', 'https://evil.test/#example.com', 'ask'],
    ['example.com', 'https://evil.test\\@example.com', 'ask'],
    ['example.com', 'file://example.com/etc/passwd', 'ask'],
    ['example.com', 'not a url', 'ask'],
  ])('domain:%s in allow, %s: %s', (domain, url, expected) =>
    expect(decisionOf({ allow: [`WebFetch(domain:${domain})`] }, 'WebFetch', { url, prompt: '' }).behavior).toBe(
      expected,
    ),
  );
});
