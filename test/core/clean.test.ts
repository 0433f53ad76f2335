import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cleanContent, cleanText } from '../../src/core/clean.ts';
import type { ImageBlock } from '../../src/shapes/message.ts';

const png = (width: number, height: number): string => {
  const bytes = Buffer.alloc(24);
  bytes.write('\x89PNG\r\n\x1a\n', 'latin1');
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes.toString('base64');
};
const image = (data: string, media_type = 'image/png'): ImageBlock => ({
  type: 'image',
  source: { type: 'base64', media_type, data },
});

describe('cleanText', () => {
  it.each([
    ['plain text, 日本語 and 👍🏽 stay\n\tas they are', 'plain text, 日本語 and 👍🏽 stay\n\tas they are'],
    ['nul\0 and bell\x07 and del\x7f and c1\x85', 'nul and bell and del and c1'],
    ['lone \ud83d and \udc4d, pair \ud83d\udc4d', 'lone \ufffd and \ufffd, pair 👍'],
    ['\x1b[1;31mred\x1b[0m \x1b[38;5;12mblue\x1b[m\x1b[K', 'red blue'],
    ['\x1b]0;title\x07text\x1b]8;;https://x.test\x1b\\link\x1b]8;;\x1b\\', 'textlink'],
    ['\x1bPdevice string\x1b\\a\x1b(Bb\x1b=c', 'abc'],
    ['\x9b31mred', 'red'],
    ['an end that never comes \x1b]0;title', 'an end that never comes 0;title'],
    ['one\r\ntwo\r\n', 'one\ntwo\n'],
    ['load\n 1%\r 50%\r100%\ndone\n', 'load\n100%\ndone\n'],
    ['kept\r\x1b[K\nnext', 'kept\nnext'],
    ['old\rline\rends', 'old\nline\nends'],
    ['b\bbo\bol\bld and _\bu', 'bold and u'],
  ])('%j becomes %j', (given, expected) => {
    expect(cleanText(given)).toBe(expected);
  });

  it('leaves nothing that the API refuses or a terminal obeys, and cleaning twice is cleaning once', () => {
    const noisy = fc.array(
      fc.oneof(
        fc.constantFrom(
          '\x1b',
          '[',
          ']',
          '0',
          ';',
          'm',
          '\x07',
          '\\',
          '\r',
          '\n',
          '\b',
          '\0',
          '\x9b',
          '\ud800',
          '\udc00',
          'P',
        ),
        fc.string({ unit: 'binary' }),
      ),
    );
    fc.assert(
      fc.property(noisy, (parts) => {
        const clean = cleanText(parts.join(''));
        expect(clean).not.toMatch(/(?![\t\n])\p{Cc}/u);
        expect(clean).not.toMatch(/\p{Surrogate}/u);
        expect(cleanText(clean)).toBe(clean);
      }),
      { numRuns: 2_000 },
    );
  });

  it('takes time in proportion to the text, whatever is in it', () => {
    const started = performance.now();
    for (const part of ['\x1b]', '\x1bP', '\x1b[0', '\x1b[;;', 'x\b', '\b', '\r', '\ud800', 'a\r\n'])
      cleanText(part.repeat(200_000));
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});

describe('cleanContent', () => {
  it('cleans texts and is never empty', () => {
    expect(cleanContent('a\0b', 'Bash')).toBe('ab');
    expect(cleanContent('\x1b[0m\n', 'Bash')).toBe('(Bash completed with no output)');
    expect(cleanContent([], 'Read')).toBe('(Read completed with no output)');
    expect(cleanContent([{ type: 'text', text: '\0' }], 'Read')).toBe('(Read completed with no output)');
    expect(
      cleanContent(
        [
          { type: 'text', text: ' ' },
          { type: 'text', text: 'x\0' },
        ],
        'Read',
      ),
    ).toEqual([{ type: 'text', text: 'x' }]);
  });

  it('keeps an image that the API takes, with the media type that it has', () => {
    expect(cleanContent([image(png(10, 10))], 'Read')).toEqual([image(png(10, 10))]);
    expect(cleanContent([image(png(10, 10), 'image/jpeg')], 'Read')).toEqual([image(png(10, 10))]);
  });

  it.each([
    [image(png(9_000, 10)), '[An image was left out: it has 9000 x 10 pixels, the limit is 8000 a side.]'],
    [image('A'.repeat(5 * 1024 * 1024 + 4)), '[An image was left out: it is 5.0 MB in base64, the limit is 5 MB.]'],
    [image('not base64!!'), '[An image was left out: its data is not base64.]'],
    [image('AAAA', 'image/bmp'), '[An image was left out: image/bmp is not a PNG, JPEG, GIF or WebP image.]'],
  ])('says why an image is left out (%#)', (block, text) => {
    expect(cleanContent([block], 'Read')).toEqual([{ type: 'text', text }]);
  });
});
