import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { grep } from '../../src/tools/grep.ts';
import { type Bench, type BenchOptions, createBench } from '../support/tool-io.ts';

let bench: Bench;
beforeEach(() => {
  bench = createBench();
  mkdirSync(bench.path('.git'));
});
afterEach(() => bench.remove());

let minute = 0;
function put(name: string, content: string | Uint8Array): void {
  minute += 1;
  mkdirSync(dirname(bench.path(name)), { recursive: true });
  writeFileSync(bench.path(name), content);
  utimesSync(bench.path(name), 1_700_000_000 + minute * 60, 1_700_000_000 + minute * 60);
}
const search = async (input: object, options: BenchOptions = {}) =>
  (await bench.call(grep, input, options)).text.split('\n');
const content = (input: object, options?: BenchOptions) => search({ output_mode: 'content', ...input }, options);

describe('Grep', () => {
  it('lists files with a match, newest first', async () => {
    put('old.txt', 'needle');
    put('sub/new.txt', 'a needle');
    put('other.txt', 'hay');
    expect(await search({ pattern: 'needle' })).toEqual(['Found 2 files', 'sub/new.txt', 'old.txt']);
  });

  it('leaves out ignored files, binary files and .git, and searches hidden ones', async () => {
    put('.gitignore', 'dist\n');
    put('dist/a.js', 'needle');
    put('.git/a', 'needle');
    put('.hidden', 'needle');
    put('a.bin', Buffer.from('needle\0needle'));
    expect(await search({ pattern: 'needle' })).toEqual(['Found 1 file', '.hidden']);
  });

  it('shows lines with their numbers, in order of paths', async () => {
    put('b.txt', 'x\nneedle 1\n');
    put('a.txt', 'needle: 2\n');
    expect(await content({ pattern: 'needle' })).toEqual(['a.txt:1:needle: 2', 'b.txt:2:needle 1']);
    expect(await content({ pattern: 'needle', '-n': false })).toEqual(['a.txt:needle: 2', 'b.txt:needle 1']);
  });

  it('shows lines around a match', async () => {
    put('a.txt', '1\n2\nneedle\n4\n5\n6\n7\nneedle\n');
    expect(await content({ pattern: 'needle', '-A': 1, '-B': 0 })).toEqual([
      'a.txt:3:needle',
      'a.txt-4-4',
      '--',
      'a.txt:8:needle',
    ]);
    expect(await content({ pattern: 'needle', '-B': 1 })).toEqual([
      'a.txt-2-2',
      'a.txt:3:needle',
      '--',
      'a.txt-7-7',
      'a.txt:8:needle',
    ]);
    expect(await content({ pattern: 'needle', '-C': 1, head_limit: 3 })).toEqual([
      'a.txt-2-2',
      'a.txt:3:needle',
      'a.txt-4-4',
      '[Shown: lines 1-3 of 6. Go on with offset 3, or narrow the search.]',
    ]);
    expect(await content({ pattern: 'needle', context: 1, '-A': 0 })).toEqual(
      await content({ pattern: 'needle', '-B': 1 }),
    );
  });

  it('knows case, only-matching, multiline and counts', async () => {
    put('a.txt', 'Needle NEEDLE\nneedle\nbegin\nend\n');
    expect(await content({ pattern: 'needle', '-i': true })).toHaveLength(2);
    expect(await content({ pattern: 'N[a-z]+', '-o': true })).toEqual(['a.txt:1:Needle']);
    expect(await content({ pattern: 'begin.end', multiline: true })).toEqual(['a.txt:3:begin', 'a.txt:4:end']);
    expect(await content({ pattern: 'begin.end' })).toEqual(['No matches found.']);
    expect(await search({ pattern: 'needle', '-i': true, output_mode: 'count' })).toEqual([
      'a.txt:3',
      '',
      '3 matches in 1 file',
    ]);
  });

  it('knows look-around and backreferences', async () => {
    put('a.txt', 'foobar\nfoobaz\nabab\n');
    expect(await content({ pattern: 'foo(?=baz)' })).toEqual(['a.txt:2:foobaz']);
    expect(await content({ pattern: '(ab)\\1' })).toEqual(['a.txt:3:abab']);
  });

  it('narrows by path, glob and type', async () => {
    put('src/a.ts', 'needle');
    put('src/b.js', 'needle');
    put('lib/c.ts', 'needle');
    put('d.md', 'needle');
    const files = async (input: object) => (await search({ pattern: 'needle', ...input })).slice(1).sort();
    expect(await files({ path: 'src' })).toEqual(['src/a.ts', 'src/b.js']);
    expect(await files({ path: 'src/a.ts' })).toEqual(['src/a.ts']);
    expect(await files({ glob: '*.ts' })).toEqual(['lib/c.ts', 'src/a.ts']);
    expect(await files({ glob: '*.{js,md}' })).toEqual(['d.md', 'src/b.js']);
    expect(await files({ glob: '*.md, lib/**' })).toEqual(['d.md', 'lib/c.ts']);
    expect(await files({ type: 'js' })).toEqual(['src/b.js']);
    expect(await files({ path: bench.path('src'), glob: '*.js' })).toEqual(['src/b.js']);
  });

  it('pages through a long result', async () => {
    put('a.txt', Array.from({ length: 600 }, (_, n) => `needle ${n}\n`).join(''));
    const first = await content({ pattern: 'needle' });
    expect(first).toHaveLength(251);
    expect(first.at(-1)).toBe('[Shown: lines 1-250 of 600. Go on with offset 250, or narrow the search.]');
    const second = await content({ pattern: 'needle', offset: 250 });
    expect(second[0]).toBe('a.txt:251:needle 250');
    expect(await content({ pattern: 'needle', offset: 500 })).toHaveLength(100);
    expect(await content({ pattern: 'needle', head_limit: 0 })).toHaveLength(600);
    expect(await content({ pattern: 'needle', offset: 600 })).toEqual([
      '[There are only 600 lines: nothing is left from offset 600 on.]',
    ]);
  });

  it('cuts long lines', async () => {
    put('a.txt', `needle${'x'.repeat(5000)}\n`);
    const [line] = await content({ pattern: 'needle' });
    expect(line!.length).toBeLessThan(600);
    expect(line).toContain('omitted end of long line');
  });

  it('takes a pattern that begins with a dash, and odd file names', async () => {
    put('--files', 'x\n');
    put('a:1:b-2-.txt', '-v\n');
    expect(await content({ pattern: '-v' })).toEqual(['a:1:b-2-.txt:1:-v']);
    expect(await content({ pattern: 'x', path: '--files' })).toEqual(['--files:1:x']);
  });

  it('leaves out what a rule keeps back', async () => {
    put('a.txt', 'needle\n');
    put('secret.txt', 'needle\n');
    const hidden = (path: string) => path === bench.path('secret.txt');
    expect(await search({ pattern: 'needle' }, { hidden })).toEqual(['Found 1 file', 'a.txt']);
    expect(await content({ pattern: 'needle' }, { hidden })).toEqual(['a.txt:1:needle']);
    expect(await search({ pattern: 'needle', output_mode: 'count' }, { hidden })).toEqual([
      'a.txt:1',
      '',
      '1 match in 1 file',
    ]);
  });

  it('stops when the call is cancelled', async () => {
    expect(await bench.call(grep, { pattern: 'x' }, { signal: AbortSignal.abort() })).toMatchObject({
      isError: true,
      text: 'The search was stopped because the call was cancelled.',
    });
  });

  it('says that nothing was found', async () => {
    put('a.txt', 'hay');
    expect(await search({ pattern: 'needle' })).toEqual(['No files found.']);
    expect(await search({ pattern: 'needle', output_mode: 'count' })).toEqual(['No matches found.']);
  });

  it.each<[string, object, RegExp]>([
    ['a broken expression', { pattern: '(' }, /regex parse error.*unclosed group/s],
    ['a broken expression with look-around', { pattern: '(?=(' }, /error compiling pattern.*parenthes/s],
    ['an unknown type', { pattern: 'x', type: 'klingon' }, /unrecognized file type: klingon/],
    ['a broken glob', { pattern: 'x', glob: '[' }, /error parsing glob/],
    ['a missing path', { pattern: 'x', path: 'nowhere' }, /nowhere does not exist/],
    ['a device', { pattern: 'x', path: '/dev/zero' }, /device, pipe or socket/],
    ['a line end without multiline', { pattern: 'a\nb' }, /literal "\\n" is not allowed/],
  ])('refuses %s in the words of ripgrep or its own', async (_, input, text) => {
    expect(await bench.call(grep, input)).toMatchObject({ isError: true, text: expect.stringMatching(text) });
  });
});
