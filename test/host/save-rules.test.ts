import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFiles } from '../../src/host/files.ts';
import { changeSettings, saveRules } from '../../src/host/save-rules.ts';
import { runTs } from '../support/run-ts.ts';

const free = { files: createFiles(), tryLock: () => Promise.resolve(() => undefined) };
let dir: string;
let file: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'save-rules-'));
  file = join(dir, '.claude', 'settings.local.json');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const put = (text: string): void => {
  mkdirSync(join(dir, '.claude'), { recursive: true });
  writeFileSync(file, text);
};
const text = (): string => readFileSync(file, 'utf8');
const allow = (): unknown => (JSON.parse(text()) as { permissions: { allow: unknown } }).permissions.allow;

describe('rules that are kept', () => {
  it('make the file where there is none', async () => {
    expect(await saveRules(dir, ['Bash(npm test:*)', 'Edit(/src/**)'], free)).toEqual({
      kind: 'saved',
      file,
      added: ['Bash(npm test:*)', 'Edit(/src/**)'],
    });
    expect(text()).toBe(
      '{\n  "permissions": {\n    "allow": [\n      "Bash(npm test:*)",\n      "Edit(/src/**)"\n    ]\n  }\n}\n',
    );
  });

  it('leave comments, format, mode and all else as it was', async () => {
    const old = [
      '\ufeff{',
      '\t// mine',
      '\t"env": { "A": "1" },',
      '\t"permissions": {',
      '\t\t"deny": ["Read(.env)"], /* never */',
      '\t\t"allow": [',
      '\t\t\t"Bash(make)", // build',
      '\t\t],',
      '\t},',
      '}',
      '',
    ].join('\r\n');
    put(old);
    const mode = statSync(file).mode;
    expect(await saveRules(dir, ['Bash(npm test:*)', 'Bash(make)'], free)).toMatchObject({
      added: ['Bash(npm test:*)'],
    });
    const now = text();
    for (const line of ['\ufeff{', '\t// mine', '\t"env": { "A": "1" },', '/* never */', '// build'])
      expect(now).toContain(line);
    expect(now.replaceAll('\r\n', '')).not.toContain('\n');
    expect(now).toContain('"Bash(make)"');
    expect(now).toContain('"Bash(npm test:*)"');
    expect(statSync(file).mode).toBe(mode);
    expect(await saveRules(dir, ['Bash(npm test:*)'], free)).toMatchObject({ kind: 'saved', added: [] });
    expect(text()).toBe(now);
  });

  it.each([
    ['is broken', '{ "permissions": ', 'line 1'],
    ['holds another thing in their place', '{"permissions":{"allow":"Bash"}}', 'permissions.allow'],
    ['holds a key twice', '{"permissions":{"allow":["A"]},"permissions":{"allow":["B"]}}', 'twice'],
  ])('are refused where the file %s, and it stays as it is', async (_what, old, why) => {
    put(old);
    const saved = await saveRules(dir, ['Bash(x)'], free);
    expect(saved).toMatchObject({ kind: 'refused', file });
    expect('why' in saved && saved.why).toContain(why);
    expect(text()).toBe(old);
  });

  it('are not carried elsewhere by a link', async () => {
    const other = join(dir, 'other');
    mkdirSync(other);
    writeFileSync(join(other, 'settings.local.json'), '{}');
    symlinkSync(other, join(dir, '.claude'));
    expect(await saveRules(dir, ['Bash(x)'], free)).toMatchObject({ kind: 'refused' });
    rmSync(join(dir, '.claude'));
    mkdirSync(join(dir, '.claude'));
    symlinkSync(join(other, 'settings.local.json'), file);
    expect(await saveRules(dir, ['Bash(x)'], free)).toMatchObject({ kind: 'refused' });
    expect(readFileSync(join(other, 'settings.local.json'), 'utf8')).toBe('{}');
  });

  it('of several programs at once are all there', async () => {
    const saver = fileURLToPath(new URL('../support/rule-saver.ts', import.meta.url));
    const names = ['a', 'b', 'c'];
    const ends = await Promise.all(names.map((name) => runTs(saver, [dir, name, '15']).ended));
    expect(ends).toEqual([0, 0, 0]);
    const wanted = names.flatMap((name) => Array.from({ length: 15 }, (_, n) => `Bash(${name} ${n}:*)`));
    expect((allow() as string[]).toSorted()).toEqual(wanted.toSorted());
    expect(readdirSync(join(dir, '.claude'))).toEqual(['settings.local.json']);
  });

  it('are refused where the workspace is gone', async () => {
    expect(await saveRules(join(dir, 'gone'), ['Bash(x)'], free)).toMatchObject({
      kind: 'refused',
      why: expect.stringContaining('no folder') as string,
    });
  });
});

