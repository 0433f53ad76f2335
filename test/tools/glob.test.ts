import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { glob } from '../../src/tools/glob.ts';
import { type Bench, createBench } from '../support/tool-io.ts';

let bench: Bench;
beforeEach(() => {
  bench = createBench();
});
afterEach(() => bench.remove());

/** Makes files, each a minute newer than the one before. */
function put(...names: string[]): void {
  for (const [n, name] of names.entries()) {
    mkdirSync(dirname(bench.path(name)), { recursive: true });
    writeFileSync(bench.path(name), '');
    utimesSync(bench.path(name), 1_700_000_000 + n * 60, 1_700_000_000 + n * 60);
  }
}
const find = async (
  pattern: string,
  more: { path?: string; cwd?: string; hidden?: (path: string) => boolean } = {},
) => {
  const { path, ...options } = more;
  return (await bench.call(glob, { pattern, ...(path !== undefined && { path }) }, options)).text.split('\n');
};

describe('Glob', () => {
  it('finds files at any depth, newest first, relative to the working directory', async () => {
    put('a.ts', 'src/b.ts', 'src/deep/c.ts', 'd.js');
    expect(await find('**/*.ts')).toEqual(['src/deep/c.ts', 'src/b.ts', 'a.ts']);
    expect(await find('*.ts')).toEqual(['src/deep/c.ts', 'src/b.ts', 'a.ts']);
    expect(await find('src/*.ts')).toEqual(['src/b.ts']);
    expect(await find('./src/*.ts')).toEqual(['src/b.ts']);
    expect(await find('*.{js,jsx}')).toEqual(['d.js']);
  });

  it('finds hidden and ignored files but nothing in .git', async () => {
    put('.git/config', '.gitignore', 'node_modules/x/index.js', '.env', 'sub/.git');
    writeFileSync(bench.path('.gitignore'), 'node_modules\n.env\n');
    expect((await find('**')).sort()).toEqual(['.env', '.gitignore', 'node_modules/x/index.js']);
  });

  it('looks in another folder, and shows what lies elsewhere by its whole path', async () => {
    put('src/a.ts', 'lib/b.ts');
    expect(await find('*.ts', { path: 'src' })).toEqual(['src/a.ts']);
    expect(await find('*.ts', { path: bench.path('src'), cwd: bench.path('lib') })).toEqual([bench.path('src/a.ts')]);
  });

  it('takes absolute patterns and those that lead upwards', async () => {
    put('src/a.ts', 'lib/b.ts', 'lib/deep/b.ts');
    expect(await find(`${bench.root}/src/**/*.ts`)).toEqual(['src/a.ts']);
    expect(await find('../lib/*', { cwd: bench.path('src') })).toEqual([bench.path('lib/b.ts')]);
    expect(await find(bench.path('lib/b.ts'))).toEqual(['lib/b.ts']);
  });

  it('names the folder that it will read', () => {
    const folder = (pattern: string, path?: string) => glob.access({ pattern, path }, '/work');
    expect(folder('**/*.ts')).toEqual({ kind: 'read', paths: ['/work'] });
    expect(folder('*.ts', 'src')).toEqual({ kind: 'read', paths: ['/work/src'] });
    expect(folder('/etc/*.conf')).toEqual({ kind: 'read', paths: ['/etc'] });
    expect(folder('/etc/passwd')).toEqual({ kind: 'read', paths: ['/etc'] });
    expect(folder('../../*')).toEqual({ kind: 'read', paths: ['/'] });
    expect(folder('a/../../b/*', 'src')).toEqual({ kind: 'read', paths: ['/work/b'] });
    expect(folder('{a,/etc}/../*')).toEqual({ kind: 'read', paths: ['/work'] });
  });

  it('takes a leading ! as a letter', async () => {
    put('!odd.txt', 'even.txt');
    expect(await find('!odd.txt')).toEqual(['!odd.txt']);
  });

  it('gives the 100 newest and says so', async () => {
    put(...Array.from({ length: 130 }, (_, n) => `f${n}.txt`));
    const lines = await find('*.txt');
    expect(lines).toHaveLength(101);
    expect(lines[0]).toBe('f129.txt');
    expect(lines[99]).toBe('f30.txt');
    expect(lines[100]).toBe('[Only the 100 newest of 130 files are shown. Use a narrower pattern or path.]');
  });

  it('does not follow links out of the folder', async () => {
    put('inside.txt');
    symlinkSync('/etc', bench.path('link'));
    expect(await find('**')).toEqual(['inside.txt']);
  });

  it('leaves out what a rule keeps back', async () => {
    put('a.txt', 'secret.txt');
    expect(await find('*.txt', { hidden: (path) => path === bench.path('secret.txt') })).toEqual(['a.txt']);
  });

  it('stops when the call is cancelled', async () => {
    expect(await bench.call(glob, { pattern: '*' }, { signal: AbortSignal.abort() })).toMatchObject({
      isError: true,
      text: 'The search was stopped because the call was cancelled.',
    });
  });

  it('says that nothing was found', async () => {
    expect(await find('*.none')).toEqual(['No files found.']);
  });

  it.each<[string, { pattern: string; path?: string }, RegExp]>([
    ['a missing folder', { pattern: '*', path: 'scr' }, /scr does not exist\. Did you mean .*\/src\?/],
    ['a file as folder', { pattern: '*', path: 'src/a.ts' }, /is a file, not a folder/],
    ['a broken pattern', { pattern: '[' }, /error parsing glob/],
    ['a tilde', { pattern: '*', path: '~/x' }, /~ is not expanded/],
  ])('refuses %s', async (_, input, text) => {
    put('src/a.ts');
    expect(await bench.call(glob, input)).toMatchObject({ isError: true, text: expect.stringMatching(text) });
  });
});
