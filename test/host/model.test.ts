import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { type ModelServer, startModelServer } from '../../src/app/model-server/start-model-server.ts';
import type { Script } from '../../src/app/model-server/script.ts';
import { UNLIMITED } from '../../src/core/purse.ts';
import type { Block, Message } from '../../src/shapes/message.ts';
import { type Asker, createAsker } from '../support/model-asker.ts';
import { complaints } from '../support/pairing.ts';
import { type RawModel, replyEvents, sse, startRawModel, STREAM } from '../support/raw-model.ts';
import { createSmallDisk } from '../support/small-disk.ts';

let closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.toReversed()) await close();
  closers = [];
});

async function scripted(
  script: Script,
  options?: Parameters<typeof createAsker>[1],
): Promise<{ server: ModelServer; asker: Asker }> {
  const server = await startModelServer({ script });
  const asker = await createAsker(server.url, options);
  closers.push(
    () => server.close(),
    () => asker.close(),
  );
  return { server, asker };
}

async function raw(
  answer: (response: ServerResponse, n: number) => unknown,
  options?: Parameters<typeof createAsker>[1],
): Promise<{ model: RawModel; asker: Asker }> {
  const model = await startRawModel(answer);
  const asker = await createAsker(model.url, options);
  closers.push(
    () => model.close(),
    () => asker.close(),
  );
  return { model, asker };
}

const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] });
const results = (content: Block[]): Message => ({
  role: 'user',
  content: content.flatMap((block): Block[] =>
    block.type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: block.id, content: 'ok' }] : [],
  ),
});
const tokens = (input_tokens: number, output_tokens: number) => ({
  input_tokens,
  output_tokens,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
});
const ls = { name: 'Bash', input: { command: 'ls' } };
const twoCalls = replyEvents({
  said: [
    { thinking: 'hm', signature: 'sig' },
    { call: 'Bash', id: 'toolu_1', json: '{"command":"ls"}' },
    { text: 'and a lot of text' },
    { call: 'Bash', id: 'toolu_2', json: '{"command":"cat"}' },
  ],
  stop: 'tool_use',
});
/** Prompt of 10 tokens and output of 20 of claude-sonnet-5-5; the same with all output that REQUEST allows. */
const EXACT = 10 * 2 + 20 * 10;
const CUT = 10 * 2 + 2_000 * 10;

describe('a reply', () => {
  it('is streamed to watchers and comes back with its cost', async () => {
    const { asker, server } = await scripted({
      steps: [{ thinking: { text: 'hmm' }, text: 'I look.', calls: [ls], usage: tokens(1_000, 50) }],
    });
    const outcome = await asker.ask();
    expect(outcome).toMatchObject({
      kind: 'reply',
      fromSpool: false,
      spent: 1_000 * 2 + 50 * 10,
      reply: {
        stop: 'tool_use',
        model: 'claude-sonnet-5-5',
        content: [{ type: 'thinking' }, { type: 'text', text: 'I look.' }, { type: 'tool_use', input: ls.input }],
      },
    });
    expect(asker.heard).toMatchObject({ text: 'I look.', thinking: 'hmm', attempts: [1] });
    expect(asker.heard.signs).toBeGreaterThan(5);
    expect(server.requests()).toHaveLength(1);
  });

  it('is never asked for twice, and is reported with the same cost', async () => {
    const { asker, server } = await scripted({ steps: [{ text: 'hi' }] });
    const first = await asker.ask({ asking: 'run/1' });
    expect(await asker.ask({ asking: 'run/1' })).toEqual({ ...first, fromSpool: true });
    expect(await asker.ask({ asking: 'run/2' })).toEqual({ ...first, fromSpool: true, spent: 0 });
    expect(server.requests()).toHaveLength(1);
  });

  it('is asked for once by two who ask at the same time', async () => {
    const { asker, server } = await scripted({ steps: [{ text: 'hi', calls: [ls] }] });
    const outcomes = await Promise.all([asker.ask(), asker.ask(), asker.ask()]);
    const replies = outcomes.map((outcome) => (outcome.kind === 'reply' ? outcome.reply : outcome));
    expect(replies).toEqual([replies[0], replies[0], replies[0]]);
    expect(server.requests()).toHaveLength(1);
  });

  it('is not used for another request', async () => {
    const { asker, server } = await scripted({ steps: [{ text: 'one' }, { text: 'two' }] });
    await asker.ask();
    await asker.ask(
      {},
      { messages: [user('go'), { role: 'assistant', content: [{ type: 'text', text: 'one' }] }, user('on')] },
    );
    expect(server.requests()).toHaveLength(2);
  });

  it('that used up its output in thinking comes back with no content, paid once', async () => {
    const events = replyEvents({ said: [{ thinking: 'hm', signature: 'sig' }], stop: 'max_tokens' });
    const { asker, model } = await raw((response) => response.writeHead(200, STREAM).end(sse(...events)));
    expect(await asker.ask()).toMatchObject({
      kind: 'reply',
      spent: EXACT,
      reply: { content: [], stop: 'max_tokens' },
    });
    expect(await asker.ask()).toMatchObject({ kind: 'reply', fromSpool: true });
    expect(model.requests).toHaveLength(1);
  });

  it.each([
    ['kept', twoCalls, 'reply'],
    ['not kept', replyEvents({ said: [], stop: 'model_context_window_exceeded' }), 'too_long'],
  ])('that has ended does not wait for the end of the connection: %s', async (_, events, kind) => {
    const { asker } = await raw((response) => response.writeHead(200, STREAM).write(sse(...events)));
    expect(await asker.ask()).toMatchObject({ kind, spent: EXACT });
  });
});

