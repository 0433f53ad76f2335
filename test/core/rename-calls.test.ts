import { describe, expect, it } from 'vitest';
import { callIds, uniqueCalls } from '../../src/core/rename-calls.ts';
import type { Block } from '../../src/shapes/message.ts';

const call = (id: string): Block => ({ type: 'tool_use', id, name: 'Bash', input: { command: 'true' } });
const idsOf = (content: Block[]): string[] => [...callIds([{ content }])];

describe('uniqueCalls', () => {
  it('keeps good ids and other blocks as they are', () => {
    const content: Block[] = [
      { type: 'thinking', thinking: '', signature: 's' },
      { type: 'text', text: 'a' },
      call('toolu_1'),
    ];
    const kept = uniqueCalls(content, new Set());
    expect(kept).toEqual(content);
    expect(kept.every((block, n) => block === content[n])).toBe(true);
  });

  it('renames an id that came before, in this reply or an earlier one, always alike', () => {
    const used = new Set(['a', 'a_2']);
    expect(idsOf(uniqueCalls([call('a'), call('b'), call('b')], used))).toEqual(['a_3', 'b', 'b_2']);
    expect([...used]).toEqual(['a', 'a_2', 'a_3', 'b', 'b_2']);
    expect(idsOf(uniqueCalls([call('a'), call('b'), call('b')], new Set(['a', 'a_2'])))).toEqual(['a_3', 'b', 'b_2']);
  });

  it('mends ids that the API would refuse', () => {
    const long = 'x'.repeat(100);
    const ids = idsOf(uniqueCalls([call('call:1/2'), call(''), call(long), call(long)], new Set()));
    expect(ids).toEqual(['call_1_2', 'call', 'x'.repeat(64), `${'x'.repeat(62)}_2`]);
  });

  it('mends a name that no tool can have, so that the reply can be sent back', () => {
    const odd = { type: 'tool_use' as const, id: 'a', name: '\u001b[2JNope', input: {} };
    expect(uniqueCalls([odd], new Set())).toEqual([{ ...odd, name: '__2JNope' }]);
    expect(uniqueCalls([{ ...odd, id: 'b', name: '' }], new Set())).toMatchObject([{ name: 'unnamed' }]);
  });
});
