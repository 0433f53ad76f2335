import { afterAll, describe, expect, test } from 'vitest';
import { createBash } from './real-bash.ts';
import { bashVerdict } from './support.ts';

const bash = createBash();
afterAll(() => bash.close());

/** A rule for the very program, with its subcommand for git. */
function narrow(command: string): { allow: string[] } {
  const [name, second] = command.split(' ');
  return { allow: [`Bash(${name === 'git' ? `git ${second}` : name}:*)`] };
}

describe('a file that a program is told to write by the side', () => {
  const forms = (file: string): string[] => [
    `git log -1 --format=x --output=${file}`,
    `git log --output ${file}`,
    `git log --outp=${file} -1`,
    `git diff --outpu ${file}`,
    `git show HEAD --output=${file}`,
    `git stash show -p --output=${file}`,
    `git rev-list --output=${file} HEAD`,
    `git blame --output=${file} a`,
    `git shortlog --output=${file} HEAD`,
    `git cherry-pick --output=${file} HEAD`,
    `git diff '--output'=${file}`,
    `git format-patch -o ${file} -1`,
    `git format-patch -qo ${file} -1`,
    `git format-patch -o${file} -1`,
    `git format-patch --output-d ${file} -1`,
    `git format-patch --output=${file} -1`,
    `git archive -o ${file} HEAD`,
    `git archive -vo${file} HEAD`,
    `git archive --outp=${file} HEAD`,
    `git bundle create ${file} HEAD`,
    `git bundle create -q ${file} HEAD`,
    `git config -f ${file} user.name c`,
    `git config --fil=${file} user.name c`,
    `sort -o ${file} a`,
    `sort -uo ${file} a`,
    `sort -uo${file} a`,
    `sort --output=${file} a`,
    `sort --outp ${file} a`,
    `sort --o=${file} a`,
    `shuf -o ${file} a`,
    `iconv -f latin1 -o ${file} a`,
    `sed 's/a/b/w ${file}' a.txt`,
    `sed -n 's/a/b/gpw ${file}' a.txt`,
    `sed 'w ${file}' a.txt`,
    `sed 'w${file}' a.txt`,
    `sed '/x/W ${file}' a.txt`,
    `sed -e p -e '1,3{w ${file}' -e '}' a.txt`,
    `sed --expr='w ${file}' a.txt`,
    `sed -ne's,a,b,w ${file}' a.txt`,
    `tree -ao ${file}`,
    `uniq a ${file}`,
    `uniq -f 1 a ${file}`,
  ];
  test.each(forms('.git/config'))('%j asks although a rule allows the program', (command) => {
    expect(bashVerdict(narrow(command), command)).toBe('ask');
    expect(bashVerdict({ allow: ['Bash'] }, command)).toBe('ask');
  });
  test.each(forms('../x'))('%j asks, outside of the folders', (command) => {
    expect(bashVerdict(narrow(command), command)).toBe('ask');
    expect(bashVerdict({ allow: [...narrow(command).allow, 'Edit(//work/**)'] }, command)).toBe('allow');
  });
  test.each(forms('P/f'))('%j is seen by a deny rule, and in plan mode', (command) => {
    const rules = { allow: ['Bash'], deny: ['Edit(P/**)'] };
    expect(bashVerdict(rules, command)).toBe('deny');
    expect(bashVerdict({ allow: ['Bash'], mode: 'plan' }, command)).toBe('ask');
  });
  test.each(forms('out.txt'))('%j is covered inside', (command) => {
    expect(bashVerdict(narrow(command), command)).toBe('allow');
  });

  test.each(['git diff {--output=P/f,a}', 'git archive {-o,P/f} HEAD', 'sort {-o,P/f} a', 'sort a ${X:--oP/f}'])(
    '%j asks, since an option is made when it runs',
    (command) => {
      expect(bashVerdict(narrow(command), command)).toBe('ask');
      expect(bashVerdict({ allow: ['Bash'], deny: ['Edit(P/**)'] }, command)).toBe('ask');
      expect(bashVerdict({ allow: ['Bash'], mode: 'plan' }, command)).toBe('ask');
    },
  );
  test('of a path that is known in part, the known part counts', () => {
    for (const command of [
      'tee .git/hooks/"$X"',
      'echo x > .git/$X',
      'cp a ~/.ssh/../.git/$X',
      'touch .git/hooks/{a,b}',
    ])
      expect(bashVerdict({ allow: ['Bash'] }, command)).toBe('ask');
    expect(bashVerdict({ allow: ['Bash'] }, 'tee out/"$X" > src/$Y.ts')).toBe('allow');
  });
  test('git walks first', () => {
    expect(bashVerdict({ allow: ['Bash(git *)'] }, 'git -C .git log --output=config')).toBe('ask');
    expect(bashVerdict({ allow: ['Bash(git *)'] }, 'git -C a -C ../.git log --output=config')).toBe('ask');
    expect(bashVerdict({ allow: ['Bash(git *)'] }, 'git -C sub log --output=out')).toBe('allow');
  });
  test('a word that is only known when it runs may be such an option', () => {
    const log = { allow: ['Bash(git log:*)', 'Bash(sort:*)'] };
    expect(bashVerdict(log, 'for x in --output=.git/config; do git log $x; done')).toBe('ask');
    expect(bashVerdict(log, 'git log "$(echo --output=.git/config)"')).toBe('ask');
    expect(bashVerdict(log, 'echo --output=.git/config | xargs git log -1')).toBe('ask');
    expect(bashVerdict(log, 'echo -o .git/config | xargs sort')).toBe('ask');
    expect(bashVerdict(log, 'git log -- "$FILE"')).toBe('allow');
    expect(bashVerdict(log, 'git log --since="$DATE" -n5 v$VERSION')).toBe('allow');
    expect(bashVerdict(log, 'ls | xargs git log --')).toBe('allow');
    expect(bashVerdict(log, 'git log "$TAG"..HEAD "$A...origin/main"')).toBe('allow');
    expect(bashVerdict(log, 'git log $TAG..HEAD')).toBe('ask');
    expect(bashVerdict(log, 'git log "$TAG/config"')).toBe('ask');
    expect(bashVerdict({ allow: ['Bash'], deny: ['Edit(P/**)'] }, 'git log "$REV"')).toBe('allow');
  });
  test('as real programs write it', () => {
    for (const command of [
      "sed 'w p7' f.txt",
      "sed -n 's/t/b/w p7' f.txt",
      "sed '1W p7' f.txt",
      'sort --outp p7 f.txt',
    ])
      expect(bash.run([command]).changed).toBe(true);
    expect(bash.run(["mkdir -p q; sed -i'd/*.bak' s/t/b/ f.txt"]).changed).toBe(true);
  });
});

