import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { decide } from '../../src/permissions/chain.ts';
import type { Behavior } from '../../src/shapes/permission.ts';
import { checkedCall, contextAt, rulesOf, type Setting } from './support.ts';

let root: string;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'nightshift-opened-'));
  for (const folder of ['secrets', 'src/deep', 'hidden']) mkdirSync(join(root, folder), { recursive: true });
  for (const file of ['secrets/k.json', 'src/a.ts', 'src/deep/b.ts', 'hidden/.env', '.env'])
    writeFileSync(join(root, file), 'key\n');
  symlinkSync('..', join(root, 'src/up'));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function verdict(setting: Setting, command: string): Behavior {
  return decide(checkedCall('Bash', { command }, root), rulesOf(setting), contextAt(root, '/home/dev')).behavior;
}

test.each([
  'grep -rn key .',
  'grep -rn key',
  'grep -r key hidden',
  'grep --recursive key hidden src',
  'rg --hidden key',
  'rg -uu key .',
  "rg '--hidden' key",
  'rg -g .env key',
  "rg --iglob '.e*' key",
  'rg --type-add x:.env -tx key',
  'rg -e key --hidden -e --files',
  'grep -r -e key',
  'grep -r -m 1 key',
])('a search that would open a file which a deny rule covers asks: %s', (command) =>
  expect(verdict({ deny: ['Read(.env)'], mode: 'bypassPermissions' }, command)).toBe('ask'),
);

test.each([
  'grep -rn key src',
  'grep -n key src/a.ts',
  'rg key',
  'rg key src',
  'rg --files',
  'ls -R',
  'find . -name x',
])('one that opens none goes on: %s', (command) => expect(verdict({ deny: ['Read(.env)'] }, command)).toBe('allow'));

test.each([
  'git show HEAD:.env',
  'git show HEAD:./.env',
  'git diff .env',
  'git diff HEAD~1 -- .env',
  'git blame .env',
  'git log -p -- .env',
  'git grep key -- .env',
  'git cat-file -p HEAD:.env',
  'grep key .env',
])('a file that a deny rule covers is not shown by its name either: %s', (command) =>
  expect(verdict({ deny: ['Read(.env)'], allow: ['Bash'] }, command)).toBe('deny'),
);

test('a rule for a folder covers a search in it', () => {
  const setting = { deny: ['Read(secrets/**)'], allow: ['Bash'] };
  for (const command of ['grep -r key secrets', 'rg key secrets', 'git show HEAD:secrets/k.json'])
    expect(verdict(setting, command)).toBe('deny');
  expect(verdict(setting, 'grep -r key .')).toBe('ask');
  expect(verdict(setting, 'git show HEAD:src/a.ts')).toBe('allow');
});

test('a tree that is too large to be looked through asks', () => {
  const many = join(root, 'many');
  mkdirSync(many);
  for (let n = 0; n < 2_001; n++) writeFileSync(join(many, `${n}`), '');
  expect(verdict({ deny: ['Read(.env)'] }, 'grep -r key many')).toBe('ask');
  expect(verdict({ deny: ['Read(//elsewhere/**)'] }, 'grep -r key many')).toBe('allow');
});
