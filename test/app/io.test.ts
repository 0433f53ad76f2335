import { expect, test } from 'vitest';
import { lineWidth } from '../../src/app/io.ts';

test('a terminal of unknown size, or of size 0, gets lines of a usual length', () => {
  expect([lineWidth({ columns: 132 }), lineWidth({ columns: 0 }), lineWidth({ columns: 0 }, 100)]).toEqual([
    132, 80, 80,
  ]);
  expect([lineWidth({}), lineWidth({}, 100)]).toEqual([80, 100]);
});
