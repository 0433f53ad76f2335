import { describe, expect, it } from 'vitest';
import { readByShell } from '../../src/tools/shell-reads.ts';

describe('a command that only prints one file', () => {
  it.each([
    ['cat a.txt', 'a.txt', true],
    ["cat 'a b.txt'", 'a b.txt', true],
    ['cat "/w/a.txt"', '/w/a.txt', true],
    ['cat -n a.txt', 'a.txt', false],
    ['nl a.txt', 'a.txt', false],
    ['bat --plain a.txt', 'a.txt', false],
    ['head -n 20 a.txt', 'a.txt', false],
    ['head -20 a.txt', 'a.txt', false],
    ['tail -n +5 a.txt', 'a.txt', false],
    ["sed -n '10,20p' a.txt", 'a.txt', false],
    ["sed -n '10,$p' a.txt", 'a.txt', false],
    ['grep -n -i needle a.txt', 'a.txt', false],
    ['rg -n "some thing" a.txt', 'a.txt', false],
  ])('%j shows %s', (command, path, whole) => {
    expect(readByShell(command)).toEqual({ path, whole });
  });

  it.each([
    'cat',
    'cat a.txt b.txt',
    'cat a.txt | head',
    'cat a.txt; true',
    'cat a.txt > b.txt',
    'cat < a.txt',
    'cat $FILE',
    'cat *.txt',
    'cat ~/a.txt',
    'cat "$(echo a.txt)"',
    'cat a.txt &',
    'X=1 cat a.txt',
    'cat -',
    'head -n a.txt b.txt',
    "sed -i 's/a/b/' a.txt",
    "sed -n 's/a/b/p' a.txt",
    'sed 10p a.txt',
    'grep -l needle a.txt',
    'grep -rn needle src',
    'grep -c needle a.txt',
    'grep needle',
    'rg --replace x needle a.txt',
    'ls a.txt',
    'cat "unclosed',
    '',
  ])('is not %j', (command) => {
    expect(readByShell(command)).toBeUndefined();
  });
});
