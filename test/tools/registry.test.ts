import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { builtinTools } from '../../src/tools/builtin.ts';
import { defineTool } from '../../src/tools/define.ts';
import { createRegistry } from '../../src/tools/registry.ts';

const tool = (name: string, aliases: string[] = []) =>
  defineTool({ name, aliases, description: '', input: z.unknown(), brief: () => '', access: () => ({ kind: 'none' }) });

describe('the registry', () => {
  it('finds a tool by name, then by alias', () => {
    const [a, b] = [tool('A', ['Old']), tool('B')];
    const registry = createRegistry([a, b]);
    expect(registry.get('A')).toBe(a);
    expect(registry.get('Old')).toBe(a);
    expect(registry.get('b')).toBeUndefined();
    expect(registry.list()).toEqual([a, b]);
  });

  it.each(['constructor', 'toString', '__proto__', 'hasOwnProperty', ''])('has no tool %j', (name) => {
    expect(createRegistry(builtinTools).get(name)).toBeUndefined();
  });

  it('refuses two tools of one name', () => {
    expect(() => createRegistry([tool('A'), tool('A')])).toThrow('Two tools are called A: rename one of them.');
    expect(() => createRegistry([tool('A'), tool('B', ['A'])])).toThrow(/B and A both claim the name A/);
    expect(() => createRegistry([tool('A', ['X']), tool('B', ['X'])])).toThrow(/B and A both claim the name X/);
  });
});

describe('a defined tool', () => {
  it('is careful where it says nothing', () => {
    expect(tool('A')).toMatchObject({ aliases: [], interrupt: 'block', runs: 'host', maxChars: 50_000 });
    expect(tool('A').isConcurrencySafe({})).toBe(false);
  });
});

describe('the built-in tools', () => {
  it.each(builtinTools.map((builtin) => [builtin.name, builtin] as const))(
    '%s has a schema and a description for the model',
    (_, builtin) => {
      const schema = z.toJSONSchema(builtin.input, { io: 'input' });
      expect(schema).toMatchObject({ type: 'object', additionalProperties: false });
      for (const property of Object.values(schema.properties ?? {})) expect(property).toHaveProperty('description');
      expect(builtin.name).toMatch(/^[A-Za-z]{1,64}$/);
      expect(builtin.description.length).toBeGreaterThan(40);
      expect('run' in builtin || 'effect' in builtin).toBe(true);
    },
  );

  it('have a brief of at most 200 bytes on one line', () => {
    const long = `${'ü'.repeat(300)}\n${'x'.repeat(300)}`;
    const input = {
      file_path: long,
      pattern: long,
      command: long,
      path: long,
      content: '',
      old_string: '',
      new_string: '',
      seconds: 2,
      task_id: long,
      questions: [{ question: long }],
      plan: long,
    };
    for (const builtin of builtinTools) {
      const brief = builtin.brief(input);
      expect(Buffer.byteLength(brief)).toBeLessThanOrEqual(200);
      expect(brief).not.toContain('\n');
      expect(brief).not.toContain('\uFFFD');
    }
  });
});
