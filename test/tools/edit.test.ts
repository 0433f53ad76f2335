import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { edit } from '../../src/tools/edit.ts';
import { read } from '../../src/tools/read.ts';
import { replaceText } from '../../src/tools/replace-text.ts';
import { write } from '../../src/tools/write.ts';
import { type Bench, createBench, sha256 } from '../support/tool-io.ts';

let bench: Bench;
beforeEach(() => {
  bench = createBench();
});
afterEach(() => bench.remove());

const put = (content: string | Uint8Array) => writeFileSync(bench.path('a.txt'), content);
const readIt = (range = {}) => bench.call(read, { file_path: bench.path('a.txt'), ...range });
const editIt = (old_string: string, new_string: string, options = {}) =>
  bench.call(edit, { file_path: bench.path('a.txt'), old_string, new_string, ...options });
const onDisk = () => readFileSync(bench.path('a.txt'), 'utf8');
const refused = (text: RegExp) => ({ isError: true, claims: [], text: expect.stringMatching(text) });

describe('Edit', () => {
  it('replaces the one occurrence and shows the place', async () => {
    put(Array.from({ length: 20 }, (_, i) => `line ${i + 1}\n`).join(''));
    await readIt();
    const result = await editIt('line 10\n', 'ten\nten and a half\n');
    expect(result.text).toBe(
      `Edited ${bench.path('a.txt')}:\n${[
        '     6\tline 6',
        '     7\tline 7',
        '     8\tline 8',
        '     9\tline 9',
        '    10\tten',
        '    11\tten and a half',
        '    12\tline 11',
        '    13\tline 12',
        '    14\tline 13',
        '    15\tline 14',
        '    16\tline 15',
      ].join('\n')}`,
    );
    expect(onDisk()).toContain('line 9\nten\nten and a half\nline 11\n');
  });

  it('claims the hashes before and after', async () => {
    put('a b');
    await readIt();
    expect((await editIt('b', 'c')).claims).toMatchObject([
      { kind: 'file', path: bench.path('a.txt'), before: sha256('a b'), after: sha256('a c') },
    ]);
  });

  it('edits again what it edited, without another Read', async () => {
    put('a b');
    await readIt();
    await editIt('b', 'c');
    await editIt('a', 'd');
    expect(onDisk()).toBe('d c');
  });

  it('takes dollar signs and backslashes literally', async () => {
    put('price');
    await readIt();
    await editIt('price', '$& $1 \\n $$');
    expect(onDisk()).toBe('$& $1 \\n $$');
  });

  it('tells how often an ambiguous text occurs, and replaces all of them on demand', async () => {
    put('x y x y x');
    await readIt();
    expect(await editIt('x', 'z')).toMatchObject(refused(/occurs 3 times in .*set replace_all/));
    expect(onDisk()).toBe('x y x y x');
    expect((await editIt('x', 'z', { replace_all: true })).text).toContain('in 3 places, the first one:');
    expect(onDisk()).toBe('z y z y z');
  });

  it('counts overlapping places as ambiguous', async () => {
    put('aaa');
    await readIt();
    expect(await editIt('aa', 'b')).toMatchObject(refused(/occurs 2 times/));
  });

  it('may empty a file', async () => {
    put('all');
    await readIt();
    expect((await editIt('all', '')).text).toMatch(/It is empty now/);
    expect(onDisk()).toBe('');
  });

  const missing: [string, string, string, RegExp][] = [
    ['the text is not there', 'one\ntwo\n', 'three', /is not in .*copy it exactly/],
    [
      'white space differs',
      'a\n\tif (x) {\n\t\ty;\n',
      '  if (x) {\n    y;\n',
      /Line 2 differs from it only in white space/,
    ],
    ['the line numbers were copied', 'one\ntwo\n', '     1\tone\n     2\ttwo', /begins with the line numbers/],
  ];
  it.each(missing)('says what is wrong when %s', async (_, content, wanted, text) => {
    put(content);
    await readIt();
    expect(await editIt(wanted, 'new')).toMatchObject(refused(text));
  });

  it('refuses a file that was not read, whether it is there or not', async () => {
    const before = await editIt('x', 'y');
    put('x');
    expect(before).toMatchObject(refused(/You have not read .*Read it first/));
    expect((await editIt('x', 'y')).text).toBe(before.text);
  });

  it('refuses when only the first page was read, until the part was asked for', async () => {
    put('x\n'.repeat(2000) + 'end\n');
    await readIt();
    expect(await editIt('end', 'END')).toMatchObject(refused(/only the first page .*offset and limit/));
    await readIt({ offset: 1990 });
    expect((await editIt('end', 'END')).isError).toBeUndefined();
    expect(await bench.call(write, { file_path: bench.path('a.txt'), content: 'x' })).toMatchObject(
      refused(/only part/),
    );
  });

  it('edits a file that somebody changed if the text is still the only one', async () => {
    put('one\ntwo\n');
    await readIt();
    put('zero\none\ntwo\n');
    expect((await editIt('two', 'TWO')).isError).toBeUndefined();
    expect(onDisk()).toBe('zero\none\nTWO\n');
    expect(await bench.call(write, { file_path: bench.path('a.txt'), content: 'x' })).toMatchObject(
      refused(/only part/),
    );
  });

  it.each([
    ['is gone', 'nothing\n', false, /was changed since you read it, and old_string is not in it\. Read it again/],
    ['occurs twice', 'two two\n', false, /was changed since you read it, and old_string is in it 2 times/],
    [
      'occurs twice and all are meant',
      'two two\n',
      true,
      /was changed since you read it, and old_string is in it 2 times/,
    ],
  ])('asks to read a changed file again when the text %s', async (_, content, replace_all, text) => {
    put('one\ntwo\n');
    await readIt();
    put(content);
    expect(await editIt('two', 'x', { replace_all })).toMatchObject(refused(text));
    expect(onDisk()).toBe(content);
  });

  it('refuses a change that is none', async () => {
    put('a\r\nb\r\n');
    await readIt();
    expect(await editIt('a', 'a')).toMatchObject(refused(/are the same/));
    expect(await editIt('a\r\nb', 'a\nb')).toMatchObject(refused(/only in line ends/));
  });

  it('makes a new file of an empty old_string, and fills an empty one, but never a full one', async () => {
    expect((await editIt('', 'new\n')).text).toBe(`Created ${bench.path('a.txt')} (1 line).`);
    expect(onDisk()).toBe('new\n');
    expect(await editIt('', 'again')).toMatchObject(refused(/exists and is not empty/));
    put('');
    expect((await editIt('', 'filled')).isError).toBeUndefined();
    expect(onDisk()).toBe('filled');
  });

  it('keeps CRLF, byte order mark and mode', async () => {
    put('\uFEFFone\r\ntwo\r\nthree\r\n');
    chmodSync(bench.path('a.txt'), 0o750);
    await readIt();
    await editIt('one\ntwo', 'one\nand\ntwo');
    expect(onDisk()).toBe('\uFEFFone\r\nand\r\ntwo\r\nthree\r\n');
    expect(statSync(bench.path('a.txt')).mode & 0o777).toBe(0o750);
  });

  it('never touches bytes that are not UTF-8', async () => {
    const bytes = Buffer.from([0x61, 0xe9, 0x0a, 0x62]);
    put(bytes);
    await readIt();
    expect(await editIt('b', 'c')).toMatchObject(refused(/is not valid UTF-8: Edit would damage it/));
    expect(readFileSync(bench.path('a.txt'))).toEqual(bytes);
  });

  it('says nothing of the content of a file that was not read before the call is allowed', async () => {
    put('secret');
    const io = bench.io();
    const input = { file_path: 'a.txt', replace_all: false, new_string: 'x' };
    const right = await edit.validate!({ ...input, old_string: 'secret' }, io);
    expect(await edit.validate!({ ...input, old_string: 'wrong' }, io)).toBe(right);
  });
});

