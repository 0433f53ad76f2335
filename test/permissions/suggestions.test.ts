import { describe, expect, test } from 'vitest';
import { decide } from '../../src/permissions/chain.ts';
import { hookConcerns } from '../../src/permissions/hook-if.ts';
import { withRules } from '../../src/permissions/rules.ts';
import { suggestions } from '../../src/permissions/suggestions.ts';
import { checkedCall, place, plainContext, rulesOf, type Setting } from './support.ts';

const suggest = (tool: string, input: Record<string, unknown>) =>
  suggestions(checkedCall(tool, input, place.root), plainContext());

describe('"always allow" suggests', () => {
  test.each<[string, string[]]>([
    ['npm test', ['Bash(npm test:*)']],
    ['npm run build --watch', ['Bash(npm run build:*)']],
    ['mytool --x y', ['Bash(mytool:*)']],
    ['git commit -m "a b" && git push', ['Bash(git commit:*)', 'Bash(git push:*)']],
    ['git status && npm test', ['Bash(npm test:*)']],
    ['timeout 5 npm test', ['Bash(npm test:*)']],
    ['NODE_ENV=test npm test', ['Bash(npm test:*)']],
    ['FOO=1 npm test', ['Bash(FOO=1 npm test)']],
    ['npm --prefix x test', ['Bash(npm --prefix x test)']],
    ['python3 x.py', ['Bash(python3 x.py)']],
    ['bash -c "npm test"', ['Bash(bash -c "npm test")']],
    ['sudo apt install x', ['Bash(sudo apt install x)']],
    ['watch npm test', ['Bash(watch npm test)']],
    ['npx tool --fix', ['Bash(npx tool --fix)']],
    ['npm exec tool', ['Bash(npm exec tool)']],
    ['find . -delete', ['Bash(find . -delete)']],
    ['make all > out.txt', ['Bash(make all)', 'Edit(/out.txt)']],
    ['cd /data && ls', ['Read(//data/**)']],
    ['$X y', ['Bash($X y)']],
    ["python3 -c 'print(1*2)'", ["Bash(python3 -c 'print(1\\*2)')"]],
    ["bash -c 'ls *'", ["Bash(bash -c 'ls \\*')"]],
    ['make a*b', ['Bash(make a\\*b)']],
    ['make x:*', ['Bash(make x:\\*)']],
    ["'my*tool' x", ["Bash('my\\*tool' x)"]],
    ['java -jar x.jar', ['Bash(java -jar x.jar)']],
    ['tsx x.ts', ['Bash(tsx x.ts)']],
    ['ts-node x.ts', ['Bash(ts-node x.ts)']],
    ['deno run x.ts', ['Bash(deno run x.ts)']],
    ['bun run x', ['Bash(bun run x)']],
    ['bun x.ts', ['Bash(bun x.ts)']],
    ['perl5.36 x.pl', ['Bash(perl5.36 x.pl)']],
    ['python3.12 x.py', ['Bash(python3.12 x.py)']],
    ['lua x.lua', ['Bash(lua x.lua)']],
    ['Rscript x.R', ['Bash(Rscript x.R)']],
    ['julia x.jl', ['Bash(julia x.jl)']],
    ['scala x.scala', ['Bash(scala x.scala)']],
    ['groovy x.groovy', ['Bash(groovy x.groovy)']],
    ['dotnet run', ['Bash(dotnet run)']],
    ['dotnet build x', ['Bash(dotnet build:*)']],
    ['swift run x', ['Bash(swift run x)']],
    ['go run .', ['Bash(go run .)']],
    ['/usr/bin/go run .', ['Bash(/usr/bin/go run .)']],
    ['go test ./...', ['Bash(go test:*)']],
    ['cargo run --release', ['Bash(cargo run --release)']],
    ['docker run x', ['Bash(docker run x)']],
    ['docker compose up -d', ['Bash(docker compose up:*)']],
    ['docker compose exec a sh', ['Bash(docker compose exec a sh)']],
    ['poetry run python x.py', ['Bash(poetry run python x.py)']],
    ['yarn workspace a run b', ['Bash(yarn workspace a run b)']],
    ['yarn build', ['Bash(yarn build:*)']],
    ['pnpm tsx x.ts', ['Bash(pnpm tsx x.ts)']],
    ['dd if=a of=b', ['Bash(dd if=a of=b)']],
    ['tee x', ['Bash(tee x)']],
    ['chmod +x a', ['Bash(chmod +x a)']],
    ['sort -o x a', ['Bash(sort -o x a)']],
    ['printf -v x y', ['Bash(printf -v x y)']],
    ['cd ..', ['Bash(cd ..)']],
    ['cat ../outside.txt', ['Read(//work/outside.txt)']],
    ['make', ['Bash(make)']],
    ['swift x.swift', ['Bash(swift x.swift)']],
    ['npm install x', ['Bash(npm install:*)']],
    ['. ./env.sh', ['Bash(. ./env.sh)']],
    ['python3', []],
    ['python3.12 -i', []],
    ['psql', []],
    ['python3 -', []],
    ['bash', []],
    ['echo 1 | python3', ['Bash(echo 1 | python3)']],
    ['echo 1 | python3 x.py', ['Bash(python3 x.py)']],
    ['python3 <<E\nprint(1)\nE', ['Bash(python3 <<E\nprint(1)\nE)']],
    ['echo a | xargs rm', ['Bash(echo a | xargs rm)']],
    ['X=a.py; python3 $X', ['Bash(X=a.py; python3 $X)']],
    ['a; b; c; d; e', ['Bash(a:*)', 'Bash(b:*)', 'Bash(c:*)', 'Bash(d:*)', 'Bash(e:*)']],
    ['a; b; c; d; e; f', []],
    ['ls $(', []],
  ])('for %j: %j', (command, expected) => expect(suggest('Bash', { command })).toEqual(expected));

  test.each<[string, Record<string, unknown>, string[]]>([
    ['Read', { file_path: '/data/a/b.txt' }, ['Read(//data/a/**)']],
    ['Grep', { pattern: 'x', path: '/data/a' }, ['Read(//data/a/**)']],
    ['Edit', { file_path: '/work/proj/src/[id].ts' }, ['Edit(/src/\\[id\\].ts)']],
    ['Write', { file_path: '/data/x' }, ['Edit(//data/x)']],
    ['WebFetch', { url: 'https://Docs.example.com/x' }, ['WebFetch(domain:docs.example.com)']],
    ['WebFetch', { url: 'nonsense' }, []],
    ['WebFetch', { url: 'https://*/' }, []],
    ['Read', { file_path: '../outside.txt' }, ['Read(//work/outside.txt)']],
    ['Read', { file_path: '/home/dev/a.txt' }, ['Read(//home/dev/a.txt)']],
    ['Read', { file_path: '/a.txt' }, ['Read(//a.txt)']],
    ['Write', { file_path: '/data/x\nsrc' }, []],
    ['Skill', { skill: '' }, []],
    ['mcp__a__b', {}, ['mcp__a__b']],
    ['Skill', { skill: 'commit' }, ['Skill(commit *)']],
    ['AskUserQuestion', {}, []],
  ])('for %s %j: %j', (tool, input, expected) => expect(suggest(tool, input)).toEqual(expected));

  test('nothing that would not help', () => {
    const asked = (setting: Setting, tool: string, input: Record<string, unknown>) =>
      suggestions(checkedCall(tool, input, place.root), plainContext(), rulesOf(setting));
    expect(asked({}, 'Bash', { command: 'npm test' })).toEqual(['Bash(npm test:*)']);
    expect(asked({ ask: ['Bash(npm *)'] }, 'Bash', { command: 'npm test' })).toEqual([]);
    expect(asked({}, 'Bash', { command: 'rm -rf ~' })).toEqual([]);
    expect(asked({}, 'Write', { file_path: '/work/proj/.git/config', content: '' })).toEqual([]);
    expect(asked({ directories: ['/data'] }, 'Bash', { command: 'cat /data/x && npm test' })).toEqual([
      'Bash(npm test:*)',
    ]);
  });

  test('whole paths once the job has walked away from where it started', () => {
    const away = plainContext({ cwd: '/work/proj/sub' });
    expect(suggestions(checkedCall('Edit', { file_path: '/work/proj/a' }, away.cwd), away)).toEqual([
      'Edit(//work/proj/a)',
    ]);
  });

  // What somebody was asked about, and what they were not.
  test.each<[string, string]>([
    ["python3 -c 'print(1*2)'", "python3 -c 'print(1);open(1);print(2)'"],
    ["python3 -c 'print(1*2)'", "python3 -c 'print(1\\*2)'"],
    ["python3 -c 'print(1\\*2)'", "python3 -c 'print(1*2)'"],
    ["bash -c 'npm *'", "bash -c 'npm x; npm y'"],
    ['make a*b', 'make a x b'],
    ['make a*b', "make 'a*b'"],
    ['make a\\*b', 'make a*b'],
    ['make {a,b}', "make '{a,b}'"],
    ['make x:*', 'make x y'],
    ["make 'x *'", "make 'x y'"],
    ["make 'a  b'", "make 'a b'"],
    ['python3 -c "if x:\n  a\n  b"', 'python3 -c "if x:\n  a\n b"'],
    ["sed -i 's/\\(a\\)/b/' f", "sed -i 's/(a)/b/' f"],
    ["sed -i 's/a\\\\/b/' f", "sed -i 's/a\\/b/' f"],
    ['make a', 'echo CC=x | xargs make a'],
    ['rm a', 'echo b | xargs rm a'],
    ['echo 1 | python3', 'echo 2 | python3'],
    ['python3 <<E\nprint(1)\nE', 'python3 <<E\nprint(2)\nE'],
    ['python3', 'echo 1 | python3'],
    ['bash', 'bash <<E\nnpm test\nE'],
    ['X=a.py; python3 $X', 'X=b.py; python3 $X'],
  ])('for %j nothing that allows %j', (asked, other) => {
    const call = checkedCall('Bash', { command: asked }, place.root);
    const more = withRules(
      rulesOf({}),
      { allow: suggestions(call, plainContext(), rulesOf({})) },
      { kind: 'session', base: place.root },
    );
    expect(decide(checkedCall('Bash', { command: other }, place.root), more, plainContext()).behavior).toBe('ask');
  });

  test('what then really allows the call', () => {
    const calls: [string, Record<string, unknown>][] = [
      ['Bash', { command: 'git commit -m "a b" && git push' }],
      ['Bash', { command: 'make all > out.txt' }],
      ['Bash', { command: 'sudo apt install x' }],
      ['Bash', { command: 'find . -delete' }],
      ['Bash', { command: '$X y' }],
      ['Bash', { command: 'cd /data && ls' }],
      ['Bash', { command: 'python3 -c "print(1)"' }],
      ['Bash', { command: "python3 -c 'print(1*2)  # \\\\(x)'" }],
      ['Bash', { command: 'make a*b  x:*' }],
      ['Bash', { command: "sed -i 's/\\(a*\\)/b/' f" }],
      ['Bash', { command: 'echo 1 | python3' }],
      ['Bash', { command: 'python3 <<E\nprint(1*2)\nE' }],
      ['Bash', { command: 'echo a | xargs rm' }],
      ['Bash', { command: 'cat ../outside.txt' }],
      ['Read', { file_path: '/data/a/b.txt' }],
      ['Edit', { file_path: '/work/proj/src/[id]*.ts' }],
      ['WebFetch', { url: 'https://docs.example.com/x' }],
      ['mcp__a__b', {}],
      ['Skill', { skill: 'commit', args: 'x' }],
    ];
    for (const [tool, input] of calls) {
      const call = checkedCall(tool, input, place.root);
      expect(decide(call, rulesOf({}), plainContext()).behavior).toBe('ask');
      const more = withRules(
        rulesOf({}),
        { allow: suggestions(call, plainContext()) },
        { kind: 'session', base: place.root },
      );
      expect(decide(call, more, plainContext()), `${tool} ${JSON.stringify(input)}`).toMatchObject({
        behavior: 'allow',
      });
    }
  });
});

