import { afterAll, describe, expect, test } from 'vitest';
import { createBash } from './real-bash.ts';
import { bashVerdict } from './support.ts';

/** Commands that real bash runs `rm` for although an earlier analysis had let them through. */
const found = [
  'env A=b nice -n 3 {rm,}',
  'bash <<< "eval "wc - <<< rm""',
  '. <(echo rm x)',
  'source -- <(echo rm x)',
  ". -- /dev/stdin <<< 'rm x'",
  ". //dev/stdin <<< 'rm x'",
  ". /./dev/stdin <<< 'rm x'",
  "cd /dev; . ./stdin <<< 'rm x'",
  "bash /dev/fd/3 3<<< 'rm x' <<< ls",
  ". /dev/fd/3 3<<< 'rm x' <<< ls",
  "/proc/self/exe -c 'rm x'",
  // The input of a shell is what the last redirection of descriptor 0 gives.
  'bash <<A 3<<B\nrm x\nA\nls\nB',
  "bash <<< 'rm x' 3<<< ls",
  'bash <<< ls < data',
  'bash <<< ls <> data',
  'bash <<< ls < <(echo rm x)',
  '{ bash <<< ls <&3; } 3< data',
  // Options end, take values, and take values in a bundle.
  "trap -- 'rm x' EXIT",
  "eval -- 'rm x'",
  'builtin eval -- rm x',
  "bash -oc posix 'rm x'",
  "bash -Oc extglob 'rm x'",
  "bash -oO posix extglob -c 'rm x'",
  // xargs gives a program its words, its code, and its name.
  'echo rm x | xargs -I% sh -c %',
  "echo 'x; rm y' | xargs -I% sh -c 'echo %'",
  'xargs -a data -I% sh -c %',
  'echo "\'rm x\'" | xargs sh -c',
  "xargs -a data -d '\\n' sh -c",
  'echo rm x | xargs env',
  'echo rm x | xargs nice',
  'echo rm x | xargs timeout 5',
  'echo rm x | xargs -n1 -P2 env',
  'echo rm x | xargs xargs',
  'echo rm x | timeout 5 xargs nice env',
  "echo x -exec rm '{}' ';' | xargs find",
  'find ../../bin -name rm -exec {} x \\;',
  "find . -name data -exec bash -c '. {}' \\;",
  // Bash computes indexes, and what some variables are given.
  "X='b[$(rm x)]'; test -v 'a[X]'",
  "X='b[$(rm x)]'; read 'a[X]' <<< 1",
  "X='b[$(rm x)]'; printf -v 'a[X]' 1",
  "read X <<< 'b[$(rm x)]'; declare 'a[X]=1'",
  'X=\'b[$(rm x)]\'; read "$X" <<< 1',
  "RANDOM='b[$(rm x)]'",
  "OPTIND='b[$(rm x)]'",
  "X='b[$(rm x)]'; SRANDOM=X",
  "HISTCMD='b[$(rm x)]'",
  "mapfile -n 1 RANDOM <<< 'b[$(rm x)]'",
  // Some give names another meaning, or are read by what is started.
  'printf -v BASH_CMDS[ls] %s "$(type -p rm)"; ls x',
  'read \'BASH_CMDS[ls]\' <<< "$(type -p rm)"; ls x',
  'env BASH_ENV=data bash -c ls',
  'env ENV=data sh -i -c ls',
  'printf -v BASH_ENV data; export BASH_ENV; bash -c ls',
  'read BASH_ENV <<< data; export BASH_ENV; bash -c ls',
  // sed runs programs too.
  "sed 's/t/rm x/e' f.txt",
  "sed '1e rm x' f.txt",
  "sed -n 'e rm x' f.txt",
  "sed --expression='1e rm x' f.txt",
  "sed -f - f.txt <<< '1e rm x'",
  "sed -n -e '/t/{p' -e 'e rm x' -e '}' f.txt",
  // A script of sed that is not known may be anything, and so may what stands in it where data can't.
  "case $(sed '1e bash -oc posix '${Z:-rm}'' f.txt) in *) ls;; esac",
  'sed "${Z:-1e rm x}" f.txt',
  'sed "$(echo \'1e rm x\')" f.txt',
  'sed -e p -e "${Z:-1e rm x}" f.txt',
  'sed "1${Z:-e rm x}" f.txt',
  'sed "1,2${Z:-e rm x}" f.txt',
  'sed "/t/${Z:-e rm x}" f.txt',
  'sed "{${Z:-e rm x\n}}" f.txt',
  'sed "${Z:-1e rm x}#" f.txt',
  'sed "${Z:-1e rm x}\np" f.txt',
  'sed "s/t/rm x #/${Z:-e}" f.txt',
  'sed ${X:+p} "1e rm x" f.txt',
  'sed "$@" "1e rm x" f.txt',
  "sed p {-e,'1e rm x'} f.txt",
  "sed p ${Z:--e} '1e rm x' f.txt",
  'sed p "${Z:--e1e rm x}" f.txt',
  "sed -l $X 5 '1e rm x' f.txt",
  // It may also come from an input, and stand behind options that look like others.
  "sed -f <(echo '1e rm x') f.txt",
  'cd ../../../../dev; sed -f stdin "$OLDPWD"/f.txt <<< \'1e rm x\'',
  "sed -f //dev/stdin f.txt <<< '1e rm x'",
  'echo "\'1e rm x\' f.txt" | xargs sed',
  'echo "\'1e rm x\' f.txt" | xargs sed -n -e',
  "echo '1e rm x' | xargs -I% sed % f.txt",
  "sed -if '1e rm x' f.txt",
  "sed -ife '1e rm x' f.txt",
  "sed -l 5 '1e rm x' f.txt",
  "sed --line-length 5 '1e rm x' f.txt",
  "sed '1e rm x' f.txt -- --sandbox",
  // The script of a shell may be a program that stands in PATH.
  'bash <<< "coproc N { bash <<< "ls rm {a,$(sed x ${X:-rm} -rf)}" 3<<< ls; }" 3<<< ls',
  `""bash 3<<< ls <<< 'find . -name x -exec echo "'printf rm x \${X[0]} d'" | xargs sh -c {} \\;' < data`,
  `bash 3<<< ls <<< 'bash -c 'echo rm -n "\${A[@]}"'' < data`,
  'bash rm x',
  'bash --norc -x +e -o posix -- rm x',
  'bash ../../bin/rm',
  'env bash rm',
  'source rm x',
  '. -- rm x',
  'command . rm',
  'echo rm | xargs -I{} bash {}',
  'find ../../bin -name rm -exec bash {} x \\;',
  'bash --rcfile ../../bin/rm -i <<< ls',
  'bash --rcfile <(echo rm x) -i <<< ls',
  'bash --init-file /dev/fd/3 -i 3<<< "rm x" <<< ls',
];

