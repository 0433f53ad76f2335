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
import { saveRules } from '../../src/host/save-rules.ts';
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
