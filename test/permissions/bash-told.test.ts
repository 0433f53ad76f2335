import { afterAll, describe, expect, test } from 'vitest';
import { createBash } from './real-bash.ts';
import { bashVerdict } from './support.ts';

const bash = createBash();
afterAll(() => bash.close());
const deny = { allow: ['Bash'], deny: ['Bash(rm:*)'] };

describe('a program that is told by an option', () => {
  test.each([
    'sort --compress-program=rm f',
    'sort --compress-prog rm f',
    'sort --co rm f',
    'sort -S 1k --compress-program="$X" f',
    'sort {--compress-program=rm,f}',
    "split --filter='rm x' f",
    "rsync -e 'rm x' a b:",
    "rsync -avze 'rm x' a b:",
    "rsync --rsh='rm x' a b:",
    "rsync --rs 'rm x' a b:",
    'scp -S rm a b:',
    'scp -qS./rm a b:',
    "ssh -o ProxyCommand='rm x' h",
    "ssh -vo'ProxyCommand rm x' h",
    "ssh -oPermitLocalCommand=yes -o localcommand='rm x' h",
    'install -s --strip-program=rm a b',
    'wget --use-ask=rm u',
    'zip -T --unzip-command=rm a b',
    "man -P 'rm x' ls",
    "tar cf a b --us 'rm x'",
    "tar cf a b --inf 'rm x'",
    "tar cf a b --checkpoint=1 --checkpoint-='exec=rm x'",
  ])('%j asks or is denied for a forbidden program', (command) => {
    expect(bashVerdict(deny, command)).not.toBe('allow');
    const [name] = command.split(' ');
    expect(bashVerdict({ allow: [`Bash(${name}:*)`] }, command)).toBe('ask');
    expect(bashVerdict({ allow: [`Bash(${command})`] }, command)).toBe('allow');
  });

  test.each([
    'sort -k2 -t, --check -o out f',
    'sort --compress-program=gzip f',
    'sort --compress-prog zstd f',
    'split -l 5 f',
    'rsync -av --delete a b',
    "rsync -e 'ssh -p 22' -av a h:b",
    'rsync -az --exclude=e a b',
    'scp -P 22 a h:b',
    'ssh -o StrictHostKeyChecking=no -p 22 h ls',
    'install -m 755 a b',
    'man -P cat ls',
    'tar czf a.tgz --checkpoint=100 --checkpoint-action=dot b',
    'rg --pre-glob x y',
  ])('%j goes on as before', (command) => {
    expect(bashVerdict(deny, command)).toBe('allow');
    const [name] = command.split(' ');
    expect(bashVerdict({ allow: [`Bash(${name}:*)`] }, command)).toBe('allow');
  });

  test('as real sort runs it', () => {
    const command = 'for i in {1..20000}; do echo $i; done > big; sort -S 1k --compress-p rm big';
    expect(bash.run([command]).ran).toContain('rm');
    expect(bashVerdict(deny, command)).not.toBe('allow');
  });
});

