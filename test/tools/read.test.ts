import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import { linesOf } from '../../src/tools/text-file.ts';
import { page } from '../../src/tools/page.ts';
import { read } from '../../src/tools/read.ts';
import { type Bench, createBench, sha256 } from '../support/tool-io.ts';

let bench: Bench;
beforeEach(() => {
  bench = createBench();
});
afterEach(() => bench.remove());

const put = (name: string, content: string | Uint8Array): string => {
  writeFileSync(bench.path(name), content);
  return bench.path(name);
};
const readFile = (name: string, range: { offset?: number; limit?: number } = {}, env = {}) =>
  bench.call(read, { file_path: bench.path(name), ...range }, { env });

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

describe('Read', () => {
  it('numbers the lines as cat -n does and remembers the whole file', async () => {
    put('a.txt', 'one\ntwo\n\nfour');
    const result = await readFile('a.txt');
    expect(result.text).toBe('     1\tone\n     2\ttwo\n     3\t\n     4\tfour');
    expect(result.seen).toEqual({ [bench.path('a.txt')]: { sha: sha256('one\ntwo\n\nfour') } });
  });

  it('shows the lines of a file with CRLF and a byte order mark without them', async () => {
    put('a.txt', '\uFEFFone\r\ntwo\r\n');
    expect((await readFile('a.txt')).text).toBe('     1\tone\n     2\ttwo');
  });

  it('takes a relative path from the working directory', async () => {
    mkdirSync(bench.path('sub'));
    put('sub/a.txt', 'x');
    expect((await bench.call(read, { file_path: 'a.txt' }, { cwd: bench.path('sub') })).text).toBe('     1\tx');
  });

  it('remembers the target of a link', async () => {
    put('a.txt', 'x');
    symlinkSync('a.txt', bench.path('link'));
    expect(Object.keys((await readFile('link')).seen ?? {})).toEqual([bench.path('a.txt')]);
  });

  it('says that an empty file is empty', async () => {
    put('a.txt', '');
    const result = await readFile('a.txt');
    expect(result.text).toBe(`${bench.path('a.txt')} exists but is empty.`);
    expect(result.isError).toBeUndefined();
  });

  it('says in one line that a file has not changed since', async () => {
    put('a.txt', 'one');
    await readFile('a.txt');
    expect((await readFile('a.txt')).text).toContain('unchanged since you read it');
    expect((await readFile('a.txt', { offset: 1 })).text).toContain('1\tone');
    put('a.txt', 'two');
    expect((await readFile('a.txt')).text).toBe('     1\ttwo');
  });

  it('shows a range with its place, which is enough for an edit but not for a rewrite', async () => {
    put('a.txt', 'a\nb\nc\nd\n');
    const result = await readFile('a.txt', { offset: 2, limit: 2 });
    expect(result.text).toBe('     2\tb\n     3\tc\n\n[lines 2-3 of 4]');
    expect(bench.seen.get(bench.path('a.txt'))).toMatchObject({ partial: true, via: 'range' });
  });

  it('counts a range that covers the file as the whole file, and does not forget the whole for a range', async () => {
    put('a.txt', 'a\nb\n');
    await readFile('a.txt', { offset: 0, limit: 2 });
    expect(bench.seen.get(bench.path('a.txt'))).toEqual({ sha: sha256('a\nb\n') });
    await readFile('a.txt', { offset: 2 });
    expect(bench.seen.get(bench.path('a.txt'))).toEqual({ sha: sha256('a\nb\n') });
  });

  it('refuses a range that begins behind the end', async () => {
    put('a.txt', 'a\nb\n');
    expect(await readFile('a.txt', { offset: 3 })).toMatchObject({
      isError: true,
      text: expect.stringMatching(/only 2 lines.*no line 3/),
    });
  });

  it('gives page one of a long file with a PARTIAL notice', async () => {
    put('a.txt', 'x\n'.repeat(2500));
    const result = await readFile('a.txt');
    expect(result.text).toContain('  2000\tx\n\n[PARTIAL:');
    expect(result.text).toContain('lines 1-2,000 of 2,500. Go on with offset 2001');
    expect(bench.seen.get(bench.path('a.txt'))).toEqual({ sha: sha256('x\n'.repeat(2500)), partial: true });
  });

  it('gives page one of a file over the token limit', async () => {
    put('a.txt', `${'x'.repeat(993)}\n`.repeat(150));
    const result = await readFile('a.txt');
    expect(result.text).toContain('[PARTIAL: this is only the first page, lines 1-99 of 150.');
    expect(Buffer.byteLength(result.text)).toBeLessThan(100_500);
  });

  it('refuses a range over the token limit and says how much fits', async () => {
    put('a.txt', `${'x'.repeat(993)}\n`.repeat(150));
    expect(await readFile('a.txt', { offset: 11 })).toMatchObject({
      isError: true,
      text: expect.stringMatching(/Lines 11-150 .*25,000 tokens.*limit 99 fits from line 11 on/),
    });
    expect((await readFile('a.txt', { offset: 11, limit: 99 })).isError).toBeUndefined();
  });

  it('takes the token limit from the job variables', async () => {
    put('a.txt', 'twelve bytes\n'.repeat(10));
    expect((await readFile('a.txt', {}, { CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS: '10' })).text).toContain(
      'lines 1-2 of 10',
    );
  });

  it('cuts long lines and says how much is missing', async () => {
    put('a.txt', `${'x'.repeat(1999)}😀${'y'.repeat(10)}\nshort`);
    const result = await readFile('a.txt');
    expect(result.text).toBe(`     1\t${'x'.repeat(1999)}… [12 more characters in this line]\n     2\tshort`);
    expect(bench.seen.get(bench.path('a.txt'))).toMatchObject({ partial: true, via: 'range' });
  });

  it('shows what is not valid UTF-8 and says so', async () => {
    put('a.txt', Buffer.from([0x61, 0xe9, 0x0a]));
    expect((await readFile('a.txt')).text).toBe(
      '     1\ta\uFFFD\n\n[Not valid UTF-8: bytes that could not be read are shown as \uFFFD. Edit refuses this file.]',
    );
  });

  it('shows an image as an image, whatever its name', async () => {
    put('picture.txt', PNG);
    expect((await readFile('picture.txt')).content).toEqual([
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG.toString('base64') } },
    ]);
  });

  it('refuses an image that the API would refuse', async () => {
    put('big.png', Buffer.concat([PNG, Buffer.alloc(5 * 1024 * 1024)]));
    expect(await readFile('big.png')).toMatchObject({
      isError: true,
      text: expect.stringMatching(/image that can't be shown.*5 MB.*smaller copy/),
    });
  });

  const refused: [string, () => string, RegExp][] = [
    [
      'a missing file, with a near name',
      () => (put('config.yaml', ''), 'confg.yaml'),
      /does not exist. Did you mean .*\/config\.yaml\?/,
    ],
    ['another ending', () => (put('index.ts', ''), 'index.js'), /Did you mean .*\/index\.ts\?/],
    ['another case', () => (put('README.md', ''), 'readme.md'), /Did you mean .*\/README\.md\?/],
    ['nothing near', () => (put('zebra', ''), 'apple.txt'), /apple\.txt does not exist\. The working directory is/],
    ['a missing folder', () => 'no/such/file', /nor does its folder/],
    ['a path through a file', () => (put('file', 'x'), 'file/x'), /nor does its folder/],
    ['a folder', () => (mkdirSync(bench.path('dir')), 'dir'), /is a folder\. List it with Glob/],
    ['a binary file', () => (put('a.bin', Buffer.from([1, 0, 2])), 'a.bin'), /binary file.*Look at it in Bash/],
    ['UTF-16', () => (put('a.txt', Buffer.from('\uFEFFhi', 'utf16le')), 'a.txt'), /UTF-16.*iconv/],
    ['a PDF', () => (put('a.pdf', '%PDF-1.7'), 'a.pdf'), /PDF.*pdftotext/],
    ['a notebook', () => (put('a.ipynb', '{}'), 'a.ipynb'), /notebook.*jq/],
    ['a circle of links', () => (symlinkSync('loop', bench.path('loop')), 'loop'), /links lead in a circle \(ELOOP\)/],
    ['a very long name', () => 'x'.repeat(300), /name is too long for the file system/],
  ];
  it.each(refused)('refuses %s', async (_, make, text) => {
    const result = await readFile(make());
    expect(result.isError).toBe(true);
    expect(result.text).toMatch(text);
    expect(result.seen).toBeUndefined();
  });

  it('refuses devices without touching them, and files too large to hold', async () => {
    expect(await bench.call(read, { file_path: '/dev/zero' })).toMatchObject({
      isError: true,
      text: expect.stringMatching(/device, pipe or socket/),
    });
    put('huge.log', '');
    truncateSync(bench.path('huge.log'), 5 * 1024 ** 3);
    expect(await readFile('huge.log')).toMatchObject({
      isError: true,
      text: expect.stringMatching(/too large to read.*Grep/),
    });
  });

  it.each([
    ['~/x', /~ is not expanded/],
    ['', /path is empty/],
    ['a\0b', /NUL/],
  ])('refuses the path %j', async (file_path, text) => {
    expect(await bench.call(read, { file_path })).toMatchObject({ isError: true, text: expect.stringMatching(text) });
  });
});

describe('pages of a file', () => {
  it('cover it exactly, whatever the page size', () => {
    const line = fc.string({ unit: 'grapheme', maxLength: 40 }).map((text) => text.replaceAll(/[\r\n]/g, ' '));
    fc.assert(
      fc.property(
        fc.array(line, { minLength: 1 }),
        fc.integer({ min: 1, max: 50 }),
        fc.nat(200),
        (content, count, bytes) => {
          const got: string[] = [];
          let next = 1;
          while (next <= content.length) {
            const part = page(content, next, count, bytes);
            expect(part.first).toBe(next);
            expect(part.last).toBeGreaterThanOrEqual(next);
            for (const row of part.text.split('\n')) got.push(row.replace(/^ *\d+\t/, ''));
            next = part.last + 1;
          }
          expect(got).toEqual(content);
        },
      ),
    );
  });

  it('count lines as editors do', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', '\n', '\r\n') }), (text) => {
        const expected = text === '' ? 0 : text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
        expect(linesOf(text)).toHaveLength(expected);
      }),
    );
  });
});
