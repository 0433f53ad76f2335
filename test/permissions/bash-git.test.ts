import { describe, expect, test } from 'vitest';
import { reasonText } from '../../src/permissions/chain.ts';
import { isConcurrencySafeBash } from '../../src/permissions/bash-readonly.ts';
import { suggestions } from '../../src/permissions/suggestions.ts';
import { bashVerdict, checkedCall, decisionOf, place, plainContext, rulesOf, type Setting } from './support.ts';

const looks = ['git status', 'git diff', 'git log -p', 'timeout 5 git show', 'git add x; git status', 'git version'];

describe('in a folder that nobody trusts', () => {
  const strange = { trusted: false };
  test.each(looks)('git asks, since the folder may name programs for it: %j', (command) => {
    for (const mode of ['default', 'acceptEdits', 'plan'])
      expect(bashVerdict({ ...strange, mode }, command)).toBe('ask');
    expect(bashVerdict({ ...strange, mode: 'dontAsk' }, command)).toBe('deny');
  });
  test('the question says why, and what lets it through', () => {
    const text = reasonText(decisionOf(strange, 'Bash', { command: 'git status' }));
    expect(text).toMatch(
      /no rule allows git status, and git may run programs that this folder's own configuration names/,
    );
    expect(text).toMatch(/nightshift trust .* Bash\(git status\)/);
    expect(reasonText(decisionOf(strange, 'Bash', { command: 'git push' }))).not.toMatch(/trust/);
  });
  test('a rule lets it through, and nothing else is asked about', () => {
    expect(bashVerdict({ ...strange, allow: ['Bash(git status)'] }, 'git status')).toBe('allow');
    expect(bashVerdict({ ...strange, allow: ['Bash(git status)'] }, 'git status && git log')).toBe('ask');
    for (const command of ['ls', 'cat x', 'git --version']) expect(bashVerdict(strange, command)).toBe('allow');
  });
  test('"always allow" offers that rule', () => {
    const call = checkedCall('Bash', { command: 'git status && git commit -m x' }, place.root);
    expect(suggestions(call, plainContext(), rulesOf(strange))).toEqual(['Bash(git status:*)', 'Bash(git commit:*)']);
    expect(suggestions(call, plainContext(), rulesOf({}))).toEqual(['Bash(git commit:*)']);
  });
  test('it may still run beside others', () => expect(isConcurrencySafeBash('git status')).toBe(true));
});

describe('where git would find its configuration', () => {
  const at = (cwd: string, folders: Readonly<Record<string, readonly string[]>> = {}): Setting => ({
    context: { cwd, list: (folder) => folders[folder] ?? [] },
  });
  const bare = ['HEAD', 'config', 'objects', 'refs'];
  test('a folder that looks like a repository asks, and so does what lies below it', () => {
    for (const mode of ['default', 'acceptEdits']) {
      expect(
        bashVerdict(
          { mode, ...at('/work/proj/x', { '/work/proj/x': bare, '/work/proj': ['.git', 'x'] }) },
          'git status',
        ),
      ).toBe('ask');
      expect(bashVerdict({ mode, ...at('/work/proj/x/y', { '/work/proj/x': bare }) }, 'git status')).toBe('ask');
      expect(bashVerdict({ mode, ...at('/work/proj', { '/work/proj': bare }) }, 'git status')).toBe('ask');
    }
    expect(
      reasonText(decisionOf(at('/work/proj/x', { '/work/proj/x': bare }), 'Bash', { command: 'git log' })),
    ).toMatch(/\/work\/proj\/x\/config names/);
  });
  test('one that stands behind a real repository does not', () => {
    const folders = { '/work/proj': ['.git', 'HEAD', 'sub'], '/work/proj/sub': ['a.ts'], '/work': ['HEAD'] };
    for (const cwd of ['/work/proj', '/work/proj/sub'])
      expect(bashVerdict(at(cwd, folders), 'git status')).toBe('allow');
  });
  test('a folder that may only be read asks, one that was given does not', () => {
    expect(bashVerdict({ ...at('/data/x'), allow: ['Read(//data/**)'] }, 'cat a')).toBe('allow');
    expect(bashVerdict({ ...at('/data/x'), allow: ['Read(//data/**)'] }, 'git status')).toBe('ask');
    expect(bashVerdict({ ...at('/data/x'), directories: ['/data'] }, 'git status')).toBe('allow');
  });
});

describe('what git is told to read', () => {
  test.each([
    'git diff a /etc/passwd',
    'git diff ../a b',
    'git blame --ignore-revs-file=/etc/passwd a',
    'git blame -S/etc/passwd a',
    'git log -- src/../../x',
    'git cat-file --t HEAD:a',
    'git config --list',
    'git config -l',
    'git config list',
    'git config --global --list',
    'git config --show-origin -l',
    'git config --get-regexp .',
    'git config --get-regexp=.',
    'git config --get-r .',
    'git config --global github.token',
    'git config --get http.https://example.org/.extraheader',
    'git config get credential.helper',
    'git config user.name x',
    'git config --get user.name --unset',
  ])('asks: %j', (command) => expect(bashVerdict({}, command)).toBe('ask'));
  test.each([
    'git diff main...dev -- src/a.ts /work/proj/b.ts',
    'git show HEAD~2:src/a.ts',
    'git log --format=%H/%s --since=2.weeks -S x -5',
    "git log ':/fix a' 'HEAD^{/bug}'",
    'git config user.name',
    'git config --get user.email',
    'git config --local core.hooksPath',
    'git config get remote.origin.url',
    'git config --global --get init.defaultBranch',
  ])('does not ask: %j', (command) => expect(bashVerdict({}, command)).toBe('allow'));
});