describe('the `if` of a hook', () => {
  test.each<[string, string, Record<string, unknown>, boolean]>([
    ['Bash', 'Bash', { command: 'ls' }, true],
    ['Bash(git *)', 'Bash', { command: 'ls && git push' }, true],
    ['Bash(git *)', 'Bash', { command: 'FOO=1 git push' }, true],
    ['Bash(git *)', 'Bash', { command: 'echo $(git push)' }, true],
    ['Bash(git *)', 'Bash', { command: 'ls' }, false],
    ['Bash(git push *)', 'Bash', { command: 'git $X' }, true],
    ['Bash(git *)', 'Bash', { command: '$X y' }, true],
    ['Bash(git *)', 'Bash', { command: 'ls $(' }, true],
    ['Bash(git *)', 'Read', { file_path: '/work/proj/git' }, false],
    ['Edit(src/**)', 'Write', { file_path: '/work/proj/src/a', content: '' }, true],
    ['Edit(src/**)', 'Write', { file_path: '/work/proj/v/src/a', content: '' }, false],
    ['Edit(*.ts)', 'Edit', { file_path: '/work/proj/a/b.ts' }, true],
    ['Edit(*.ts)', 'Read', { file_path: '/work/proj/a/b.ts' }, false],
    ['Read(*.ts)', 'Read', { file_path: '/work/proj/a/b.ts' }, true],
    ['WebFetch(domain:a.b)', 'WebFetch', { url: 'https://a.b/' }, true],
    ['mcp__a', 'mcp__a__x', {}, true],
    ['broken(', 'Read', { file_path: '/x' }, true],
  ])('%s concerns %s %j: %s', (condition, tool, input, expected) =>
    expect(hookConcerns(condition, checkedCall(tool, input, place.root), plainContext())).toBe(expected),
  );
});
