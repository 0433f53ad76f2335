import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Tool, ToolIo } from '../../src/core/tool.ts';
import { edit } from '../../src/tools/edit.ts';
import { read } from '../../src/tools/read.ts';
import { write } from '../../src/tools/write.ts';
import { type Bench, createBench, sha256 } from '../support/tool-io.ts';

let bench: Bench;
beforeEach(() => {
  bench = createBench();
});
afterEach(() => bench.remove());

const died = new Error('the worker died here');

/** Runs a call up to its claim, or up to its end, and gives back what was claimed. */
async function lost<I>(tool: Tool<I>, input: I, when: 'before the effect' | 'after the effect'): Promise<unknown> {
  let claimed: unknown;
  const io: ToolIo = {
    ...bench.io(),
    claim: async (fact) => {
      claimed = JSON.parse(JSON.stringify(fact));
      if (when === 'before the effect') throw died;
    },
  };
  await tool.run!(input, io).catch((error: unknown) => {
    if (error !== died) throw error;
  });
  return claimed;
}
const put = (content: string) => writeFileSync(bench.path('a.txt'), content);
const onDisk = () => readFileSync(bench.path('a.txt'), 'utf8');

const tools: [string, Tool, object, string][] = [
  ['Write', write, { file_path: 'a.txt', content: 'new' }, 'new'],
  ['Edit', edit, { file_path: 'a.txt', old_string: 'old', new_string: 'new', replace_all: false }, 'new'],
];

describe.each(tools)('%s after its worker died', (_, tool, input, after) => {
  beforeEach(async () => {
    put('old');
    await bench.call(read, { file_path: bench.path('a.txt') });
  });

  it('finds its work done and answers as it would have', async () => {
    const claim = await lost(tool, input, 'after the effect');
    expect(onDisk()).toBe(after);
    const recovery = await tool.recover!(claim, input, bench.io());
    put('old');
    const fresh = await tool.run!(input, bench.io());
    expect(recovery).toEqual({ kind: 'done', output: fresh });
  });

  it('finds nothing done, and does it', async () => {
    const claim = await lost(tool, input, 'before the effect');
    expect(onDisk()).toBe('old');
    expect(await tool.recover!(claim, input, bench.io())).toEqual({ kind: 'notDone' });
    expect((await tool.run!(input, bench.io())).isError).toBeUndefined();
    expect(onDisk()).toBe(after);
  });

  it('leaves alone what somebody else wrote meanwhile', async () => {
    const claim = await lost(tool, input, 'before the effect');
    put('theirs');
    expect(await tool.recover!(claim, input, bench.io())).toMatchObject({
      kind: 'unknown',
      check: expect.stringMatching(/a\.txt was changed by someone else: it holds neither/),
    });
    rmSync(bench.path('a.txt'));
    expect(await tool.recover!(claim, input, bench.io())).toMatchObject({
      kind: 'unknown',
      check: expect.stringMatching(/it is gone/),
    });
    expect(() => onDisk()).toThrow('ENOENT');
  });

  it('knows a new file by that there was none', async () => {
    rmSync(bench.path('a.txt'));
    const making = tool.name === 'Write' ? input : { ...input, old_string: '' };
    const claim = await lost(tool, making, 'before the effect');
    expect(claim).toMatchObject({ before: null, after: sha256(after) });
    expect(await tool.recover!(claim, making, bench.io())).toEqual({ kind: 'notDone' });
  });

  it.each([[null], [{}], [{ kind: 'file', path: 1 }], ['text']])('does not trust the claim %j', async (claim) => {
    expect(await tool.recover!(claim, input, bench.io())).toMatchObject({ kind: 'unknown' });
  });
});