describe('the prompt cache', () => {
  it('is read up to the last request at every step, and nothing is refused', async () => {
    const steps = ['one', 'two', 'three', 'four'].map((text) => ({ thinking: { text: 'hm' }, text, calls: [ls, ls] }));
    const { asker, server } = await scripted({ bodies: true, steps });
    const messages: Message[] = [user('go '.repeat(2_000))];
    for (const [n] of steps.entries()) {
      const outcome = await asker.ask({ spool: join(asker.dir, String(n)) }, { messages: [...messages] });
      const content = outcome.kind === 'reply' ? outcome.reply.content : [];
      messages.push({ role: 'assistant', content }, results(content));
    }
    const usages = server.requests().map(({ usage }) => usage!);
    const cached = usages.map((usage) => usage.cache_read_input_tokens + usage.cache_creation_input_tokens);
    expect(usages.slice(1).map((usage) => usage.cache_read_input_tokens)).toEqual(cached.slice(0, -1));
    const marks = server.requests().map(({ body }) => JSON.stringify(body).split('cache_control').length - 1);
    expect(marks).toEqual([3, 4, 4, 4]);
  });

  it('is never asked for on thinking or on blank text, and changes no byte before a mark', async () => {
    const { asker, model } = await raw((response) => response.writeHead(200, STREAM).end(sse(...twoCalls)));
    const messages: Message[] = [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'go' },
          { type: 'text', text: ' ' },
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'x' }] },
      { role: 'user', content: [{ type: 'text', text: ' ' }] },
    ];
    await asker.ask({}, { messages, system: '', tools: [] });
    expect(model.requests[0]).toEqual({
      model: 'claude-sonnet-5-5',
      max_tokens: 2_000,
      stream: true,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'go', cache_control: { type: 'ephemeral' } },
            { type: 'text', text: ' ' },
          ],
        },
        messages[1],
        messages[2],
      ],
    });
  });
});