describe('replacing text', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n', '\r\n', 'é', '😀'), maxLength: 30 });
  const flat = (value: string) => value.replaceAll('\r\n', '\n');
  /** CRLF as one sign, so that an offset never falls into the middle of it. */
  const units = (value: string) => value.match(/\r\n|[^]/gu) ?? [];

  it('finds any piece of the text, and changes nothing but that place', () => {
    fc.assert(
      fc.property(text, fc.nat(), fc.nat(), text, (whole, from, length, to) => {
        const signs = units(whole);
        const start = from % (signs.length + 1);
        const piece = signs.slice(start, start + 1 + (length % 5)).join('');
        fc.pre(piece !== '');
        const result = replaceText(whole, flat(piece), flat(to), false);
        expect(result.kind).not.toBe('missing');
        if (result.kind !== 'done') return;
        expect(result.text.slice(0, result.at)).toBe(signs.slice(0, start).join(''));
        expect(flat(result.text.slice(result.at, result.end))).toBe(flat(to));
        expect(result.text.slice(result.end)).toBe(signs.slice(start).join('').slice(piece.length));
      }),
    );
  });

  it('agrees with a plain replacement where there is no CRLF', () => {
    const plain = fc.string({ unit: fc.constantFrom('a', 'b', '\n'), maxLength: 30 });
    fc.assert(
      fc.property(
        plain,
        plain.filter((wanted) => wanted !== ''),
        plain,
        (whole, wanted, to) => {
          const result = replaceText(whole, wanted, to, true);
          expect(result.kind === 'done' ? result.text : whole).toBe(whole.split(wanted).join(to));
        },
      ),
    );
  });

  it('leaves every line end of a CRLF file as CRLF', () => {
    const lines = fc.string({ unit: fc.constantFrom('a', 'b', '\n'), maxLength: 30 });
    fc.assert(
      fc.property(
        lines,
        lines.filter((wanted) => wanted !== ''),
        lines,
        (whole, wanted, to) => {
          fc.pre(whole.includes('\n'));
          const result = replaceText(whole.replaceAll('\n', '\r\n'), wanted, to, true);
          if (result.kind !== 'done') return;
          expect(result.text).toBe(whole.split(wanted).join(to).replaceAll('\n', '\r\n'));
        },
      ),
    );
  });
});
