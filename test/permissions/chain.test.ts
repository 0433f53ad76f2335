import { describe, expect, test } from 'vitest';
import { decide, reasonText, stillAllowed } from '../../src/permissions/chain.ts';
import { mergeRules } from '../../src/permissions/rules.ts';
import { bashVerdict, checkedCall, decisionOf, place, plainContext, rulesOf, type Setting } from './support.ts';

const hook = (behavior: 'allow' | 'ask' | 'deny') => ({ behavior, reason: 'because' });
const edit = { file_path: '/work/proj/src/a.ts', old_string: 'a', new_string: 'b' };

describe('the order of the judges', () => {
  const everything: Setting = {
    deny: ['Bash(x *)'],
    ask: ['Bash(x *)'],
    allow: ['Bash(x *)'],
    mode: 'bypassPermissions',
  };
  test.each<[string, Setting, string, string]>([
    ['a hook that denies comes first', { ...everything, hook: hook('deny') }, 'deny', 'hook'],
    ['then deny rules', { ...everything, hook: hook('allow') }, 'deny', 'rule'],
    ['then ask rules', { ...everything, deny: [], hook: hook('allow') }, 'ask', 'rule'],
    ['then a hook that asks', { allow: ['Bash'], mode: 'bypassPermissions', hook: hook('ask') }, 'ask', 'hook'],
    ['then the mode', { allow: ['Bash(x *)'], mode: 'bypassPermissions' }, 'allow', 'mode'],
    ['then allow rules', { allow: ['Bash(x *)'], hook: hook('allow') }, 'allow', 'rule'],
    ['then a hook that allows', { hook: hook('allow') }, 'allow', 'hook'],
    ['and what is left is asked', {}, 'ask', 'default'],
    ['unless nobody may be asked', { mode: 'dontAsk' }, 'deny', 'mode'],
  ])('%s', (_, setting, behavior, kind) => {
    const decision = decisionOf(setting, 'Bash', { command: 'x y' });
    expect(decision).toMatchObject({ behavior, reason: { kind } });
  });

  test('safety comes before mode, rules and hooks', () => {
    const setting: Setting = { allow: ['Bash'], mode: 'bypassPermissions', hook: hook('allow') };
    for (const command of [
      'rm -rf /',
      'ls $(',
      'nightshift allow 1',
      'sudo nightshift allow 1',
      'npx nightshift@1 trust',
      'node x/nightshift.js up',
      "bash -c 'nightshift allow'",
      "python -c \"run(['nightshift', 'allow'])\"",
      '/opt/bin/temporal workflow list',
      'pkill temporal',
      'env NIGHTSHIFT'.toLowerCase(),
    ])
      expect(decisionOf(setting, 'Bash', { command })).toMatchObject({ behavior: 'ask', reason: { kind: 'safety' } });
    for (const command of [
      'cat nightshift/README.md',
      'cd nightshift && npm test',
      'git commit -m "fix a temporal bug"',
      'grep -r temporal src',
      'npm test temporal.test.ts',
    ])
      expect(decisionOf(setting, 'Bash', { command })).toMatchObject({ behavior: 'allow' });
  });

  test("a tool's own verdict", () => {
    const call = checkedCall('Custom', {}, place.root);
    const check = (behavior: 'allow' | 'ask' | 'deny') =>
      decide(
        { ...call, traits: { ...call.traits, check: { behavior, text: 'Because.' } } },
        rulesOf({ allow: ['Custom'], mode: 'bypassPermissions' }),
        plainContext(),
      );
    expect([check('deny').behavior, check('ask').behavior, check('allow').behavior]).toEqual(['deny', 'ask', 'allow']);
  });

  test('a question to a person is answered by a person, or by a hook that brings the answer', () => {
    const ask = (setting: Setting) => decisionOf(setting, 'AskUserQuestion', {}).behavior;
    expect(ask({ mode: 'bypassPermissions', allow: ['AskUserQuestion'], hook: hook('allow') })).toBe('ask');
    expect(ask({ hook: { ...hook('allow'), answered: true } })).toBe('allow');
    const pay = { ...checkedCall('mcp__pay__send', {}, place.root), hook: { ...hook('allow'), answered: true } };
    const traits = { ...pay.traits, requiresInteraction: true, mcp: { server: 'pay', readOnly: false } };
    expect(decide({ ...pay, traits }, rulesOf({}), plainContext()).behavior).toBe('ask');
  });
});