describe('a cut reply', () => {
  it('is kept up to its last complete call, and nothing is asked again', async () => {
    const { asker, server } = await scripted({
      steps: [{ text: 'I look.', calls: [ls, ls, ls], cut: [{ after: 'block 2', how: 'reset' }] }],
    });
    const outcome = await asker.ask();
    expect(outcome).toMatchObject({
      kind: 'reply',
      reply: { cut: true, stop: null, content: [{ type: 'text' }, { type: 'tool_use' }, { type: 'tool_use' }] },
    });
    expect(await asker.ask()).toEqual({ ...outcome, fromSpool: true });
    expect(server.requests()).toHaveLength(1);
  });

  it('without a complete call is asked for again, and counted', async () => {
    const { asker, server } = await scripted({
      steps: [
        {
          text: 'a long answer',
          usage: tokens(10, 20),
          cut: [{ after: '4 events', how: 'close' }],
        },
      ],
    });
    expect(await asker.ask()).toMatchObject({ kind: 'wait', why: 'api', spent: 0 });
    expect(await asker.ask()).toMatchObject({ kind: 'reply', spent: CUT + EXACT, fromSpool: false });
    expect(asker.heard.attempts).toEqual([1, 2]);
    expect(server.requests()).toHaveLength(2);
  });

  it('by an error of the API in the middle is counted, and one before it is not', async () => {
    const failing = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    const { asker } = await raw((response, n) =>
      response.writeHead(200, STREAM).end(sse(...twoCalls.slice(0, n === 1 ? 0 : 3), failing)),
    );
    expect(await asker.ask({ asking: 'run/1' })).toMatchObject({ kind: 'wait', why: 'rate_limit', spent: 0 });
    expect(await asker.ask({ asking: 'run/2' })).toMatchObject({ kind: 'wait', why: 'rate_limit', spent: CUT });
  });

  it('at any byte leaves a reply that a strict API takes back, or a wait', async () => {
    const bytes = Buffer.from(sse(...twoCalls));
    let at = 0;
    const { asker, model } = await raw((response) => {
      response.writeHead(200, STREAM);
      response.write(bytes.subarray(0, at), () => response.destroy());
    });
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: bytes.length - 1 }), async (where) => {
        at = where;
        runs += 1;
        const spool = join(asker.dir, String(runs));
        const outcome = await asker.ask({ spool });
        const kept = outcome.kind === 'reply' ? outcome.reply.content : [];
        const conversation: Message[] =
          kept.length > 0 ? [user('go'), { role: 'assistant', content: kept }, results(kept)] : [];
        const firstCall =
          bytes.indexOf('"content_block_stop","index":1}') + '"content_block_stop","index":1}\n\n'.length;
        expect([outcome.kind, complaints(conversation)]).toEqual([where >= firstCall ? 'reply' : 'wait', []]);
      }),
      { numRuns: 60 },
    );
    expect(model.requests).toHaveLength(runs);
  });
});

describe('silence', () => {
  it.each([
    ['before the answer', 'start', 'wait'],
    ['in the middle of a text', '3 events', 'wait'],
    ['after a complete call', 'block 1', 'reply'],
  ] as const)('%s ends the request by the rule of a cut', async (_, after, kind) => {
    const { asker, server } = await scripted(
      { steps: [{ text: 'I look.', calls: [ls, ls], stall: [{ after, for: 'forever' }] }] },
      { stallMs: 150 },
    );
    const outcome = await asker.ask();
    expect(outcome.kind).toBe(kind);
    expect('text' in outcome ? outcome.text : 'nothing for 0.15 s').toContain('nothing for 0.15 s');
    await server.waitFor(({ outcome }) => outcome === 'stalled');
  });

  it('is none while the API sends pings', async () => {
    const { asker } = await scripted(
      { steps: [{ text: 'hi', ping_every: '50ms', stall: [{ after: '3 events', for: '1s', pings: true }] }] },
      { stallMs: 400 },
    );
    expect(await asker.ask()).toMatchObject({ kind: 'reply', reply: { content: [{ text: 'hi' }] } });
  });

  it('is what pings alone are in the long run', async () => {
    const { asker, server } = await scripted(
      { steps: [{ text: 'hi', ping_every: '20ms', stall: [{ after: '3 events', for: 'forever', pings: true }] }] },
      { stallMs: 60 },
    );
    expect(await asker.ask()).toMatchObject({ kind: 'wait', why: 'api' });
    expect(asker.heard.signs).toBeGreaterThan(10);
    await server.waitFor(({ outcome }) => outcome === 'stalled');
  });
});

