import { describe, expect, it } from 'vitest';
import { SCRUBBED, scrubber } from '../../src/core/scrub.ts';

describe('a scrubber', () => {
  const scrub = scrubber(['sk-ant-api03-abcdef', 'pa"ss\\word/1']);

  it('takes a secret out wherever it stands', () => {
    expect(scrub('KEY=sk-ant-api03-abcdef;sk-ant-api03-abcdefsk-ant-api03-abcdef')).toBe(
      `KEY=${SCRUBBED};${SCRUBBED}${SCRUBBED}`,
    );
  });

  it('knows it as JSON and addresses write it', () => {
    expect(scrub(JSON.stringify({ text: 'pa"ss\\word/1' }))).toBe(`{"text":"${SCRUBBED}"}`);
    expect(scrub(`https://h/?k=${encodeURIComponent('pa"ss\\word/1')}`)).toBe(`https://h/?k=${SCRUBBED}`);
  });

  it('takes the longer of two secrets first, and leaves short ones alone', () => {
    expect(scrubber(['abcdefgh', 'abcdefgh-ijkl'])('abcdefgh-ijkl')).toBe(SCRUBBED);
    expect(scrubber(['on', ''])('on and on')).toBe('on and on');
  });
});
