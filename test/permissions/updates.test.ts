import { describe, expect, it } from 'vitest';
import { applyUpdate, asUpdates, type Updating } from '../../src/permissions/updates.ts';
import { mergeRules, withRules } from '../../src/permissions/rules.ts';
import type { Rules, RuleSource } from '../../src/shapes/permission.ts';
import { PermissionUpdate } from '../../src/shapes/permission-update.ts';

const at = { trusted: true, root: '/w', home: '/home/ada' };
const by: Updating = { by: './yes.sh', root: '/w', home: '/home/ada', bypass: false };
const local: RuleSource = { kind: 'local', base: '/w' };
const rules = mergeRules(
  [{ source: local, allow: ['Bash(make:*)', 'Read'], deny: ['Bash(rm:*)'], additionalDirectories: ['/data'] }],
  at,
);
const given = (more: Parameters<typeof withRules>[1]): Rules =>
  withRules(rules, more, { kind: 'session', base: '/w', hook: './yes.sh' });
const texts = (of: Rules, list: 'allow' | 'deny' | 'ask' = 'allow'): string[] => of[list].map(({ text }) => text);
const update = (entry: object): PermissionUpdate => PermissionUpdate.parse({ destination: 'session', ...entry });
const ofRules = (type: string, text: string, over: object = {}): PermissionUpdate => {
  const [, toolName, ruleContent] = /^(\w+)(?:\((.*)\))?$/.exec(text)!;
  return update({ type, rules: [{ toolName, ruleContent }], behavior: 'allow', ...over });
};

describe('a change that a hook asks for', () => {
  it.each<[what: string, PermissionUpdate, allow: string[], keep: unknown]>([
    ['adds a rule', ofRules('addRules', 'Bash(ls:*)'), ['Bash(make:*)', 'Read', 'Bash(ls:*)'], undefined],
    ['adds a whole tool', ofRules('addRules', 'WebFetch'), ['Bash(make:*)', 'Read', 'WebFetch'], undefined],
    [
      'adds a rule that a file has, since files may change',
      ofRules('addRules', 'Read', { destination: 'localSettings' }),
      ['Bash(make:*)', 'Read', 'Read'],
      { kind: 'add', list: 'allow', values: ['Read'] },
    ],
    [
      "takes back no file's rule for the job alone",
      ofRules('removeRules', 'Read'),
      ['Bash(make:*)', 'Read'],
      undefined,
    ],
    [
      'takes back what its file allowed',
      ofRules('removeRules', 'Read', { destination: 'localSettings' }),
      ['Bash(make:*)'],
      { kind: 'remove', list: 'allow', values: ['Read'] },
    ],
    [
      'takes back nothing that another file allowed',
      ofRules('removeRules', 'Read', { destination: 'userSettings' }),
      ['Bash(make:*)', 'Read'],
      { kind: 'remove', list: 'allow', values: ['Read'] },
    ],
    [
      'puts rules in the place of those of its file',
      ofRules('replaceRules', 'Bash(ls:*)', { destination: 'localSettings' }),
      ['Bash(ls:*)'],
      { kind: 'replace', list: 'allow', values: ['Bash(ls:*)'] },
    ],
  ])('%s, and twice is once', (_what, change, allow, keep) => {
    const once = applyUpdate(rules, change, by);
    expect(texts(once.rules)).toEqual(allow);
    expect(once.keep).toEqual(keep);
    expect(once.problems).toEqual([]);
    expect(applyUpdate(once.rules, change, by).rules).toEqual(once.rules);
  });

  it('puts rules in the place of those given before', () => {
    const before = given({ allow: ['Bash(a)', 'Bash(b)'] });
    const { rules: after } = applyUpdate(before, ofRules('replaceRules', 'Bash(c)'), by);
    expect(texts(after)).toEqual(['Bash(make:*)', 'Read', 'Bash(c)']);
    const none = applyUpdate(after, update({ type: 'replaceRules', rules: [], behavior: 'allow' }), by);
    expect(texts(none.rules)).toEqual(['Bash(make:*)', 'Read']);
  });

  it('never takes back a deny rule that the job was started with, wherever it is removed', () => {
    for (const destination of ['session', 'localSettings', 'userSettings']) {
      const change = ofRules('removeRules', 'Bash(rm:*)', { behavior: 'deny', destination });
      expect(texts(applyUpdate(rules, change, by).rules, 'deny')).toEqual(['Bash(rm:*)']);
      const other = ofRules('replaceRules', 'Bash(x)', { behavior: 'deny', destination });
      expect(texts(applyUpdate(rules, other, by).rules, 'deny')).toEqual(['Bash(rm:*)', 'Bash(x)']);
    }
  });

  it('does what it can of an entry and says what it can not', () => {
    const entry = update({
      type: 'addRules',
      behavior: 'allow',
      rules: [
        { toolName: 'Write', ruleContent: 'x' },
        { toolName: 'Edit', ruleContent: 'x' },
      ],
    });
    const after = applyUpdate(rules, entry, by);
    expect(texts(after.rules)).toEqual(['Bash(make:*)', 'Read', 'Edit(x)']);
    expect(after.problems).toEqual([expect.stringContaining('Write calls follow')]);
  });

  it('opens folders and closes them', () => {
    const folders = (type: string, directories: string[]) => update({ type, directories });
    const more = applyUpdate(rules, folders('addDirectories', ['~/notes', '../other', '/data']), by).rules;
    expect(more.directories).toEqual(['/home/ada/notes', '/other', '/data']);
    expect(applyUpdate(more, folders('removeDirectories', ['/data']), by).rules.directories).toEqual([
      '/home/ada/notes',
      '/other',
    ]);
  });

  it('gives nothing where managed settings let only their own count', () => {
    const managed = mergeRules([{ source: { kind: 'managed', base: '/etc' }, allow: ['Read'], managedOnly: true }], at);
    expect(managed.managedOnly).toBe(true);
    for (const change of [
      ofRules('addRules', 'Bash'),
      ofRules('replaceRules', 'Bash'),
      update({ type: 'addDirectories', directories: ['/'] }),
    ]) {
      const after = applyUpdate(managed, change, by);
      expect(after.rules).toEqual(managed);
      expect(after.problems).toHaveLength(1);
      expect(after.keep).toBeUndefined();
    }
    const stricter = applyUpdate(managed, ofRules('addRules', 'Bash', { behavior: 'deny' }), by);
    expect(texts(stricter.rules, 'deny')).toEqual(['Bash']);
  });
});

