import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { isConcurrencySafeBash } from '../../src/permissions/bash-readonly.ts';
import { bashVerdict } from './support.ts';

const reads = [
  'ls',
  'ls -la src',
  'cat a.log | grep ERR | wc -l',
  'git status',
  'git log --oneline -3',
  'git diff HEAD~1 -- src',
  'git branch',
  'git branch -a --contains HEAD',
  'git tag -l "v*"',
  'git remote -v',
  'git stash list',
  'git config --get user.name',
  'git --no-pager log',
  "find . -name '*.ts'",
  'grep -rl x . | xargs grep y',
  'head -5 README.md',
  'ls *.ts',
  'wc -l src/*.py',
  'echo "$X"',
  'echo $((1 + 2))',
  "sed -n '1,20p' a.txt",
  "sed 's/a/b/g' a.txt",
  'sort -u a.txt',
  'sort -k 2 -t , a.txt',
  'uniq -c a.txt',
  'date +%F',
  'command -v node',
  'node --version',
  'test -f x && echo yes',
  '[ -d src ]',
  '[[ -f x ]]',
  'for f in a b; do wc -l $f; done',
  'if grep -q x a.txt; then echo y; fi',
  'cat <<E\ntext\nE',
  'ls 2>/dev/null',
  'ls > /dev/null 2>&1',
  'LANG=C sort a.txt',
  'timeout 5 ls',
  'docker ps',
  'rg -n TODO src',
  'jq .name package.json',
  'printf \'%s\\n\' "$X"',
  'du -sh src',
  'file -b x',
  '! grep -q x a',
  'true',
  'echo $(cat a.txt)',
  'cat < a.txt',
  'diff a b',
];
const acts = [
  'rm x',
  'npm test',
  'echo $(touch x)',
  'cat names | xargs rm',
  'find . -delete',
  'find . -exec rm {} +',
  'find . -fprint out',
  'find . $X',
  'ls > out',
  'ls | tee out',
  'sort -o out a',
  'sort --outp=out a',
  'sort --compress-program=x a',
  'sort $X',
  'sort *.txt',
  'xargs sort',
  'sed -i s/a/b/ x',
  "sed 'w out' x",
  "sed 's/a/b/w out' x",
  "sed 's/a/date/e' x",
  'sed -n "$X" x',
  'sed -f script x',
  "sed '1r /etc/passwd' x",
  'uniq a b',
  'git push',
  'git commit -m x',
  'git branch -D old',
  'git branch new',
  'git tag v1',
  'git -c core.pager=./x log',
  'git log --output=out',
  'git log --outp=out',
  'git diff --ext-diff',
  'git grep -Oless x',
  'git stash',
  'git config user.name x',
  'git config --global --get-all x --unset',
  'git remote add o u',
  'git log $X',
  'git log *',
  'git -C x status',
  'git diff --no-index a /etc/passwd',
  'git worktree add x',
  'git reflog expire',
  'awk 1 x',
  'python3 x.py',
  'bash -c ls',
  'eval ls',
  './ls',
  '/tmp/ls',
  '$X',
  'ls $(',
  'X=1',
  'X=1 ls',
  'PATH=. ls',
  'ls() { rm x; }; ls',
  'echo ${X:=1}',
  'echo $((X))',
  'echo ${X@P}',
  'echo ${!X}',
  'coproc ls',
  'cat <(ls)',
  'date -s 0:00',
  'hostname evil',
  'printf -v X y',
  'test -v X',
  'tree -o out',
  'tree -R',
  'rg --pre cat x',
  'rg -z x',
  'file -C -m x',
  'file -f x',
  'docker -H tcp://x ps',
  'docker run x',
  'env',
  'tee',
  'ls &> out',
  'echo x > /dev/tcp/a/1',
  'cat < /dev/tcp/a/1',
  'exec ls',
  'sudo ls',
  'env ls',
  'xxd a b',
  'printf $X',
  '[ $X ]',
  '[ "$X" "$Y" ]',
  'trap ls EXIT',
  'source x',
  'alias ls=rm',
  '(( x = 1 ))',
  '[[ $X -eq 1 ]]',
  'let x=1',
  'time -o f ls',
  'nice -x ls',
  '',
  '   ',
  '# only a comment',
  '> out',
  '>out ls',
];

describe('a command runs beside others', () => {
  test.each(reads)('when it only reads: %j', (command) => expect(isConcurrencySafeBash(command)).toBe(true));
  test.each(acts)('and not when it may do more: %j', (command) => expect(isConcurrencySafeBash(command)).toBe(false));
  test.each(['cd sub && ls', 'ls &', 'cd'])('and not when it changes what the next one sees: %j', (command) =>
    expect(isConcurrencySafeBash(command)).toBe(false),
  );
});

describe('a command needs no permission', () => {
  const outside = new Set(['cat <(ls)', 'grep -rl x . | xargs grep y', 'for f in a b; do wc -l $f; done']);
  test.each(reads.filter((command) => !outside.has(command)))('when it only reads here: %j', (command) =>
    expect(bashVerdict({}, command)).toBe('allow'),
  );
  test.each(acts)('and needs it when it may do more: %j', (command) => expect(bashVerdict({}, command)).toBe('ask'));
  test.each([
    'cat /etc/passwd',
    'ls ~',
    'cat ../x',
    'cat "$X"',
    'head -n1 src/../../x',
    'grep -r x /',
    'find / -name x',
    'cd /etc && ls',
    'cd .. && ls',
    'cd && ls',
    'cd - && ls',
    'ls $HOME/..',
    'cat {a,/etc/passwd}',
    'echo x | xargs cat',
    'grep -f/etc/passwd x',
    'wc --files0-from=/etc/passwd',
    'find . -newer /etc/passwd',
    'ls /*',
    'cat ~root/x',
  ])('and needs it when it may look elsewhere: %j', (command) => expect(bashVerdict({}, command)).toBe('ask'));
  test.each(['cd sub && ls', 'cd sub && cat ../x', 'cat /work/proj/x', 'cat $PWD/x', 'ls & cat x'])(
    'wherever it walks inside the folder: %j',
    (command) => expect(bashVerdict({}, command)).toBe('allow'),
  );
  test('in every mode', () => {
    for (const mode of ['default', 'acceptEdits', 'plan', 'dontAsk', 'bypassPermissions'])
      expect(bashVerdict({ mode }, 'git status')).toBe('allow');
  });
  test('where additional directories and Read rules let it look', () => {
    expect(bashVerdict({ directories: ['/data'] }, 'cat /data/x')).toBe('allow');
    expect(bashVerdict({ allow: ['Read(//data/**)'] }, 'cat /data/x && cd /data/sub')).toBe('allow');
    expect(bashVerdict({ allow: ['Read(//data/**)'] }, 'cat /data2/x')).toBe('ask');
  });
});

test('no program is on the list twice', () => {
  const text = readFileSync(new URL('../../src/permissions/bash-programs.ts', import.meta.url), 'utf8');
  const names = /const harmless = new Set\(\s*'([^']+)'/.exec(text)![1]!.split(' ');
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThan(50);
});