describe('modes', () => {
  test.each<[string, string, Record<string, unknown>, string]>([
    ['plan', 'Edit', edit, 'ask'],
    ['plan', 'Read', { file_path: '/work/proj/a' }, 'allow'],
    ['acceptEdits', 'Edit', edit, 'allow'],
    ['acceptEdits', 'Write', { file_path: '/work/other', content: '' }, 'ask'],
    ['acceptEdits', 'Write', { file_path: '/work/proj/.claude/settings.json', content: '' }, 'ask'],
    ['dontAsk', 'Write', { file_path: '/work/proj/.claude/settings.json', content: '' }, 'deny'],
    ['bypassPermissions', 'Write', { file_path: '/work/proj/.git/config', content: '' }, 'allow'],
    ['manual', 'Edit', edit, 'ask'],
    ['auto', 'Edit', edit, 'ask'],
  ])('%s: %s %j: %s', (mode, tool, input, expected) =>
    expect(decisionOf({ mode }, tool, input).behavior).toBe(expected),
  );

  test('plan asks about commands that write, even when a rule allows them', () => {
    const setting = { mode: 'plan', allow: ['Bash', 'Edit'] };
    for (const command of [
      'touch x',
      'npm test > out',
      'git commit -m x',
      'sed -i s/a/b/ x',
      'ls | tee x',
      "bash -c 'rm x'",
      '$X',
      'cp a b',
      'find . -delete',
    ])
      expect(bashVerdict(setting, command)).toBe('ask');
    for (const command of ['ls', 'npm test', 'git log']) expect(bashVerdict(setting, command)).toBe('allow');
    expect(decisionOf(setting, 'Edit', edit).behavior).toBe('ask');
  });

  test('acceptEdits covers file commands inside the folders, and only those', () => {
    for (const command of [
      'touch a',
      'mkdir -p a/b',
      'rm -rf build',
      'mv a b',
      'cp -r a b',
      "sed -i 's/a/b/' x",
      'NO_COLOR=1 timeout 5 touch x',
      'touch a && ls',
    ])
      expect(bashVerdict({ mode: 'acceptEdits' }, command)).toBe('allow');
    for (const command of [
      'touch ../a',
      'rm /etc/x',
      'mv /data/a .',
      'cp a ~',
      'cp -t /etc a',
      'cp --target-directory=/etc a',
      'touch .git/hooks/x',
      'cp a .git/hooks',
      'cp x/.mcp.json .',
      'cp -r x/. .',
      'mv x/.claude .',
      'touch "$X"',
      'rm *',
      "sed -i 's/a/b/e' x",
      'FOO=1 touch x',
      'touch a && npm test',
      'touch',
      'ln -s /etc x',
      'chmod +x a',
      'ls | xargs rm',
      'rm -rf .git',
    ])
      expect(bashVerdict({ mode: 'acceptEdits' }, command), command).toBe('ask');
  });

  test('a forbidden bypass is default, and a changed mode counts at once', () => {
    const source = { kind: 'managed', base: '/etc' } as const;
    const rules = mergeRules([{ source, disableBypass: true, defaultMode: 'bypassPermissions' }], {
      trusted: true,
      ...place,
    });
    expect(decide(checkedCall('Edit', edit, place.root), rules, plainContext()).behavior).toBe('ask');
    expect(decide(checkedCall('Edit', edit, place.root), rules, plainContext({ mode: 'acceptEdits' })).behavior).toBe(
      'allow',
    );
    expect(
      decide(checkedCall('Edit', edit, place.root), rules, plainContext({ mode: 'bypassPermissions' })).behavior,
    ).toBe('ask');
  });

  test('a sandbox makes questions about all of Bash pointless, but not rules about commands', () => {
    const sandboxed: Setting = { ask: ['Bash'], context: { sandboxed: true } };
    expect(bashVerdict(sandboxed, 'make all')).toBe('allow');
    expect(bashVerdict({ ...sandboxed, ask: ['Bash(make *)'] }, 'make all')).toBe('ask');
    expect(bashVerdict({ ...sandboxed, deny: ['Bash(make *)'] }, 'make all')).toBe('deny');
    expect(bashVerdict(sandboxed, 'rm -rf /')).toBe('ask');
    expect(bashVerdict({ ...sandboxed, mode: 'plan' }, 'make all')).toBe('ask');
    expect(decisionOf(sandboxed, 'Bash', { command: 'make all', dangerouslyDisableSandbox: true }).behavior).toBe(
      'ask',
    );
  });
});

