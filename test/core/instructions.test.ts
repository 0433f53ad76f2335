import { describe, expect, it } from 'vitest';
import { parseInstructions } from '../../src/core/instructions.ts';

const importsOf = (text: string): string[] => parseInstructions(text).imports;
const textOf = (text: string): string => parseInstructions(text).text;

describe('imports', () => {
  it.each([
    ['@docs/a.md', ['docs/a.md']],
    ['See @./a.md, @../b.md and (not here: x@y.z) @~/c.md.', ['./a.md', '../b.md', '~/c.md']],
    ['- @/abs/path.md!', ['/abs/path.md']],
    ['@with\\ blank/a.md b', ['with blank/a.md']],
    ['@a.md @a.md', ['a.md']],
    ['mail someone@example.com, @ alone, @!, @docs/', []],
    ['in `@code.md`, in ``@a ` @b.md``, after `code` @c.md, `open @d.md', ['c.md', 'd.md']],
    ['```\n@a.md\n```\n@b.md\n~~~ts\n@c.md\n```\n~~~\n@d.md', ['b.md', 'd.md']],
    ['````\n```\n@a.md\n````\n@b.md', ['b.md']],
    ['<!-- @a.md -->\n@b.md', ['b.md']],
  ])('of %j', (text, expected) => {
    expect(importsOf(text)).toEqual(expected);
  });
});

describe('text', () => {
  it.each([
    ['\ufeffbyte order mark', 'byte order mark'],
    ['a\r\nb', 'a\nb'],
    ['a\n<!-- one\ntwo -->\nb', 'a\nb'],
    ['a\n<!-- one --> rest\nb', 'a\nrest\nb'],
    ['<!---->a', 'a'],
    ['a <!-- inline --> b', 'a <!-- inline --> b'],
    ['```\n<!-- code -->\n```', '```\n<!-- code -->\n```'],
    ['<!-- never closed\nb', '<!-- never closed\nb'],
    ['<!-->\nb -->c', 'c'],
  ])('of %j', (text, expected) => {
    expect(textOf(text)).toBe(expected);
  });

  it('takes time in proportion to the file, whatever is in it', () => {
    const started = performance.now();
    for (const part of ['<!--\n', '`', '``` `` `', '@.', '@.\n', '`@a', '-->\n<!--\n'])
      parseInstructions(part.repeat(100_000));
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});
