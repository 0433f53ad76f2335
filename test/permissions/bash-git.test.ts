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
      /no rule allows `git status`, and git may run programs that this folder's own configuration names/,
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

describe('a deny rule for rm', () => {
  const deny = { allow: ['Bash'], deny: ['Bash(rm:*)'] };
  test.each([
    'git bisect run rm x',
    "git bisect run sh -c 'rm x'",
    "git rebase -x 'rm x' main",
    "git rebase -ix 'rm x' main",
    "git rebase -x'rm x' main",
    "git rebase --exec='rm x' main",
    "git rebase --exe 'rm x' main",
    "git submodule foreach 'rm x'",
    "git submodule foreach 'ls && rm x'",
    'git submodule --quiet foreach --recursive rm x',
    'git -C sub bisect run rm x',
    'fd a -x rm',
    'fd -e ts -X rm {}',
    'fd a --exec rm {} \\; -x ls',
    'npx rm x',
    'npx --yes rm x',
    'npx -p pkg rm x',
    "npx -c 'rm x'",
    'npm exec -- rm x',
    'pnpm dlx rm x',
    'uv run rm x',
  ])('denies %j', (command) => expect(bashVerdict(deny, command)).toBe('deny'));

  test.each([
    'git bisect run $X y',
    'git submodule foreach "$X"',
    'git rebase -x "$X" main',
    "git filter-branch --tree-filter 'rm x'",
    "git difftool -x 'rm x'",
    "git difftool -yx 'rm x'",
    "git difftool --extc='rm x'",
    "git grep -O'rm x' a",
    "git grep --open='rm x' a",
    "git -c core.pager='rm x' -p log",
    "git -c diff.external='rm x' diff",
    "git -c CORE.sshCommand='rm x' fetch",
    "git -c core.fsmonitor='rm x;' status",
    "git -c alias.z='!rm x' z",
    "git -c sequence.editor='rm x' rebase -i",
    'git -c core.pager="$X" -p log',
    'git -c "$X" log',
    'git --config-env=core.pager=X -p log',
    'git --config-env core.pager=X -p log',
    'git --exec-path=. status',
    "git config alias.z '!rm x'",
    "git config --global core.pager 'rm x'",
    'git config include.path ./x',
    "git clone -c core.sshCommand='rm x' u",
    "git clone --config=core.sshCommand='rm x' u",
    "git clone --template=. u && git clone -u 'rm x' u",
    "git fetch --upload-pack='rm x' .",
    "git push --receive-pack 'rm x' .",
    "GIT_SSH_COMMAND='rm x' git fetch",
    "GIT_SSH_COMMAND='ssh -o ProxyCommand=rm' git fetch",
    "GIT_EXTERNAL_DIFF='rm x' git diff",
    "EDITOR='rm x' git commit",
    "VISUAL='rm x' git commit",
    "PAGER='rm x' git -p log",
    "GIT_PAGER='rm x' git -p log",
    "GIT_EDITOR='rm x' git commit",
    "GIT_SEQUENCE_EDITOR='rm x' git rebase -i",
    "env EDITOR='rm x' git commit",
    "export EDITOR='rm x'; git commit",
    'GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0=rm git -p log',
    "tar -I 'rm x' -cf a b",
    "tar -cI'rm x' -f a b",
    "tar cIf 'rm x' a b",
    "tar xf a --to-command='rm x'",
    "tar xf a --to-com 'rm x'",
    "tar xf a --use-compress-program='rm x'",
    "tar cf a b --checkpoint=1 --checkpoint-action=exec='rm x'",
    "tar cf a b --checkpoint=1 --checkpoint-action 'exec=rm x'",
    "tar cMf a b -F 'rm x'",
    'fd rm /bin -x {} x',
    'fd a -xrm',
    "rg --pre 'rm' x",
    'rg --pre=rm x',
    "capsh -- -c 'rm x'",
    'ls | xargs npx',
  ])('asks about %j, which may run anything', (command) => expect(bashVerdict(deny, command)).toBe('ask'));

  test.each([
    "git -c user.name=x -c user.email='a@b c' commit -m x",
    'git -c core.quotePath=off -c color.ui=always status',
    'git -c core.hooksPath=/dev/null -c commit.gpgsign=false commit -m "$MSG"',
    'git -c http.extraHeader="AUTH: $T" fetch',
    'git -c core.pager=cat log',
    'git config user.name "A. B."',
    'git config --global init.defaultBranch main',
    'git config core.editor true',
    'git rebase -i main -X theirs',
    'git rebase -x "npm test" main',
    'git bisect run npm test',
    'git submodule foreach git pull',
    'git submodule update --init',
    'git clone --depth 1 https://example.org/x',
    'git push -u origin main',
    'git pull --rebase',
    'git grep -n x',
    'PAGER=cat git log',
    'GIT_PAGER= git log',
    'GIT_EDITOR=true git rebase --continue',
    'GIT_SEQUENCE_EDITOR=: git rebase -i main',
    "GIT_SSH_COMMAND='ssh -i ~/.ssh/id -o IdentitiesOnly=yes' git fetch",
    'tar xzf a.tgz',
    'tar -xzf a.tgz -C Images --strip-components=1',
    'tar -I zstd -xf a',
    "tar --use-compress-program='zstd -19 -T0' -cf a b",
    'tar czf a.tgz --exclude=x --to-stdout --checkpoint=100 b',
    'fd -e ts -x prettier --write {}',
    'rg --pretty --pre-glob x y',
    'npx vitest run rm',
    'npx --yes prettier -c rm',
    'npm exec -- tsc -p .',
    'npm run rm',
    'uv run pytest -x',
  ])('lets %j through as before', (command) => expect(bashVerdict(deny, command)).toBe('allow'));

  test('a pattern for git does not approve a program that git is told to run, an exact rule does', () => {
    expect(bashVerdict({ allow: ['Bash(git *)'] }, 'git bisect run curl x')).toBe('ask');
    expect(bashVerdict({ allow: ['Bash(git bisect run curl x)'] }, 'git bisect run curl x')).toBe('allow');
    expect(bashVerdict({ allow: ['Bash(fd *)'] }, 'fd -x curl')).toBe('ask');
    expect(bashVerdict({ allow: ['Bash(npx vitest *)'] }, 'npx vitest run')).toBe('allow');
  });
});