describe('what a person allowed', () => {
  const still = (setting: Setting, command: string, edited = false) =>
    stillAllowed(checkedCall('Bash', { command }, place.root), rulesOf(setting), plainContext(), { edited });

  test('runs, whatever ask rules, modes and safety checks say', () => {
    expect(still({ ask: ['Bash'] }, 'npm test')).toBeUndefined();
    expect(still({ mode: 'dontAsk' }, 'npm test')).toBeUndefined();
    expect(still({}, 'rm -rf ~')).toBeUndefined();
  });
  test('is stopped by a deny rule that came later', () => {
    expect(still({ deny: ['Bash(npm *)'] }, 'npm test')).toMatchObject({ behavior: 'deny' });
  });
  test('meets ask rules and safety checks again when the input was edited', () => {
    expect(still({ ask: ['Bash(npm *)'] }, 'npm test', true)).toMatchObject({ behavior: 'ask' });
    expect(still({}, 'rm -rf ~', true)).toMatchObject({ behavior: 'ask' });
    expect(still({}, 'touch .git/x', true)).toMatchObject({ behavior: 'ask', reason: { kind: 'safety' } });
    expect(still({}, 'echo a > .git/x', true)).toMatchObject({ behavior: 'ask', reason: { kind: 'safety' } });
    expect(still({}, 'touch .git/x', false)).toBeUndefined();
    expect(still({ mode: 'bypassPermissions' }, 'touch .git/x', true)).toBeUndefined();
    const hook = checkedCall('Write', { file_path: '/work/proj/.git/hooks/pre-push', content: 'x' }, place.root);
    expect(stillAllowed(hook, rulesOf({}), plainContext(), { edited: true })).toMatchObject({ behavior: 'ask' });
    expect(still({}, 'npm test', true)).toBeUndefined();
  });
});

describe('nightshift keeps its own state to itself', () => {
  const context = { nightshiftHome: '/home/dev/.nightshift', readable: ['/home/dev/.nightshift/jobs/a/tool-results'] };
  const all: Setting = { mode: 'bypassPermissions', allow: ['Read', 'Edit', 'Bash'], context };
  test.each([
    ['Read', { file_path: '/home/dev/.nightshift/token' }, 'ask'],
    ['Write', { file_path: '/home/dev/.nightshift/jobs/a/record.json', content: '' }, 'ask'],
    ['Write', { file_path: '/home/dev/.nightshift/jobs/a/tool-results/1.txt', content: '' }, 'ask'],
    ['Read', { file_path: '/home/dev/.nightshift/jobs/a/tool-results/1.txt' }, 'allow'],
    ['Read', { file_path: '/home/dev/.nightshift/jobs/a/tool-results/../record.json' }, 'ask'],
    ['Bash', { command: 'cat ~/.nightshift/token' }, 'ask'],
    ['Bash', { command: 'anything --file=$HOME/.nightshift/token' }, 'ask'],
    ['Bash', { command: 'cat ~/.nightshift/jobs/a/tool-results/1.txt' }, 'allow'],
    ['Bash', { command: 'rm -r ~/.nightshift' }, 'ask'],
    ['Bash', { command: 'cd ~/.nightshift && ls' }, 'ask'],
    ['Bash', { command: 'cd ~ && cat .nightshift/token' }, 'ask'],
  ])('%s %j: %s', (tool, input, expected) => expect(decisionOf(all, tool, input).behavior).toBe(expected));

  test('but a workspace inside its home is a workspace', () => {
    const root = '/home/dev/.nightshift/worktrees/a';
    const inside = plainContext({ root, cwd: root, nightshiftHome: '/home/dev/.nightshift' });
    expect(decide(checkedCall('Read', { file_path: `${root}/x` }, root), rulesOf({}), inside).behavior).toBe('allow');
    expect(decide(checkedCall('Bash', { command: `cat ${root}/x` }, root), rulesOf({}), inside).behavior).toBe('allow');
    expect(
      decide(
        checkedCall('Read', { file_path: '/home/dev/.nightshift/token' }, root),
        rulesOf({ allow: ['Read'] }),
        inside,
      ).behavior,
    ).toBe('ask');
  });
});

test('every decision can be read', () => {
  const texts = [
    reasonText(decisionOf({ deny: ['Bash(x *)'] }, 'Bash', { command: 'x y' })),
    reasonText(decisionOf({ mode: 'dontAsk' }, 'Bash', { command: 'x y' })),
    reasonText(decisionOf({}, 'Bash', { command: 'ls && x y' })),
    reasonText(decisionOf({}, 'Read', { file_path: '/etc/x' })),
    reasonText({ behavior: 'allow', reason: { kind: 'person', by: 'ann' } }),
  ];
  expect(texts).toEqual([
    'The deny rule Bash(x *) of the user settings covers it.',
    'The permission mode is dontAsk: nobody is asked in this mode (It is not allowed as a whole: no rule allows `x y`.).',
    'It is not allowed as a whole: no rule allows `x y`.',
    'It reads outside the working folders, and no rule allows that.',
    'ann decided so.',
  ]);
});
