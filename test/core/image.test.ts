import { describe, expect, it } from 'vitest';
import { checkImage } from '../../src/core/image.ts';
import type { ImageBlock } from '../../src/shapes/message.ts';

const image = (hex: string): ImageBlock => ({
  type: 'image',
  source: {
    type: 'base64',
    media_type: 'image/png',
    data: Buffer.from(hex.replaceAll(' ', ''), 'hex').toString('base64'),
  },
});
const gif = (size: string): string => `474946383961 ${size} 000000`;
const jpeg = (size: string): string =>
  `ffd8 ffe0 0010 4a46494600010100000100010000 ffc2 0011 08 ${size} 03012200 021101`;
const webp = (chunk: string): string => `52494646 00000000 57454250 ${chunk}`;

describe('checkImage', () => {
  it.each([
    ['GIF', 'image/gif', gif('401f401f'), gif('411f0100')],
    ['JPEG', 'image/jpeg', jpeg('1f40 1f40'), jpeg('1f41 0001')],
    [
      'extended WebP',
      'image/webp',
      webp('56503858 0a000000 00000000 3f1f00 3f1f00'),
      webp('56503858 0a000000 00000000 000000 401f00'),
    ],
    [
      'lossless WebP',
      'image/webp',
      webp('5650384c 0a000000 2f 3f1f0000 0000000000'),
      webp('5650384c 0a000000 2f 401f0000 0000000000'),
    ],
    [
      'lossy WebP',
      'image/webp',
      webp('56503820 0a000000 000000 9d012a 401f 401f'),
      webp('56503820 0a000000 000000 9d012a 0100 411f'),
    ],
  ])('reads kind and size of a %s', (_, kind, fits, tooLarge) => {
    expect(checkImage(image(fits))).toMatchObject({ ok: { source: { media_type: kind } } });
    expect(checkImage(image(tooLarge))).toMatchObject({ refused: expect.stringContaining('8001') });
  });

  it('lets an image pass whose size it cannot find', () => {
    expect(checkImage(image('ffd8ff'))).toHaveProperty('ok');
    expect(checkImage(image('89504e470d0a1a0a00'))).toHaveProperty('ok');
  });
});
