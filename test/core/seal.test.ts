import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { callLabel, droppedText, seal, sealMessage, SPILLED_CHARS } from '../../src/core/seal.ts';
import type { Reason } from '../../src/shapes/call.ts';
import type { ToolResultBlock } from '../../src/shapes/message.ts';

const sizes = (...chars: number[]): { index: number; chars: number; fixed: boolean }[] =>
  chars.map((chars, index) => ({ index, chars, fixed: false }));

describe('seal', () => {
  it('spills nothing that fits', () => {
    expect(seal(sizes(100_000, 100_000))).toEqual({ spill: [] });
  });

  it('spills the largest first, until it fits', () => {
    expect(seal(sizes(40_000, 90_000, 80_000))).toEqual({ spill: [1] });
    expect(seal(sizes(90_000, 90_000, 90_000, 90_000, 10_000))).toEqual({ spill: [0, 1] });
  });

  it('counts a fixed one and never takes it', () => {
    const [read, ...rest] = sizes(190_000, 7_000, 6_000, 5_000);
    expect(seal([{ ...read!, fixed: true }, ...rest])).toEqual({ spill: [1, 2] });
  });

  it('fits, or has spilled all that helps; takes no smaller one for a larger one; depends on sizes alone', () => {
    const result = fc.record({ chars: fc.nat(120_000), fixed: fc.boolean() });
    fc.assert(
      fc.property(fc.array(result, { maxLength: 12 }), fc.integer({ min: 1, max: 200_000 }), (given, message) => {
        const results = given.map((one, index) => ({ index, ...one }));
        const { spill } = seal(results, { message });
        const isSpilled = (index: number): boolean => spill.includes(index);
        const left = results.reduce((sum, { index, chars }) => sum + (isSpilled(index) ? SPILLED_CHARS : chars), 0);
        const fresh = results.filter(({ fixed, chars }) => !fixed && chars > SPILLED_CHARS);
        expect(left <= message || fresh.every(({ index }) => isSpilled(index))).toBe(true);
        expect(spill.every((index) => fresh.some((one) => one.index === index))).toBe(true);
        const smallest = Math.min(...fresh.filter(({ index }) => isSpilled(index)).map(({ chars }) => chars));
        expect(fresh.filter(({ index }) => !isSpilled(index)).every(({ chars }) => chars <= smallest)).toBe(true);
        expect(left - SPILLED_CHARS + smallest <= message && spill.length > 0).toBe(false);
        expect(seal(results.toReversed(), { message })).toEqual({ spill });
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('sealMessage', () => {
  const result = (id: string): ToolResultBlock => ({ type: 'tool_result', tool_use_id: id, content: id });

  it('puts results first, then hooks, their stop, then notes', () => {
    const content = sealMessage({
      results: [result('a'), result('b')],
      contexts: [
        { kind: 'hook', text: 'of a' },
        { kind: 'hook', text: 'of b' },
      ],
      stops: ['enough'],
      notes: [
        { kind: 'task', text: '<task-notification/>' },
        { kind: 'message', text: 'and then\0' },
        { kind: 'reminder', text: 'r' },
      ],
    });
    expect(content.map((block) => (block.type === 'text' ? block.text : block))).toEqual([
      result('a'),
      result('b'),
      '<system-reminder>\nof a\n</system-reminder>',
      '<system-reminder>\nof b\n</system-reminder>',
      'hook_stopped_continuation: enough',
      '<system-reminder>\n<task-notification/>\n</system-reminder>',
      'and then',
      '<system-reminder>\nr\n</system-reminder>',
    ]);
  });

  it('starts a conversation with what leads it', () => {
    const lead = [{ type: 'text' as const, text: 'instructions' }];
    expect(sealMessage({ results: [], lead, notes: [{ kind: 'prompt', text: 'go' }] })).toEqual([
      ...lead,
      { type: 'text', text: 'go' },
    ]);
  });

  it('leaves out what says nothing, but not a stop without a reason', () => {
    const blank = { kind: 'hook' as const, text: ' \0' };
    expect(sealMessage({ results: [], contexts: [blank], notes: [{ ...blank, kind: 'prompt' }] })).toEqual([]);
    expect(sealMessage({ results: [], stops: [' '] })).toEqual([
      { type: 'text', text: 'hook_stopped_continuation: a hook ended the turn without a reason' },
    ]);
  });
});

describe('droppedText', () => {
  const bash = (id: string, input: Record<string, unknown>) => ({ id, name: 'Bash', input });
  const calls = [bash('a', { command: 'npm test', description: 'Run the tests' }), bash('b', { command: 'false' })];

  it('names the parallel call that failed', () => {
    const text = (by: string): string => droppedText({ reason: 'sibling_error', by }, { name: 'Read' }, calls);
    expect(text('a')).toBe('Cancelled: a parallel call failed: Bash(Run the tests)');
    expect(text('b')).toBe('Cancelled: a parallel call failed: Bash(false)');
    expect(text('c')).toBe('Cancelled: a parallel call failed: another call of this step');
  });

  it('never says that a person stopped what nobody stopped', () => {
    const text = (reason: Reason): string => droppedText({ reason }, { name: 'Bash' }, calls);
    for (const reason of ['user', 'interrupt', 'denied'] as const)
      expect(text(reason)).toMatch(/^Cancelled: a person /);
    for (const reason of ['budget', 'deadline', 'shutdown', 'broken'] as const) {
      expect(text(reason)).toMatch(/^(Not finished|Failed): .*Nobody stopped (this call|it) by hand\./);
    }
    expect(text('deadline')).toContain('check what it did before you do it again');
  });

  it('says what was seen instead of guessing', () => {
    expect(droppedText({ reason: 'interrupt', text: 'It was killed.' }, { name: 'Bash' }, calls)).toBe(
      'Cancelled: a person interrupted this turn. It was killed.',
    );
  });

  it('labels a call in one line of a bounded size', () => {
    expect(callLabel('Read', { file_path: '/x' })).toBe('Read');
    expect(callLabel('Bash', { description: ' ', command: 'é'.repeat(300) })).toBe(`Bash(${'é'.repeat(100)}…)`);
  });
});