describe('a program that git is told', () => {
  test.each([
    "git clone -ccore.sshCommand='rm victim; :' ssh://x/y z",
    "git clone -qc core.sshCommand='rm victim; :' ssh://x/y z",
    "git clone -qccore.sshCommand='rm victim; :' ssh://x/y z",
    "git clone --conf core.sshCommand='rm x' ssh://x/y z",
    "git clone --confi=core.sshCommand='rm x' ssh://x/y z",
    'git clone {-ccore.sshCommand=rm,ssh://x/y}',
    'git clone -c "$X" u',
    'git merge-index rm -a',
    'git merge-index -o rm -a',
    'git merge-index -o -q rm a',
    'git merge-index "$X" -a',
    '/usr/lib/git-core/git-merge-index rm -a',
    "git '-c' core.pager='rm x' -p log",
    "git archive --e='rm x' --remote=. HEAD",
    'git mergetool -t ../../../x',
    'git difftool --too=../../../x',
    'git difftool -t "$X"',
    "git send-email -to-cmd='rm x' p",
    "git send-email --TO-CMD 'rm x' p",
    "git send-email --sendmail-c='rm x' p",
    "git svn fetch --authors-prog='rm x'",
    "git config color.z '!rm x' && git config --rename-section color alias",
    "git config color.z '!rm x' && git config rename-section color alias",
    'git filter-repo --blob-callback x',
    'git $X',
    'git bisect run rm x',
    'git-bisect run rm x',
    "git-rebase -x 'rm x' main",
  ])('%j asks or is denied', (command) => {
    expect(bashVerdict(deny, command)).not.toBe('allow');
    expect(bashVerdict({ mode: 'bypassPermissions', deny: deny.deny }, command)).not.toBe('allow');
  });

  test.each([
    'echo --compress-program=rm | xargs sort -S1k f',
    'echo "-c alias.z=\'!rm x\' z" | xargs git',
    'echo "-x \'rm x\'" | xargs git rebase main',
    'echo -I rm | xargs tar cf a b',
    "env '-Srm' x",
    "mapfile '-C' 'rm x' -c 1 A < f",
    "sudo '-s' <<< 'rm x'",
  ])('%j asks or is denied, whatever comes in or is quoted', (command) =>
    expect(bashVerdict(deny, command)).not.toBe('allow'),
  );
  test.each(['ls | xargs sort --', 'ls | xargs git add', 'rg -l a | xargs rg b', 'ls | xargs git show -s --format=%h'])(
    '%j goes on as before',
    (command) => expect(bashVerdict(deny, command)).toBe('allow'),
  );
  test('nor does one that runs the job', () => {
    for (const command of ["git -c core.pager='nightshift allow j:1' -p log", "sed '1e nightshift allow j:1' f"])
      expect(bashVerdict({ allow: ['Bash'] }, command)).toBe('ask');
    expect(bashVerdict({ allow: ['Bash'] }, "git commit -m 'Let nightshift allow it'")).toBe('allow');
  });

  test.each([
    'git push x',
    'git-push x',
    '/usr/lib/git-core/git-push x',
    '/opt/libexec/git-core/git-push x',
    'timeout 5 /usr/lib/git-core/git-push x',
    'sudo git-push x',
    '/usr/lib/git-core/git push x',
    "git '-C' . push x",
    'git --attr-source HEAD push x',
    'git --shallow-file x push x',
    'git bisect view push x',
    'git bisect visualize push x',
  ])('%j is git push', (command) => {
    expect(bashVerdict({ allow: ['Bash'], deny: ['Bash(git push:*)'] }, command)).toBe('deny');
  });
  test('also with words from an input', () => {
    expect(bashVerdict({ allow: ['Bash'], deny: ['Bash(git push --force)'] }, 'ls | xargs git-push')).toBe('ask');
  });

  test.each([
    'git clone -c core.autocrlf=false -b main --depth=1 https://x/y',
    'git clone -qb main https://x/y z',
    'git clone --recurse-submodules https://x/y',
    'git difftool -t vimdiff a',
    'git mergetool --tool=meld',
    'git bisect view --oneline',
    'git bisect start && git bisect good',
    'git-lfs pull',
    'git show "$REV"',
    'git send-email --to=x@y p',
  ])('%j is looked at as git, and only runs git', (command) => {
    expect(bashVerdict(deny, command)).toBe('allow');
  });
});

describe('a command that gets more words than are written', () => {
  const exact = { allow: ['Bash(npm test)', 'Bash(echo:*)'] };
  test.each([
    'echo --script-shell=./x | xargs npm test',
    'echo x | timeout 5 xargs npm test',
    'echo x | xargs timeout 5 npm test',
    'echo x | xargs -n1 npm test',
    'find . -exec npm test {} +',
  ])('%j is not covered by an exact rule', (command) => expect(bashVerdict(exact, command)).toBe('ask'));
  test('it is by one with room for them, or that is the whole command', () => {
    expect(bashVerdict({ allow: ['Bash(npm test:*)'] }, 'ls | xargs npm test')).toBe('allow');
    expect(bashVerdict({ allow: ['Bash(npm *)'] }, 'ls | xargs npm test')).toBe('allow');
    expect(bashVerdict({ allow: ['Bash(xargs npm test)'] }, 'ls | xargs npm test')).toBe('allow');
    expect(bashVerdict({ allow: ['Bash(npm * x)'] }, 'ls | xargs npm test x')).toBe('ask');
    expect(bashVerdict(exact, 'timeout 5 npm test')).toBe('allow');
  });
  test('nor does it count as reading because of what is written', () => {
    for (const command of ['echo x | xargs npm --version', 'echo x | xargs git branch', 'echo x | xargs sort f'])
      expect(bashVerdict({}, command)).toBe('ask');
  });
});
