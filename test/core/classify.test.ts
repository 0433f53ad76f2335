import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { isSafe } from '../../src/core/classify.ts';
import type { Tool } from '../../src/core/tool.ts';
import { builtinTools } from '../../src/tools/builtin.ts';
import { defineTool } from '../../src/tools/define.ts';
import { isConcurrencySafeMcp } from '../../src/tools/mcp-safety.ts';
import { createRegistry } from '../../src/tools/registry.ts';

const registry = createRegistry(builtinTools);

/** A tool that answers whatever it is told to, whether the types allow it or not. */
function answering(answer: () => unknown): Tool {
  const tool = defineTool({
    name: 'Odd',
    description: '',
    input: z.unknown(),
    brief: () => '',
    access: () => ({ kind: 'none' }),
  });
  return Object.assign(tool, { isConcurrencySafe: answer });
}

describe('a call may run beside its neighbours', () => {
  it('only when its tool answers exactly true', () => {
    expect(
      isSafe(
        answering(() => true),
        {},
      ),
    ).toBe(true);
  });

  it.each<[string, () => unknown]>([
    ['false', () => false],
    ['nothing', () => undefined],
    ['a truthy value', () => 1],
    ['a string', () => 'true'],
    ['an object', () => ({})],
    ['a promise of true', () => Promise.resolve(true)],
    ['a promise that fails', () => Promise.reject(new Error('late'))],
    [
      'an exception',
      () => {
        throw new Error('boom');
      },
    ],
  ])('and not when it answers with %s', (_, answer) => {
    expect(isSafe(answering(answer), {})).toBe(false);
  });

  it('and not when the tool is unknown, says nothing of it, or its input does not parse', () => {
    expect(isSafe(undefined, {})).toBe(false);
    expect(
      isSafe(
        Object.assign(
          answering(() => true),
          { isConcurrencySafe: undefined },
        ),
        {},
      ),
    ).toBe(false);
    for (const input of [null, undefined, 'a.ts', [], {}, { file_path: 1 }, { file_path: 'a', extra: true }]) {
      expect(isSafe(registry.get('Read'), input)).toBe(false);
    }
    expect(isSafe(registry.get('Read'), { file_path: 'a' })).toBe(true);
  });

  it('by tool: reading may, writing and waiting may not', () => {
    const safe = (name: string, input: unknown) => isSafe(registry.get(name), input);
    expect(safe('Glob', { pattern: '*' })).toBe(true);
    expect(safe('Grep', { pattern: 'x' })).toBe(true);
    expect(safe('Write', { file_path: 'a', content: '' })).toBe(false);
    expect(safe('Edit', { file_path: 'a', old_string: 'a', new_string: 'b' })).toBe(false);
    expect(safe('Sleep', { seconds: 1 })).toBe(false);
    expect(safe('Bash', { command: 'ls' })).toBe(true);
    expect(safe('Bash', { command: 'rm x' })).toBe(false);
  });
});

describe('an MCP tool may run beside its neighbours', () => {
  it.each([
    [{ readOnlyHint: true }, true],
    [{ readOnlyHint: 'true' }, false],
    [{ readOnlyHint: 1 }, false],
    [{ readOnlyHint: false }, false],
    [{}, false],
    [null, false],
    [undefined, false],
    ['readOnlyHint', false],
  ])('with annotations %j: %s', (annotations, safe) => {
    expect(isConcurrencySafeMcp(annotations)).toBe(safe);
  });
});