describe('a cancel', () => {
  it('before the request asks nothing', async () => {
    const { asker, server } = await scripted({ steps: [{ text: 'hi' }] });
    expect(await asker.ask({ signal: AbortSignal.abort() })).toEqual({ kind: 'cancelled', spent: 0 });
    expect(server.requests()).toHaveLength(0);
  });

  it('in the middle ends the request at once and counts it', async () => {
    const stop = new AbortController();
    const { asker, model } = await raw((response) => {
      response.writeHead(200, STREAM).write(sse(...replyEvents({ said: [{ text: 'half' }] }).slice(0, 3)));
      void once(response, 'close').then(() => gone.abort());
    });
    const gone = new AbortController();
    const outcome = asker.ask({ signal: stop.signal, onText: () => stop.abort() });
    expect(await outcome).toEqual({ kind: 'cancelled', spent: CUT });
    if (!gone.signal.aborted) await once(gone.signal, 'abort');
    expect(model.requests).toHaveLength(1);
  });

  it('before the answer counts the prompt at most', async () => {
    const stop = new AbortController();
    const { asker } = await raw(() => stop.abort());
    const { spent, kind } = await asker.ask({ signal: stop.signal });
    expect(kind).toBe('cancelled');
    expect(spent).toBeGreaterThan(1_000 * 2);
    expect(spent).toBeLessThan(2_000 * 10);
  });

  it('after a complete call keeps the reply up to it', async () => {
    const stop = new AbortController();
    const { asker } = await raw((response) => response.writeHead(200, STREAM).write(sse(...twoCalls.slice(0, -9))));
    expect(await asker.ask({ signal: stop.signal, onText: (_, thinking) => !thinking && stop.abort() })).toMatchObject({
      kind: 'reply',
      reply: {
        cut: true,
        content: [
          { type: 'thinking', signature: 'sig' },
          { type: 'tool_use', id: 'toolu_1' },
        ],
      },
    });
  });

  it('of one who waits for another attempt ends that waiting only', async () => {
    const stop = new AbortController();
    const finish = new AbortController();
    const { asker, model } = await raw((response) => {
      stop.abort();
      void once(finish.signal, 'abort').then(() => response.writeHead(200, STREAM).end(sse(...twoCalls)));
    });
    const first = asker.ask();
    const second = asker.ask({ signal: stop.signal });
    expect(await second).toMatchObject({ kind: 'cancelled' });
    finish.abort();
    expect(await first).toMatchObject({ kind: 'reply', fromSpool: false });
    expect(model.requests).toHaveLength(1);
  });
});