/** The same for programs that this test does not start. */
const others = [
  'echo push | xargs -n1 sudo rm',
  "script -c'rm x' /dev/null",
  "script --command='rm x' /dev/null",
  "su -c'rm x'",
  "flock f.txt -c'rm x'",
  "sudo -s <<< 'rm x'",
  "su <<< 'rm x'",
  "chroot / <<< 'rm x'",
  "unshare <<< 'rm x'",
  "script /dev/null <<< 'rm x'",
  "batch <<< 'rm x'",
  'echo rm x | parallel',
  "env PS4='$(rm x)' bash -xc ls",
  '/lib64/ld-linux-x86-64.so.2 /bin/rm x',
  'tmux new -d rm x',
  'ksh rm x',
  '. -p bin rm x',
  'source -pbin -- rm x',
];

const denied = { deny: ['Bash(rm *)'] };
const bash = createBash();
afterAll(() => bash.close());

describe('what runs rm does not get past a deny rule', () => {
  test.each(found)('%j', (command) => {
    expect(bash.run([command]).ran).toContain('rm');
    expect(bashVerdict({ allow: ['Bash'], ...denied }, command)).not.toBe('allow');
    expect(bashVerdict({ mode: 'bypassPermissions', ...denied }, command)).not.toBe('allow');
  });

  test.each(others)('%j', (command) => {
    expect(bashVerdict({ allow: ['Bash'], ...denied }, command)).not.toBe('allow');
    expect(bashVerdict({ mode: 'bypassPermissions', ...denied }, command)).not.toBe('allow');
  });

  test('also where only the words behind the program come from an input', () => {
    const push = { allow: ['Bash'], deny: ['Bash(git push *)'] };
    expect(bashVerdict(push, 'echo push | xargs git')).toBe('ask');
    expect(bashVerdict(push, 'echo push | xargs -n1 nice git')).toBe('ask');
    expect(bashVerdict(push, 'ls | xargs git add')).toBe('allow');
  });

  test('and where a shell is given the program as its script, which no allow rule has to name', () => {
    expect(bashVerdict({ allow: ['Bash'], ask: ['Bash(deploy.sh *)'] }, 'bash scripts/deploy.sh now')).toBe('ask');
    expect(bashVerdict({ allow: ['Bash'], deny: ['Bash(./x *)'] }, 'sh -e ./x')).toBe('deny');
    expect(bashVerdict({ allow: ['Bash'], ...denied }, 'bash rm x')).toBe('deny');
    expect(bashVerdict({ allow: ['Bash(bash *)'] }, 'bash x.sh a')).toBe('allow');
    expect(bashVerdict({ allow: ['Bash(x.sh *)'] }, 'bash x.sh a')).toBe('ask');
    expect(bashVerdict({ allow: ['Bash(source *)'] }, 'source venv/bin/activate')).toBe('allow');
  });
});

