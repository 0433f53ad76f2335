import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { decide } from '../../src/permissions/chain.ts';
import { hiddenFromReads } from '../../src/permissions/hidden.ts';
import { mergeRules, type RuleLayer } from '../../src/permissions/rules.ts';
import { checkedCall, contextAt, decisionOf, place, plainContext, rulesOf } from './support.ts';

const read = (rules: { allow?: string[]; deny?: string[] }, path: string) =>
  decisionOf(rules, 'Read', { file_path: path }).behavior;
const edit = (rules: { allow?: string[]; deny?: string[]; ask?: string[] }, path: string) =>
  decisionOf(rules, 'Edit', { file_path: path }).behavior;

describe('a path rule', () => {
  test.each<[string, string, string]>([
    ['//etc/hosts', '/etc/hosts', 'allow'],
    ['//etc/**', '/etc/a/b', 'allow'],
    ['//etc/*', '/etc/a/b', 'allow'],
    ['//etc/*.d', '/etc/a.conf', 'ask'],
    ['~/notes/**', '/home/dev/notes/a', 'allow'],
    ['~/notes', '/home/dev/notes2', 'ask'],
    ['/x/**', '/home/dev/.claude/x/a', 'allow'],
    ['/x/**', '/work/proj/../x/a', 'ask'],
    ['../shared/**', '/work/shared/a', 'allow'],
    ['../../etc/**', '/etc/a', 'allow'],
    ['//Etc/**', '/etc/a', 'ask'],
  ])('Read(%s) in allow, %s: %s', (pattern, path, expected) =>
    expect(read({ allow: [`Read(${pattern})`] }, path)).toBe(expected),
  );

  test.each<[string, string, string]>([
    ['.env', '/work/proj/.env', 'deny'],
    ['.env', '/work/proj/a/b/.env', 'deny'],
    ['./.env', '/work/proj/a/.env', 'deny'],
    ['.env', '/work/.env', 'ask'],
    ['*.pem', '/work/proj/a/k.pem', 'deny'],
    ['secrets/**', '/work/proj/a/secrets/b', 'deny'],
    ['a/secrets/**', '/work/proj/b/a/secrets/c', 'allow'],
    ['/secrets', '/home/dev/.claude/secrets/a', 'deny'],
    ['secrets/', '/work/proj/secrets/a', 'deny'],
    ['#notes', '/work/proj/#notes', 'deny'],
    ['**', '/work/proj/x', 'deny'],
    ['a[bc]d', '/work/proj/abd', 'deny'],
    ['a\\*b', '/work/proj/axb', 'allow'],
    ['a\\*b', '/work/proj/a*b', 'deny'],
  ])('Read(%s) in deny, %s: %s', (pattern, path, expected) =>
    expect(read({ deny: [`Read(${pattern})`] }, path)).toBe(expected),
  );

  test('about one folder allows only right here, forbids anywhere', () => {
    expect(edit({ allow: ['Edit(src/**)'] }, '/work/proj/src/a')).toBe('allow');
    expect(edit({ allow: ['Edit(src/**)'] }, '/work/proj/v/src/a')).toBe('ask');
    expect(edit({ allow: ['Edit'], deny: ['Edit(src/**)'] }, '/work/proj/v/src/a')).toBe('deny');
    expect(edit({ allow: ['Edit'], ask: ['Edit(src/**)'] }, '/work/proj/v/src/a')).toBe('ask');
    expect(edit({ allow: ['Edit(./a.md)'] }, '/work/proj/v/a.md')).toBe('ask');
  });

  test('to edit is to read, not to read is not to edit, but in notebooks', () => {
    expect(read({ allow: ['Edit(//data/**)'] }, '/data/x')).toBe('allow');
    expect(edit({ allow: ['Read(//data/**)'] }, '/data/x')).toBe('ask');
    expect(edit({ allow: ['Edit'], deny: ['Read(x)'] }, '/work/proj/x')).toBe('deny');
    const notebook = { ...checkedCall('Edit', { file_path: '/work/proj/x' }, place.root), tool: 'NotebookEdit' };
    expect(decide(notebook, rulesOf({ allow: ['Edit'], deny: ['Read(x)'] }), plainContext()).behavior).toBe('allow');
    expect(decide(notebook, rulesOf({ allow: ['Edit'], deny: ['Edit(x)'] }), plainContext()).behavior).toBe('deny');
  });

  test('goes on meaning the folder where the job started, and a deny the current one too', () => {
    const away = plainContext({ cwd: '/work/proj/sub' });
    const call = (path: string) => checkedCall('Edit', { file_path: path }, away.cwd);
    expect(decide(call('/work/proj/sub/src/a'), rulesOf({ allow: ['Edit(src/**)'] }), away).behavior).toBe('ask');
    expect(decide(call('/work/proj/src/a'), rulesOf({ allow: ['Edit(src/**)'] }), away).behavior).toBe('allow');
    expect(decide(call('/work/proj/x'), rulesOf({ allow: ['Edit'], deny: ['Edit(x)'] }), away).behavior).toBe('deny');
    const outside = plainContext({ cwd: '/other' });
    expect(decide(call('/other/.env'), rulesOf({ allow: ['Edit'], deny: ['Edit(.env)'] }), outside).behavior).toBe(
      'deny',
    );
  });
});