describe('a deny rule for a folder', () => {
  const rules = { allow: ['Bash'], deny: ['Edit(P/**)'] };
  test.each([
    'tar xf a.tar -C P',
    'tar -xf a.tar -CP',
    'tar xfC a.tar P',
    'tar -xzf a.tar --directory=P/sub',
    'tar --extract --file a.tar --direc P',
    'tar xf a.tar -C . -C P',
    'tar xf a.tar --one-top-level=P',
    'tar cf P/f a',
    'tar -czvf P/f a',
    'tar --create --file=P/f a',
    'tar -rf P/f a',
    'unzip -d P a.zip',
    'unzip a.zip -dP',
    'unzip -qod P a.zip',
    'cd P && unzip ../a.zip',
    'zip P/f a',
    'gzip P/f',
    'gunzip -k P/f.gz',
    'cpio -idm -D P',
    'split -b 5 a P/x',
    'csplit -f P/x a 5',
    'patch P/f',
    'patch -p1 -d P',
    'patch -o P/f a b',
    'git checkout -- P/f',
    'git checkout HEAD~1 P/f',
    'git checkout HEAD~1 -- P',
    'git restore P/f',
    'git restore -s HEAD~1 --worktree P/f',
    'git mv a.txt P/f',
    'git mv a.txt P',
    'git mv P/f a.txt',
    'git rm -q P/f',
    'git clean -fdx P',
    'git -C P checkout -- f',
    'git --work-tree=P checkout -- f',
    'git --work-tree P checkout main',
    'git clone https://example.org/x P/x',
    'git worktree add P/x main',
    'git init P/x',
    'git stash push P/f',
    'git apply --directory=P x.patch',
    'cp -vt P a',
    'cp -vtP a',
    'install -vDt P a',
    'install -m 755 a P/f',
    'rsync -rt a P/f',
    'rsync a P/f -e ssh',
    'rsync -a --backup-dir=P a b',
    'curl -so P/f u',
    'curl -sLoP/f u',
    'curl --outp P/f u',
    'curl --output-dir P -O u',
    'cd P && curl -O u',
    'wget -qO P/f u',
    'wget -P P u',
    'cd P && wget u',
    "sed -i'P/*' s/a/b/ f",
    'sed --in-place=P/ s/a/b/ f',
    'timeout 5 git restore P/f',
  ])('denies %j', (command) => expect(bashVerdict(rules, command)).toBe('deny'));

  test.each([
    'echo P/f | xargs touch',
    'echo P/f | xargs rm',
    'echo P/f | xargs -n1 tee',
    'echo P/f | xargs git restore',
    'echo P/f | xargs cp a',
    'tar xf a.tar -C "$X"',
    'git restore "$X"',
    'git checkout -- "$X"',
    'sed "w $X" a',
    'sed -i"$S" s/a/b/ "$X"',
    'echo x > /proc/self/cwd/P/f',
  ])('asks about %j', (command) => expect(bashVerdict(rules, command)).toBe('ask'));

  test.each([
    'tar xf a.tar',
    'tar xzf a.tgz -C build --strip-components=1',
    'tar czf out.tgz -C P f',
    'tar tf P/a.tar',
    'tar xf P/a.tar',
    'unzip -l P/a.zip',
    'unzip -q P/a.zip -d out',
    'gzip -c P/f',
    'zip -r out.zip P',
    'patch -p1 -i P/x.patch',
    'git checkout main',
    'git checkout -b fix/x',
    'git checkout "$BRANCH"',
    'git add P/f && git commit -m x',
    'git diff P/f',
    'git log --oneline --graph -- P',
    'git stash',
    'git push origin main',
    'git show --output-indicator-new=x',
    'git ls-files -o | xargs git add',
    'ls P | xargs wc -l',
    'curl -s -H "A: $T" -d o=P/f u',
    'curl -sO u',
    'wget -q u',
    'sed -n 5p P/f',
    "sed 's/w P/x/' f",
    "sed -i.bak 's/a/b/' f",
    'sort -k2 -t, P/f',
    'sort P/f -o out',
  ])('lets %j through', (command) => expect(bashVerdict(rules, command)).toBe('allow'));
});