/** Everyday commands that look like one of them. */
const fine = [
  "sed -i 's/;$//' f",
  'sed -i "s/a/$X/" f',
  "sed -n -e '1,5d' -e '/e/{p;q}' f",
  "sed ':e;N;$!be;s/\\n/ /g' f",
  "sed '\\,^/e,d;s|e|e|w out' f",
  "sed -n '/e/I,$p;1~2d;0,/e/s/e//' f",
  "sed '1i\\\neach' f",
  'sed -i "s|@V@|$(date)|g; s/b/${B:-x}/" f',
  'sed "s/a/$X/w $OUT" "$f"',
  'sed -n "${N}p" f',
  'sed -n "$A,${B}p; /$P/,$ {s/x/$Y/; p}" f',
  "sed 's/a/'$X'/' f",
  'sed -i.bak s/a*/$X/ *.txt',
  'sed -i"$S" -e "/^$K=/d" -e "1i $LINE" $FILES',
  'sed -E --in-place=.orig "s/(a)$/\\\\1$X/" src/{a,b}.ts $(git ls-files --others)',
  'sed -n \'1,5p\' "$f"',
  'sed -f fix.sed f',
  'sed -l 5 -n l f',
  'sed --sandbox "$SCRIPT" f',
  'ls | xargs sed -i "s/a/$X/"',
  "find . -name '*.ts' -exec sed -i 's/a/b/' {} +",
  'ls | xargs -I{} cp {} dest/',
  'ls | xargs -n 1 -P4 wc -l',
  "find . -name '*.sh' -exec bash -n {} \\;",
  'find . -exec sh -c \'echo "$1"\' _ {} \\;',
  'read -r -p "$MSG" x',
  'export PATH="$PATH:/x" FOO=1 BAR',
  'while read -r line; do echo "$line"; done < f',
  '[ -n "$X" ] && [ "$A" = "$B" ]',
  'getopts ab: opt "$@"; OPTIND=1; SECONDS=0',
  'wait "$PID"',
  'bash -euo pipefail -c "ls | wc"',
  'bash -O extglob build.sh -c',
  "bash <<'E' 2>&1\nls\nE",
  'bash -s arg <<E\nls\nE',
  'bash script.sh rm',
  'bash -x ./scripts/build.sh --rm',
  'sh ./x && sh ../rm.sh',
  'bash -n rm',
  "bash -c 'ls $1' rm x",
  'source ./env.sh rm',
  'ls | xargs bash lint.sh',
  '. venv/bin/activate',
  'trap - EXIT',
  'sudo -n whoami',
  "sudo find . -path './a*' -print",
  'env -i PATH=$PATH ls',
  'timeout --kill-after=5 5 nice -n5 ionice -c3 make',
];

test.each(fine)('%j goes on as before', (command) => {
  expect(bashVerdict({ allow: ['Bash'], ...denied }, command)).toBe('allow');
});
