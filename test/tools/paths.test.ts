import { describe, expect, it } from 'vitest';
import { isInside, nearName, shownPath } from '../../src/tools/paths.ts';

describe('the name that was meant', () => {
  it.each([
    ['readme.md', ['a', 'README.md'], 'README.md'],
    ['index.js', ['main.js', 'index.ts'], 'index.ts'],
    ['scr', ['lib', 'src'], 'src'],
    ['confg.yaml', ['config.yaml', 'confug.yaml'], 'config.yaml'],
    ['a', ['b', 'c'], undefined],
    ['test', ['tset', 'text'], 'tset'],
    ['apple', ['zebra', 'grape'], undefined],
    ['x.txt', [], undefined],
  ])('for %s among %j is %s', (wanted, names, near) => {
    expect(nearName(wanted, names)).toBe(near);
  });
});

describe('paths', () => {
  it('are shown relative to the working directory only below it', () => {
    expect(shownPath('/w/a/b', '/w')).toBe('a/b');
    expect(shownPath('/w/..a', '/w')).toBe('..a');
    expect(shownPath('/w', '/w')).toBe('/w');
    expect(shownPath('/wx/a', '/w')).toBe('/wx/a');
    expect(shownPath('/a', '/')).toBe('a');
  });

  it('lie inside of a folder only at its border', () => {
    expect(isInside('/w/a', ['/x', '/w'])).toBe(true);
    expect(isInside('/w', ['/w'])).toBe(true);
    expect(isInside('/wx', ['/w'])).toBe(false);
    expect(isInside('/anything', ['/'])).toBe(true);
  });
});
