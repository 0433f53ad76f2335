import { readFileSync } from 'node:fs';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { partitionCalls, partitionCommand } from '../../src/app/commands/partition.ts';
import { partition } from '../../src/core/partition.ts';
import type { Tool } from '../../src/core/tool.ts';
import { builtinTools } from '../../src/tools/builtin.ts';
import { defineTool } from '../../src/tools/define.ts';
import { isConcurrencySafeMcp } from '../../src/tools/mcp-safety.ts';
import { createRegistry } from '../../src/tools/registry.ts';

type Case = {
  id: string;
  why: string;
  calls: { name: string; input: unknown }[];
  expect: number[][];
  safe: boolean[];
  alsoAcceptable?: number[][][];
  registry?: { name: string; isConcurrencySafe?: string; annotations?: unknown }[];
};
const cases = readFileSync(new URL('./partition.jsonl', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as Case);

/** What a tool of a case answers, by the words of the case. */
const ANSWERS: Record<string, () => unknown> = {
  throws: () => {
    throw new Error('boom');
  },
  'returns 1': () => 1,
  'returns a Promise of false': () => Promise.resolve(false),
};

function toolOf({ name, isConcurrencySafe, annotations }: NonNullable<Case['registry']>[number]): Tool {
  const tool = defineTool({
    name,
    description: '',
    input: z.looseObject({}),
    brief: () => '',
    access: () => ({ kind: 'other' }),
  });
  if (annotations !== undefined) return { ...tool, isConcurrencySafe: () => isConcurrencySafeMcp(annotations) };
  if (isConcurrencySafe === undefined) return tool;
  const answer = ANSWERS[isConcurrencySafe];
  if (answer === undefined) throw new Error(`No answer is known for ${isConcurrencySafe}`);
  return Object.assign(tool, { isConcurrencySafe: answer });
}

/** Some cases speak of a tool that fetches pages: reading the web changes nothing here. */
const webFetch = defineTool({
  name: 'WebFetch',
  description: '',
  input: z.strictObject({ url: z.string(), prompt: z.string() }),
  isConcurrencySafe: () => true,
  brief: () => '',
  access: ({ url }) => ({ kind: 'fetch', url }),
});

describe('the calls of a reply', () => {
  it.each(cases)('$id: $why', (example) => {
    const known = builtinTools.some((tool) => tool.name === webFetch.name) ? [] : [webFetch as Tool];
    const registry = createRegistry([...builtinTools, ...known, ...(example.registry ?? []).map(toolOf)]);
    const got = partitionCalls(example.calls, registry);
    expect([example.expect, ...(example.alsoAcceptable ?? [])]).toContainEqual(got.batches);
    expect(got.safe).toEqual(example.safe);
  });

  it('are all there', () => {
    expect(cases).toHaveLength(24);
  });

  it('keep their order, run unsafe ones alone, and never leave two safe neighbours apart', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean()), (flags) => {
        const calls = flags.map((safe, index) => ({ safe, index }));
        const batches = partition(calls);
        expect(batches.flatMap((batch) => batch.calls)).toEqual(calls);
        for (const [n, batch] of batches.entries()) {
          expect(batch.calls.length).toBeGreaterThan(0);
          expect(batch.calls.every((call) => call.safe === batch.safe)).toBe(true);
          expect(batch.safe || batch.calls.length === 1).toBe(true);
          expect(batch.safe && batches[n + 1]?.safe).not.toBe(true);
        }
      }),
    );
  });
});

describe('the command partition', () => {
  async function run(input: string): Promise<{ code: number; answers: unknown[]; stderr: string }> {
    const stdout = new PassThrough();
    const stderr = new PassThrough();
    const written = [text(stdout), text(stderr)] as const;
    const code = await partitionCommand({ stdin: Readable.from([input]), stdout, stderr });
    stdout.end();
    stderr.end();
    const [out, err] = await Promise.all(written);
    const answers = out
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as unknown);
    return { code, answers, stderr: err };
  }

  it('answers every line', async () => {
    const lines = [
      { id: 'a', cwd: '/w', calls: [] },
      {
        id: 'b',
        calls: [
          { name: 'Read', input: { file_path: 'x' } },
          { name: 'Nope' },
          { name: 'Glob', input: { pattern: '*' } },
        ],
      },
    ];
    expect(await run(lines.map((line) => JSON.stringify(line)).join('\r\n'))).toEqual({
      code: 0,
      answers: [
        { id: 'a', batches: [], safe: [] },
        { id: 'b', batches: [[0], [1], [2]], safe: [true, false, true] },
      ],
      stderr: '',
    });
  });

  it('answers a bad line with what is wrong, goes on, and ends with 1', async () => {
    const { code, answers, stderr } = await run(
      '{"id":"a","calls":[]}\n\nno json\n{"id":"c","calls":3}\n{"id":"d","calls":[]}\n',
    );
    expect(code).toBe(1);
    expect(answers).toEqual([
      { id: 'a', batches: [], safe: [] },
      { id: null, error: expect.stringMatching(/^line 3 is not JSON: /) },
      { id: 'c', error: expect.stringMatching(/^line 4 needs .*calls: .*expected array/) },
      { id: 'd', batches: [], safe: [] },
    ]);
    expect(stderr).toBe('2 of 5 lines could not be read: their answers say why.\n');
  });
});