describe('a mode that a hook asks for', () => {
  const mode = (name: string, destination = 'session') => update({ type: 'setMode', mode: name, destination });

  it.each(['acceptEdits', 'plan', 'dontAsk', 'default'])('%s holds for the job', (name) => {
    expect(applyUpdate(rules, mode(name), by)).toMatchObject({ mode: name, rules: { mode: name }, problems: [] });
  });

  it('goes by its other name too, and into a file', () => {
    expect(applyUpdate(rules, mode('manual', 'userSettings'), by)).toMatchObject({
      mode: 'default',
      keep: { kind: 'mode', mode: 'default' },
    });
  });

  it.each<[what: string, Rules, PermissionUpdate, bypass: boolean]>([
    ['nobody knows', rules, mode('auto'), true],
    ['the job was not started in', rules, mode('bypassPermissions'), false],
    ['the settings forbid', { ...rules, disableBypass: true }, mode('bypassPermissions'), true],
    ['no file is to hold', rules, mode('bypassPermissions', 'userSettings'), true],
  ])('that %s is refused', (_what, before, change, bypass) => {
    const after = applyUpdate(before, change, { ...by, bypass });
    expect(after.rules).toBe(before);
    expect(after.mode).toBeUndefined();
    expect(after.keep).toBeUndefined();
    expect(after.problems).toHaveLength(1);
  });

  it('comes back to bypassPermissions where the job was started so', () => {
    expect(applyUpdate(rules, mode('bypassPermissions'), { ...by, bypass: true })).toMatchObject({
      mode: 'bypassPermissions',
    });
  });
});

describe('suggestions', () => {
  it('are what a hook may hand back', () => {
    const [entry] = asUpdates(['Bash(npm test:*)', 'WebFetch'], '/w');
    expect(PermissionUpdate.parse(entry)).toEqual({
      type: 'addRules',
      rules: [{ toolName: 'Bash', ruleContent: 'npm test:*' }, { toolName: 'WebFetch' }],
      behavior: 'allow',
      destination: 'session',
    });
    expect(asUpdates([], '/w')).toEqual([]);
  });
});
