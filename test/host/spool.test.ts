import { appendFile, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { worstCase } from '../../src/core/purse.ts';
import { accumulate, emptyReply, eventsOfBlock, keepable, type StreamEvent } from '../../src/core/reply.ts';
import { type Attempt, openSpool } from '../../src/host/spool.ts';
import type { Reply } from '../../src/shapes/model.ts';
import type { Price } from '../../src/shapes/price.ts';
import { replyEvents, type Said } from '../support/raw-model.ts';
import { createSmallDisk } from '../support/small-disk.ts';

const price: Price = { bands: [{ input: 2, output: 10, cacheWrite5m: 2.5 }] };
const sized = { requestBytes: 2_000, maxTokens: 1_000 };
const asked = 'a'.repeat(64);
const request = { ...sized, at: 0, model: 'm', asked, worst: worstCase(sized, price), price };

const thought: Said = { thinking: 'hm', signature: 'sig' };
const ls: Said = { call: 'Bash', id: 'toolu_1', json: '{"command":"ls"}' };
const cat: Said = { call: 'Bash', id: 'toolu_2', json: '{"command":"cat"}' };
/** Prompt of 10 tokens, output of 20. */
const exact = 10 * 2 + 20 * 10;
const cutCost = 10 * 2 + 1_000 * 10;

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'spool-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** The events as the client records them. */
function recorded(events: readonly StreamEvent[]): StreamEvent[][] {
  let state = emptyReply;
  return events.flatMap((event) => {
    state = accumulate(state, event);
    if (event['type'] === 'content_block_stop') return [eventsOfBlock(state, event['index'] as number)];
    return String(event['type']).startsWith('message') ? [[event]] : [];
  });
}

/** Begins an attempt and records a reply up to the first event of that type. */
async function attempt(events: readonly StreamEvent[], until?: string): Promise<Attempt> {
  const begun = await (await openSpool(dir)).begin(request);
  const end = until === undefined ? events.length : events.findIndex(({ type }) => type === until);
  for (const line of recorded(events.slice(0, end))) begun.record(line);
  return begun;
}
const whole = (events: readonly StreamEvent[]): Reply => keepable(events.reduce(accumulate, emptyReply))!;
const calls = replyEvents({ said: [thought, ls, { text: 'and' }, cat], stop: 'tool_use' });

describe('what a dead attempt left', () => {
  it('is the whole reply when its end was recorded, with its exact cost', async () => {
    const events = replyEvents({ said: [{ text: 'An answer.' }] });
    await attempt(events);
    const spool = await openSpool(dir);
    expect(await spool.kept(asked)).toEqual(whole(events));
    expect(await spool.owed()).toBe(exact);
    expect(await (await openSpool(dir)).kept(asked)).toEqual(whole(events));
  });

  it('is cut after its last complete call', async () => {
    await attempt(calls, 'message_delta');
    const spool = await openSpool(dir);
    expect(await spool.kept(asked)).toMatchObject({
      cut: true,
      content: [{ type: 'thinking' }, { type: 'tool_use' }, { type: 'text' }, { type: 'tool_use' }],
    });
    expect(await spool.owed()).toBe(cutCost);
  });

  it('is nothing without a complete call, and costs what it can have cost', async () => {
    await attempt(replyEvents({ said: [{ text: 'half an answer' }] }), 'message_delta');
    const spool = await openSpool(dir);
    expect(await spool.kept(asked)).toBeUndefined();
    expect(await spool.owed()).toBe(cutCost);
  });

  it('is its worst case when it never got an answer', async () => {
    await attempt([]);
    expect(await (await openSpool(dir)).owed()).toBe(request.worst);
  });

  it('is of no use for another request, and still counts', async () => {
    await (await attempt(calls)).seal(whole(calls));
    const spool = await openSpool(dir);
    expect(await spool.kept('b'.repeat(64))).toBeUndefined();
    expect(await spool.owed()).toBe(exact);
  });

  it('is the best of several', async () => {
    await attempt(calls, 'message_delta');
    const events = replyEvents({ said: [{ text: 'whole' }] });
    await attempt(events);
    await attempt(calls, 'message_delta');
    expect(await (await openSpool(dir)).kept(asked)).toEqual(whole(events));
  });
});

describe('damage', () => {
  const journal = async (): Promise<string> =>
    join(
      dir,
      (await readdir(dir)).find((name) => name.startsWith('blocks.'))!,
    );

  it.each([2, 5, 40, 120, 200, 300, 500, 700])(
    '%i bytes torn off a journal lose only what was in them',
    async (bytes) => {
      await attempt(calls);
      const path = await journal();
      await truncate(path, (await readFile(path)).length - bytes);
      const reply = await (await openSpool(dir)).kept(asked);
      const full = whole(calls).content;
      expect(reply?.content ?? []).toEqual(full.slice(0, reply?.content.length ?? 0));
      expect(reply?.cut).toBe(reply ? true : undefined);
      expect(reply?.content.at(-1)?.type).toBe(reply ? 'tool_use' : undefined);
    },
  );

  it('in the middle of a journal ends it there', async () => {
    await attempt(calls);
    const path = await journal();
    const lines = (await readFile(path, 'utf8')).split('\n');
    lines[3] = lines[3]!.replace('{"events"', '{"evemts"');
    await writeFile(path, lines.join('\n'));
    expect(await (await openSpool(dir)).kept(asked)).toMatchObject({
      content: [{ type: 'thinking' }, { type: 'tool_use', id: 'toolu_1' }],
      cut: true,
    });
  });

  it('of bytes that are no text is no obstacle', async () => {
    await attempt(calls, 'message_delta');
    await appendFile(await journal(), Buffer.from([0, 255, 10, 254]));
    expect(await (await openSpool(dir)).kept(asked)).toMatchObject({ cut: true });
  });

  it('of a sealed reply makes room for another', async () => {
    const begun = await attempt(calls);
    await begun.seal(whole(calls));
    const path = join(
      dir,
      (await readdir(dir)).find((name) => name.startsWith('reply.'))!,
    );
    await writeFile(path, (await readFile(path, 'utf8')).replace('ls', 'rm'));
    expect(await (await openSpool(dir)).kept(asked)).toEqual(whole(calls));
    expect(await (await openSpool(dir)).kept(asked)).toEqual(whole(calls));
  });

  it('of a request record leaves the others countable', async () => {
    await attempt(calls);
    await writeFile(join(dir, 'request.torn'), '{"at":');
    expect(await (await openSpool(dir)).owed()).toBe(exact);
  });
});

describe('sealing', () => {
  it('is won by exactly one, and all have the same reply then', async () => {
    const replies = ['a', 'b', 'c', 'd', 'e'].map((text) => replyEvents({ said: [{ text }] }));
    const attempts = await Promise.all(replies.map(() => attempt([])));
    const sealed = await Promise.all(attempts.map((one, i) => one.seal(whole(replies[i]!))));
    expect(new Set(sealed.map((reply) => JSON.stringify(reply))).size).toBe(1);
    expect(sealed.filter((reply, i) => JSON.stringify(reply) === JSON.stringify(whole(replies[i]!)))).toHaveLength(1);
    expect((await readdir(dir)).filter((name) => name.startsWith('.'))).toEqual([]);
  });
});

describe('the account', () => {
  it('tells each attempt once, however often askings are repeated', async () => {
    const tell = async (asking: string): Promise<number> => (await openSpool(dir)).tell(asking);
    await attempt([]);
    expect(await tell('one')).toBe(request.worst);
    expect(await tell('one')).toBe(request.worst);
    await attempt(calls, 'message_delta');
    expect(await tell('two')).toBe(cutCost);
    (await attempt([])).end('refused');
    await attempt(calls);
    expect(await tell('two')).toBe(cutCost + exact);
    expect(await tell('three')).toBe(0);
    expect(await (await openSpool(dir)).owed('two')).toBe(cutCost + exact);
    expect(await (await openSpool(dir)).owed('three')).toBe(0);
  });

  it('keeps the price that held when the attempt was sent', async () => {
    const spool = await openSpool(dir);
    await spool.begin({ ...request, price: { bands: [{ input: 0, output: 1 }] } });
    expect(await (await openSpool(dir)).owed()).toBe(1_000);
  });
});

describe('a disk that is full', () => {
  it('refuses to begin, before any money is spent', async () => {
    const disk = await createSmallDisk(64 * 1024);
    try {
      const spool = await openSpool(join(disk.path, 'spool'));
      await writeFile(join(disk.path, 'fill'), Buffer.alloc(1 << 20)).catch(() => undefined);
      await expect(spool.begin({ ...request, model: 'm'.repeat(20_000) })).rejects.toMatchObject({
        name: 'StoreError',
        code: 'full',
      });
    } finally {
      await disk.close();
    }
  });

  it('never costs a reply that was paid', async () => {
    const disk = await createSmallDisk(64 * 1024);
    try {
      const spool = await openSpool(join(disk.path, 'spool'));
      const begun = await spool.begin(request);
      await writeFile(join(disk.path, 'fill'), Buffer.alloc(1 << 20)).catch(() => undefined);
      for (const line of recorded(calls)) begun.record(line);
      expect(await begun.seal(whole(calls))).toEqual(whole(calls));
      expect(await spool.tell('one')).toBeGreaterThanOrEqual(exact);
    } finally {
      await disk.close();
    }
  });

  it('has no spool below a file', async () => {
    await writeFile(join(dir, 'file'), '');
    await expect(openSpool(join(dir, 'file', 'spool'))).rejects.toMatchObject({
      name: 'StoreError',
      code: 'unwritable',
    });
  });
});