describe('the purse', () => {
  const answer = (response: ServerResponse): unknown => response.writeHead(200, STREAM).end(sse(...twoCalls));

  it('lowers the output limit to what it can pay', async () => {
    const { asker, model } = await raw(answer);
    expect(await asker.ask({ purse: 16_000 }, { maxTokens: 32_000 })).toMatchObject({ kind: 'reply' });
    const sent = Number(model.requests[0]!['max_tokens']);
    expect(sent).toBeGreaterThanOrEqual(1_024);
    expect(sent).toBeLessThan(1_600);
  });

  it('that is too small asks nothing and says what it takes', async () => {
    const { asker, model } = await raw(answer);
    const outcome = await asker.ask({ purse: 9_000 });
    expect(outcome).toMatchObject({ kind: 'over_budget', spent: 0 });
    const need = outcome.kind === 'over_budget' ? outcome.need : 0;
    expect(await asker.ask({ purse: need - 1 })).toEqual(outcome);
    expect(await asker.ask({ purse: need })).toMatchObject({ kind: 'reply' });
    expect(model.requests).toHaveLength(1);
  });

  it('pays lost attempts too before it pays a new one', async () => {
    const { asker, model } = await raw((response) => response.writeHead(200, STREAM).end(sse(...twoCalls.slice(0, 3))));
    const purse = 2 * CUT + 10_000;
    expect(await asker.ask({ purse })).toMatchObject({ kind: 'wait' });
    expect(await asker.ask({ purse })).toMatchObject({ kind: 'wait' });
    expect(await asker.ask({ purse })).toMatchObject({ kind: 'over_budget', spent: 2 * CUT });
    expect(model.requests).toHaveLength(2);
  });

  it('that was too small for more than thinking asks for more', async () => {
    const events = replyEvents({ said: [{ thinking: 'hm', signature: 'sig' }], stop: 'max_tokens' });
    const { asker } = await raw((response) => response.writeHead(200, STREAM).end(sse(...events)));
    const outcome = await asker.ask({ purse: 16_000 }, { maxTokens: 32_000 });
    expect(outcome).toMatchObject({ kind: 'over_budget', spent: EXACT });
    expect(outcome.kind === 'over_budget' && outcome.need > 320_000).toBe(true);
  });

  it('with a limit refuses a model that has no price, and without one counts nothing', async () => {
    const { asker, model } = await raw(answer);
    expect(await asker.ask({}, { model: 'mystery-1' })).toMatchObject({
      kind: 'failed',
      error: expect.stringContaining('no price is known for mystery-1'),
    });
    expect(model.requests).toHaveLength(0);
    expect(await asker.ask({ purse: UNLIMITED }, { model: 'mystery-1' })).toMatchObject({ kind: 'reply', spent: 0 });
  });

  it('goes by the prices that a user gave, and says what is wrong with them', async () => {
    const { asker } = await raw(answer);
    const prices = { 'mystery-1': { input: 1, output: 1 } };
    expect(await asker.ask({ prices }, { model: 'mystery-1' })).toMatchObject({ kind: 'reply', spent: 30 });
    expect(await asker.ask({ prices: { m: { input: 'free' } } }, { model: 'm' })).toMatchObject({
      kind: 'failed',
      error: expect.stringMatching(/prices.* at m/),
    });
  });
});

describe('the account of a spool', () => {
  /** Cut twice in mid text, then whole: two lost attempts, one kept. */
  const answer = (response: ServerResponse, n: number): unknown =>
    response.writeHead(200, STREAM).end(sse(...(n < 3 ? twoCalls.slice(0, 3) : twoCalls)));

  it('counts each attempt once when askings have names', async () => {
    const { asker } = await raw(answer);
    const spent: number[] = [];
    for (const asking of ['run/1', 'run/2', 'run/3']) spent.push((await asker.ask({ asking })).spent);
    expect(spent).toEqual([CUT, CUT, EXACT]);
  });

  it('counts each attempt once when completions were lost', async () => {
    const { asker, model } = await raw(answer);
    await asker.ask({ asking: 'run/1' }); // its completion is lost
    expect((await asker.ask({ asking: 'run/1' })).spent).toBe(2 * CUT);
    await asker.ask({ asking: 'run/2' }); // its completion is lost
    expect((await asker.ask({ asking: 'run/2' })).spent).toBe(EXACT);
    expect(model.requests).toHaveLength(3);
  });

  it('leaves it all to the last outcome when askings have no names', async () => {
    const { asker } = await raw(answer);
    const spent: number[] = [];
    for (let n = 0; n < 3; n += 1) spent.push((await asker.ask()).spent);
    expect(spent).toEqual([0, 0, 2 * CUT + EXACT]);
    expect((await asker.ask()).spent).toBe(2 * CUT + EXACT);
  });
});

describe('trouble at home', () => {
  it('sends nothing when the attempt cannot be written down', async () => {
    const disk = await createSmallDisk(64 * 1024);
    closers.push(disk.close);
    const { asker, model } = await raw((response) => response.end());
    await mkdir(join(disk.path, 'spool'));
    await writeFile(join(disk.path, 'fill'), Buffer.alloc(1 << 20)).catch(() => undefined);
    await expect(asker.ask({ spool: join(disk.path, 'spool') })).rejects.toMatchObject({
      name: 'StoreError',
      code: 'full',
    });
    expect(model.requests).toHaveLength(0);
  });
});
