import { describe, expect, it } from 'vitest';
import { gitCommit } from '../../src/tools/git-commit.ts';

const heredoc = `git commit -m "$(cat <<'EOF'
Mend the till

It lost cents.
EOF
)"`;

describe('a command that is one git commit', () => {
  it.each([
    ['git commit -m made', { git: [], amend: false, subject: 'made' }],
    ["  git commit -am 'first line\nsecond'  ", { git: [], amend: false, subject: 'first line' }],
    ['git commit --message=made -q 2>&1', { git: [], amend: false, subject: 'made' }],
    ['git commit -mmade -- *.ts', { git: [], amend: false, subject: 'made' }],
    ['git -C "a b" -c user.name=x commit --amend --no-edit', { git: ['-C', 'a b', '-c', 'user.name=x'], amend: true }],
    ['git commit --am -m made', { git: [], amend: true, subject: 'made' }],
    ['git commit --fixup=HEAD -m more', { git: [], amend: false }],
    ['git commit', { git: [], amend: false }],
    ["git commit -F - <<'EOF'\nmade\nEOF", { git: [], amend: false }],
    ['git commit -m "$HOME was here"', { git: [], amend: false }],
    [heredoc, { git: [], amend: false }],
  ])('%s', (command, commit) => {
    expect(gitCommit(command)).toEqual(commit);
  });

  it.each([
    'git add -A && git commit -m made',
    'git commit -m made; true',
    'git commit -m made | cat',
    'git commit -m made &',
    'git commit -m made > log',
    'git commit -m made && git log -1',
    '(git commit -m made)',
    '! git commit -m made',
    'if true; then git commit -m made; fi',
    'timeout 5 git commit -m made',
    'sudo git commit -m made',
    'GIT_DIR=x git commit -m made',
    'git commit --dry-run',
    'git commit --dry',
    'git commit --short',
    'git commit -h',
    'git commit $OPTIONS',
    'git commit "$OPTION"',
    'git commit -m $MESSAGE',
    'git -C $DIR commit -m made',
    'git commit -m "$(./message.sh)"',
    'git commit -m "$(echo x > log)"',
    'git commit-tree HEAD',
    'git log --grep commit',
    'git push # commit',
    'echo git commit',
    'git commit -m "made',
    'git commit -m',
  ])('not: %s', (command) => {
    expect(gitCommit(command)).toBeUndefined();
  });
});
