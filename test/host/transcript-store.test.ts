import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Blobs } from '../../src/core/ports.ts';
import { StoreError } from '../../src/core/store-error.ts';
import { createBlobs, shaOf } from '../../src/host/blobs.ts';
import { createTranscript } from '../../src/host/transcript-store.ts';
import type { Block, Message, NodeMeta, TranscriptNode } from '../../src/shapes/message.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'transcript-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

let n = 0;
/** A message that no other test has, so that no node of it is known yet. */
const say = (text: string): Message => ({
  role: 'user',
  content: [{ type: 'text', text: `${text} ${process.pid}.${n++}` }],
});
const meta = (step: number): NodeMeta => ({ at: 1_700_000_000_000 + step, turn: 1, step });
const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'no error',
    (error: unknown) => error,
  );
const fileOf = (sha: string): string => join(dir, sha.slice(0, 2), sha.slice(2));

/** Blobs that tell what is read from them. */
function counted(blobs: Blobs): Blobs & { reads: string[] } {
  const reads: string[] = [];
  return { ...blobs, reads, get: (sha) => (reads.push(sha), blobs.get(sha)) };
}

/** A chain of which this process knows nothing yet: its files, as another process would have left them. */
function coldChain(length: number, size = 0): string[] {
  const heads: string[] = [];
  for (let step = 0; step < length; step++) {
    const node: TranscriptNode = { parent: heads.at(-1) ?? null, message: say('x'.repeat(size)), meta: meta(step) };
    const text = JSON.stringify(node);
    const sha = shaOf(text);
    mkdirSync(dirname(fileOf(sha)), { recursive: true });
    writeFileSync(fileOf(sha), text);
    heads.push(sha);
  }
  return heads;
}

describe('transcript', () => {
  it('gives back its nodes from first to head', async () => {
    const transcript = createTranscript(createBlobs(dir));
    const messages = [say('a'), say('b'), say('c')];
    const heads: string[] = [];
    for (const [step, message] of messages.entries()) {
      heads.push(await transcript.append(heads.at(-1) ?? null, message, meta(step)));
    }
    const nodes = await transcript.load(heads[2]!);
    expect(nodes.map(({ message }) => message)).toEqual(messages);
    expect(nodes.map(({ parent }) => parent)).toEqual([null, heads[0], heads[1]]);
    expect(await transcript.load(null)).toEqual([]);
    expect(await transcript.load(heads[0]!)).toHaveLength(1);
  });

  it('makes one node of equal ones, whatever the order of keys and with or without undefined fields', async () => {
    const transcript = createTranscript(createBlobs(dir));
    const block: Block = { type: 'thinking', thinking: 't', signature: 's' };
    const again: Block = { signature: 's', thinking: 't', type: 'thinking' };
    const known: NodeMeta = { at: 1, turn: 1, step: 1, stop: 'end_turn' };
    const first = await transcript.append(null, { role: 'assistant', content: [block] }, known);
    const unset: Partial<NodeMeta> = { model: undefined, stop: 'end_turn', step: 1 };
    expect(await transcript.append(null, { content: [again], role: 'assistant' }, { ...unset, ...known })).toBe(first);
    expect(await transcript.append(null, { role: 'assistant', content: [block] }, { ...known, at: 2 })).not.toBe(first);
  });

  it('keeps the input of a call in the order in which the model wrote it, and every byte of thinking', async () => {
    const content: Block[] = [
      { type: 'thinking', thinking: 'a\u0000b\ud800 \u2028 é', signature: 'c2ln+/==' },
      { type: 'tool_use', id: 'a', name: 'Edit', input: { z: 1, a: { y: 2, b: 3 }, __proto__x: 1 } },
    ];
    const transcript = createTranscript(createBlobs(dir));
    const head = await transcript.append(null, { role: 'assistant', content }, meta(n++));
    expect(JSON.stringify((await transcript.read(head)).message.content[1])).toBe(
      '{"id":"a","input":{"z":1,"a":{"y":2,"b":3},"__proto__x":1},"name":"Edit","type":"tool_use"}',
    );
    expect((await transcript.read(head)).message.content).toEqual(content);
  });

  it('is the same to the process that wrote it and to one that comes later', async () => {
    const head = await createTranscript(createBlobs(dir)).append(null, say('a'), meta(1));
    const bytes = await createBlobs(dir).get(head);
    expect(JSON.stringify(await createTranscript(createBlobs(dir)).read(head))).toBe(Buffer.from(bytes).toString());
  });

  it('reads nothing for a step that this process wrote, and one node for one that it did not', async () => {
    const heads = coldChain(5);
    const blobs = counted(createBlobs(dir));
    await createTranscript(blobs).load(heads[3]!);
    expect(blobs.reads).toEqual(heads.slice(0, 4).toReversed());
    blobs.reads.length = 0;

    // A transcript made anew, as for the next activity, knows what the process knows.
    const transcript = createTranscript(blobs);
    expect(await transcript.load(heads[4]!)).toHaveLength(5);
    expect(blobs.reads).toEqual([heads[4]]);
    const next = await transcript.append(heads[4]!, say('next'), meta(6));
    expect(await transcript.load(next)).toHaveLength(6);
    expect(blobs.reads).toEqual([heads[4]]);
  });

  it('cannot be changed by those who read it', async () => {
    const transcript = createTranscript(createBlobs(dir));
    const message = say('a');
    const head = await transcript.append(null, message, meta(1));
    message.content.push({ type: 'text', text: 'later' });
    const [node] = await transcript.load(head);
    expect(node!.message.content).toHaveLength(1);
    expect(() => node!.message.content.push({ type: 'text', text: 'mine' })).toThrow(TypeError);
  });

  it('loads 4,000 nodes that it never saw', async () => {
    const heads = coldChain(4_000, 500);
    const nodes = await createTranscript(createBlobs(dir)).load(heads.at(-1)!);
    expect(nodes).toHaveLength(4_000);
    expect(nodes.slice(1).map(({ parent }) => parent)).toEqual(heads.slice(0, -1));
  });

  it('says which node is missing or damaged, and what to do', async () => {
    const missing = coldChain(4);
    await unlink(fileOf(missing[1]!));
    const damaged = coldChain(3);
    await writeFile(fileOf(damaged[2]!), 'nonsense');
    const errors = [
      await failure(createTranscript(createBlobs(dir)).load(missing[3]!)),
      await failure(createTranscript(createBlobs(dir)).load(damaged[2]!)),
    ];
    expect(errors[0]).toMatchObject({
      code: 'missing',
      path: fileOf(missing[1]!),
      message: expect.stringContaining(
        `The transcript that ends in ${missing[3]} cannot be read: the node 2 before its end (${missing[1]}) is missing`,
      ),
    });
    expect(errors[1]).toMatchObject({
      code: 'corrupt',
      message: expect.stringContaining(`its last node (${damaged[2]}) is corrupt`),
    });
    expect(String(errors[1])).toContain('restore this one file from a backup');
  });

  it('refuses a blob that is no node, and a parent that is not there', async () => {
    const transcript = createTranscript(createBlobs(dir));
    const text = await createBlobs(dir).put('{"a":1}');
    expect(await failure(transcript.read(text))).toMatchObject({
      code: 'corrupt',
      message: expect.stringContaining('not a node'),
    });
    const error = await failure(transcript.append(shaOf('nowhere'), say('a'), meta(1)));
    expect(error).toBeInstanceOf(StoreError);
    expect(error).toMatchObject({ code: 'missing', path: shaOf('nowhere') });
  });
});
