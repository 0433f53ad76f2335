import { describe, expect, it } from 'vitest';
import { sleep } from '../../src/tools/sleep.ts';

describe('Sleep', () => {
  it('asks for a timer instead of running', () => {
    expect(sleep).not.toHaveProperty('run');
    expect(sleep.effect?.({ seconds: 1.5 })).toEqual({ kind: 'sleep', ms: 1500 });
    expect(sleep.effect?.({ seconds: 0.0001 })).toEqual({ kind: 'sleep', ms: 1 });
    expect(sleep.access({ seconds: 1 }, '/')).toEqual({ kind: 'none' });
    expect(sleep).toMatchObject({ interrupt: 'cancel', runs: 'anywhere' });
  });

  it('says afterwards that it waited, or that it did not', () => {
    expect(sleep.afterEffect?.({ seconds: 3600 }, { kind: 'sleep', ok: true })).toEqual({ content: 'Waited 3,600 s.' });
    expect(sleep.afterEffect?.({ seconds: 2 }, { kind: 'failed', ok: false, text: 'interrupted' })).toEqual({
      content: 'The wait of 2 s ended early: interrupted.',
      isError: true,
    });
  });

  it.each([0, -1, 28 * 86_400 + 1, Infinity, NaN, '5'])('refuses to wait %s seconds', (seconds) => {
    expect(sleep.input.safeParse({ seconds }).success).toBe(false);
    expect(sleep.input.safeParse({ seconds: 28 * 86_400 }).success).toBe(true);
  });
});
