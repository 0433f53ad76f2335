import { describe, expect, it } from 'vitest';
import { exitIsFine } from '../../src/tools/exit-is-fine.ts';

describe('exit code 1 is an answer, not a failure, of', () => {
  it.each([
    'grep x file',
    'rg x',
    'egrep x f',
    'fgrep x f',
    'find . -name x',
    'diff a b',
    'test -f x',
    '[ -f x ]',
    '[[ -f x ]]',
    'git diff --exit-code',
    'git -C sub --no-pager diff --quiet',
    'git -c core.pager=cat grep x',
    '/usr/bin/grep x f',
    'cat f | grep x',
    'LC_ALL=C grep x f 2>/dev/null',
    'cd sub && grep x f',
    'echo looking; grep x f',
    'make || grep x log',
    'grep x a && grep y b',
    '(cd sub && grep x f)',
    '{ grep x f; } > out',
    'grep x f # a comment',
    "grep x <<'END'\nfalse\nEND",
    'false\ngrep x f',
  ])('%j', (command) => {
    expect(exitIsFine(command, 1)).toBe(true);
    expect(exitIsFine(command, 0)).toBe(true);
    expect(exitIsFine(command, 2)).toBe(false);
  });
});

describe('exit code 1 is a failure of', () => {
  it.each([
    'npm test',
    'make && grep x log',
    'grep x f && make',
    'grep x f | wc -l',
    'grep x f; make',
    '! grep x f',
    'grep x f &',
    'git status',
    'git',
    'git -C diff status',
    'set -e; make; grep x f',
    'set -o pipefail; make | grep x',
    'if grep x f; then make; fi',
    'grep() { make; }',
    'xargs grep x',
    '"$tool" x',
    '$(grep x f)',
    'echo "grep x f"',
    'grep "unclosed',
    '',
  ])('%j', (command) => {
    expect(exitIsFine(command, 1)).toBe(false);
    expect(exitIsFine(command, 0)).toBe(true);
  });
});
