import { expect, test } from 'vitest';
import { parseDeadline, parseDollars, parseLimits } from '../../src/app/limit-flags.ts';

const NOW = Date.parse('2026-11-30T12:00:00Z');

test.each([
  ['30m', NOW + 30 * 60_000],
  ['8h', NOW + 8 * 3_600_000],
  ['2d', NOW + 2 * 86_400_000],
  ['90s', NOW + 90_000],
  ['1h30m', NOW + 90 * 60_000],
  ['1.5h', NOW + 90 * 60_000],
  ['2026-12-01T06:00:00Z', Date.parse('2026-12-01T06:00:00Z')],
  ['2026-12-01T06:00+02:00', Date.parse('2026-12-01T04:00:00Z')],
])('a deadline of %s is a point in time', (text, at) => {
  expect(parseDeadline('--deadline', text, NOW)).toBe(at);
});

test.each(['8', 'soon', '8 hours', '-1h', 'h', '', '1h30', '2026-13-40', '9e99h'])(
  'a deadline of "%s" is refused with an example',
  (text) => {
    expect(() => parseDeadline('--deadline', text, NOW)).toThrow(/30m, 8h or 2d/);
  },
);

test.each(['2026-11-30T11:59:59Z', '0h', '2020-01-01'])('a deadline of %s has passed', (text) => {
  expect(() => parseDeadline('--deadline', text, NOW)).toThrow('has passed already');
});

test.each([
  ['5', 5_000_000],
  ['0.1', 100_000],
  ['$2.50', 2_500_000],
  ['.000001', 1],
  ['1.1', 1_100_000],
])('%s dollars are counted to the micro-dollar', (text, micros) => {
  expect(parseDollars('--max-usd', text)).toBe(micros);
});

test.each(['0', '0.00', '-1', '1e3', '1,5', 'ten', '', '.', '0.0000001', '9'.repeat(20)])(
  '"%s" is no sum of money that bounds anything',
  (text) => {
    expect(() => parseDollars('--max-usd', text)).toThrow(/US dollars above 0/);
  },
);

test('counts are whole numbers above zero, and what was not given stays absent', () => {
  expect(parseLimits({ maxTurns: '3', maxSteps: '40' }, NOW)).toEqual({ turns: 3, steps: 40 });
  for (const bad of ['0', '-3', '1.5', 'many', '']) {
    expect(() => parseLimits({ maxSteps: bad }, NOW)).toThrow(/--max-steps .*whole number above 0/);
  }
});
