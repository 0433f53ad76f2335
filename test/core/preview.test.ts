import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  byteLength,
  clipBytes,
  emptyText,
  formatBytes,
  isEmptyContent,
  persistedOutput,
} from '../../src/core/preview.ts';

describe('persistedOutput', () => {
  it('is the documented text, cut at the last line end in the second half', () => {
    const head = `${'a'.repeat(999)}\n${'b'.repeat(500)}\n${'c'.repeat(5_000)}`;
    expect(persistedOutput({ head, bytes: 250_880, path: '/jobs/j/tool-results/1.2.0.txt' })).toBe(
      [
        '<persisted-output>',
        'Output too large (245.0 KB). Full output saved to: /jobs/j/tool-results/1.2.0.txt',
        '',
        'Preview (first 2.0 KB):',
        'a'.repeat(999),
        'b'.repeat(500),
        '...',
        '</persisted-output>',
      ].join('\n'),
    );
  });

  it('cuts at 2,000 bytes when the second half has no line end', () => {
    const lines = persistedOutput({ head: `${'a'.repeat(998)}\n${'b'.repeat(3_000)}`, path: '/p' }).split('\n');
    expect(lines.slice(4)).toEqual(['a'.repeat(998), 'b'.repeat(1_001), '...', '</persisted-output>']);
  });

  it('cuts at a line end also when it is given no more than the preview of a longer output', () => {
    const head = `${'a'.repeat(1_500)}\n${'b'.repeat(499)}`;
    expect(persistedOutput({ head, bytes: 9_000, path: '/p' })).toContain(`\n${'a'.repeat(1_500)}\n...\n`);
  });

  it('has no line of dots when nothing is cut', () => {
    expect(persistedOutput({ head: 'all\nof it', path: '/p' })).toContain(
      '(first 2.0 KB):\nall\nof it\n</persisted-output>',
    );
  });
});

describe('clipBytes', () => {
  it('never cuts a character in two and keeps as much as fits', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(40), (text, bytes) => {
        const clipped = clipBytes(text, bytes);
        expect(text.startsWith(clipped)).toBe(true);
        expect(byteLength(clipped)).toBeLessThanOrEqual(bytes);
        const [next] = Array.from(text.slice(clipped.length));
        expect(next === undefined || byteLength(clipped + next) > bytes).toBe(true);
      }),
    );
  });
});

describe('formatBytes', () => {
  it('speaks of bytes, KB and MB', () => {
    expect([0, 1_023, 2_000, 250_880, 1_048_576, 20_971_520].map(formatBytes)).toEqual([
      '0 B',
      '1023 B',
      '2.0 KB',
      '245.0 KB',
      '1.0 MB',
      '20.0 MB',
    ]);
  });
});

describe('empty content', () => {
  it('is seen and named', () => {
    const image = { type: 'image' as const, source: { type: 'base64' as const, media_type: 'image/png', data: '' } };
    expect(['', ' \n\t', [], [{ type: 'text' as const, text: ' ' }]].map(isEmptyContent)).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(['x', '[]', [image]].map(isEmptyContent)).toEqual([false, false, false]);
    expect(emptyText('Bash')).toBe('(Bash completed with no output)');
  });
});