describe('links', () => {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'path-rules-')));
  afterAll(() => rmSync(top, { recursive: true, force: true }));
  const root = join(top, 'proj');
  const home = join(top, 'home');
  mkdirSync(join(root, 'src'), { recursive: true });
  mkdirSync(join(home, '.ssh'), { recursive: true });
  mkdirSync(join(top, 'shared'));
  writeFileSync(join(home, '.ssh/id'), 'key');
  symlinkSync(join(home, '.ssh/id'), join(root, 'src/notes'));
  symlinkSync(join(top, 'shared'), join(root, 'src/shared'));
  symlinkSync(join(home, 'nothing-yet'), join(root, 'src/dangling'));
  symlinkSync(root, join(top, 'link'));
  symlinkSync(join(root, '.git'), join(root, 'src/plain'));

  const verdict = (setting: Omit<RuleLayer, 'source'>, tool: string, input: Record<string, unknown>, from = root) =>
    decide(
      checkedCall(tool, input, from),
      mergeRules([{ source: { kind: 'project', base: from }, ...setting }], { trusted: true, root: from, home }),
      contextAt(from, home),
    ).behavior;

  test('an allow needs the name and the target', () => {
    expect(verdict({ allow: ['Edit(src/**)'] }, 'Edit', { file_path: join(root, 'src/shared/a') })).toBe('ask');
    expect(
      verdict({ allow: ['Edit(src/**)', `Edit(/${top}/shared/**)`] }, 'Edit', {
        file_path: join(root, 'src/shared/a'),
      }),
    ).toBe('ask');
    expect(verdict({ allow: [`Edit(/${top}/**)`] }, 'Edit', { file_path: join(root, 'src/shared/a') })).toBe('allow');
  });
  test('a deny needs only one of them', () => {
    expect(verdict({ deny: ['Read(~/.ssh/**)'] }, 'Read', { file_path: join(root, 'src/notes') })).toBe('deny');
    expect(verdict({ deny: ['Read(src/notes)'] }, 'Read', { file_path: join(root, 'src/notes') })).toBe('deny');
    expect(verdict({ allow: ['Bash'], deny: ['Read(~/.ssh/**)'] }, 'Bash', { command: 'cat src/no*' })).toBe('deny');
    expect(verdict({ allow: ['Bash'], deny: ['Read(~/.ssh/**)'] }, 'Bash', { command: 'cat s?c/no*' })).toBe('deny');
    expect(
      verdict({ allow: ['Bash'], deny: [`Read(/${top}/shared/**)`] }, 'Bash', { command: 'cat src/shared/*' }),
    ).toBe('deny');
  });
  test('that lead out of the folder are outside, also when they lead to nothing yet', () => {
    expect(verdict({}, 'Read', { file_path: join(root, 'src/notes') })).toBe('ask');
    expect(verdict({}, 'Bash', { command: 'cat src/notes' })).toBe('ask');
    expect(verdict({}, 'Bash', { command: 'cat src/*' })).toBe('ask');
    expect(verdict({}, 'Bash', { command: 'grep -R key src' })).toBe('ask');
    expect(verdict({ defaultMode: 'acceptEdits' }, 'Write', { file_path: join(root, 'src/dangling') })).toBe('ask');
    expect(verdict({ defaultMode: 'acceptEdits' }, 'Bash', { command: 'echo x > src/dangling' })).toBe('ask');
  });
  test('to protected folders are protected', () => {
    expect(verdict({ defaultMode: 'acceptEdits' }, 'Write', { file_path: join(root, 'src/plain/config') })).toBe('ask');
  });
  test('a folder that is a link itself is still the working folder', () => {
    const from = join(top, 'link');
    expect(verdict({}, 'Read', { file_path: join(from, 'src/a') }, from)).toBe('allow');
    expect(verdict({}, 'Read', { file_path: join(root, 'src/a') }, from)).toBe('allow');
    expect(verdict({ deny: ['Read(src/a)'] }, 'Read', { file_path: join(root, 'src/a') }, from)).toBe('deny');
    expect(verdict({ allow: ['Edit(src/**)'] }, 'Edit', { file_path: join(from, 'src/a') }, from)).toBe('allow');
  });
});

test('a search leaves out what may not be read', () => {
  const context = plainContext({ nightshiftHome: '/work/proj/.state' });
  const hidden = hiddenFromReads(rulesOf({ deny: ['Read(.env)', 'Read(secrets/**)', 'Edit(x)'] }), context);
  expect(
    ['.env', 'a/.env', 'secrets/a', 'x', 'src/a', '.state/token'].filter((path) => hidden(`/work/proj/${path}`)),
  ).toEqual(['.env', 'a/.env', 'secrets/a', '.state/token']);
  expect(hiddenFromReads(rulesOf({ deny: ['Read'] }), context)('/work/proj/a')).toBe(true);
});

test.each([
  '.git/config',
  'a/.GIT/config',
  '.claude/settings.json',
  '.mcp.json',
  'sub/.bashrc',
  '.yarnrc.yml',
  'lefthook.yml',
  '.config/git/ignore',
  '.husky/x',
  '.pnp.cjs',
  'gradle/wrapper/gradle-wrapper.properties',
  '.claude/worktrees',
  '.claude/worktrees/a/.git/config',
])('%s is protected', (path) =>
  expect(
    decisionOf({ mode: 'acceptEdits', allow: ['Edit'] }, 'Write', { file_path: `/work/proj/${path}` }).behavior,
  ).toBe('ask'),
);
test.each(['.github/x', 'git/config', '.claude/worktrees/a/x', '.gitignore', 'package.json', '.envrc.example'])(
  '%s is not',
  (path) =>
    expect(decisionOf({ mode: 'acceptEdits' }, 'Write', { file_path: `/work/proj/${path}` }).behavior).toBe('allow'),
);