describe('changes of permissions in a settings file', () => {
  const places = (): { dir: string; userConfig: string } => ({ dir, userConfig: join(dir, 'user') });

  it('keep comments and all else, entry by entry', async () => {
    put('{\n  "permissions": {\n    "allow": [\n      "A", // first\n      "B",\n      "C" // last\n    ]\n  }\n}\n');
    const remove = { kind: 'remove', list: 'allow', values: ['B', 'nothing'] } as const;
    const changes = [{ ...remove, values: [...remove.values] }, { kind: 'mode', mode: 'plan' } as const];
    expect(await changeSettings('localSettings', changes, places(), free)).toMatchObject({ kind: 'saved', file });
    const now = text();
    expect(now).toContain('// first');
    expect(now).not.toContain('"B"');
    expect(JSON.parse(now.replace(/\/\/.*/g, ''))).toEqual({ permissions: { allow: ['A', 'C'], defaultMode: 'plan' } });
    await changeSettings('localSettings', changes, places(), free);
    expect(text()).toBe(now);
  });

  it('put a list in the place of another, and take the last entry of one', async () => {
    put('{"permissions":{"deny":["A"],"additionalDirectories":["/x"]}}');
    await changeSettings(
      'localSettings',
      [
        { kind: 'replace', list: 'deny', values: ['B', 'B', 'C'] },
        { kind: 'remove', list: 'additionalDirectories', values: ['/x'] },
        { kind: 'remove', list: 'ask', values: ['Q'] },
      ],
      places(),
      free,
    );
    expect(JSON.parse(text())).toEqual({ permissions: { deny: ['B', 'C'], additionalDirectories: [] } });
  });

  it('are made all or not at all', async () => {
    const old = '{"permissions":{"allow":["A"],"deny":"B"}}';
    put(old);
    const changes = [
      { kind: 'add', list: 'allow', values: ['X'] } as const,
      { kind: 'add', list: 'deny', values: ['Y'] } as const,
    ].map((change) => ({ ...change, values: [...change.values] }));
    const refused = await changeSettings('localSettings', changes, places(), free);
    expect(refused).toMatchObject({ kind: 'refused', why: expect.stringContaining('permissions.deny') as string });
    expect(text()).toBe(old);
  });

  it('go to the file that is read for a folder of a repository, and to that of the user, also by a link', async () => {
    execFileSync('git', ['init', '-q', dir]);
    const below = join(dir, 'packages', 'one');
    mkdirSync(below, { recursive: true });
    expect(await saveRules(below, ['Bash(x)'], free)).toMatchObject({ kind: 'saved', file });
    mkdirSync(join(dir, 'user'));
    writeFileSync(join(dir, 'dotfile.json'), '{}');
    symlinkSync(join(dir, 'dotfile.json'), join(dir, 'user', 'settings.json'));
    const change = { kind: 'add' as const, list: 'allow' as const, values: ['Bash(y)'] };
    await changeSettings('userSettings', [change], places(), free);
    expect(JSON.parse(readFileSync(join(dir, 'dotfile.json'), 'utf8'))).toEqual({
      permissions: { allow: ['Bash(y)'] },
    });
    const project = await changeSettings('projectSettings', [change], { ...places(), dir: below }, free);
    expect(project).toMatchObject({ kind: 'saved', file: join(below, '.claude', 'settings.json') });
  });
});