describe('a path through the files of a process', () => {
  test.each([
    'echo x > /proc/self/cwd/P/f',
    'echo x > /proc/self/cwd/.git/config',
    'echo x > /proc/1/root/work/f',
    'echo x > /proc/thread-self/cwd/f',
    'echo x > /proc//self/./cwd/f',
    'echo x > /proc/self/task/1/cwd/f',
    'echo x > /proc/self/../self/cwd/f',
    'cd /proc/self && echo x > cwd/f',
    'cd /proc/self/cwd && touch f',
    'tee /proc/self/fd/3/f',
    'touch /dev/fd/3/f',
    'echo x > /dev/fd/3/f',
    'cp a /proc/self/cwd/f',
    'sort -o /proc/self/cwd/f a',
    'rm /proc/[s]elf/cwd/f',
    'touch /proc/s*/c?d/f',
  ])('asks about %j, also under an allow rule', (command) => {
    expect(bashVerdict({ allow: ['Bash'] }, command)).toBe('ask');
    expect(bashVerdict({ allow: ['Bash(echo:*)', 'Bash(cp:*)', 'Edit'] }, command)).toBe('ask');
  });
  test('and about reading where reading is limited', () => {
    const rules = { allow: ['Bash'], deny: ['Read(.env)'] };
    for (const command of ['cat /proc/self/cwd/.env', 'cat < /proc/self/cwd/.env', 'grep x /proc/1/root/x'])
      expect(bashVerdict(rules, command)).toBe('ask');
    expect(bashVerdict({ allow: ['Read(//proc/**)'] }, 'cat /proc/self/cwd/x')).toBe('ask');
    expect(bashVerdict({ allow: ['Read(//proc/**)'] }, 'cat /proc/cpuinfo /proc/self/status')).toBe('allow');
    expect(bashVerdict(rules, 'cat /proc/meminfo')).toBe('allow');
  });
});
