import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type Anthropic from '@anthropic-ai/sdk';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { ask, bash, goOn, serve, textOf } from './support.ts';

const mark = { cache_control: { type: 'ephemeral' } } as const;
const hour = { cache_control: { type: 'ephemeral', ttl: '1h' } } as const;

/** A request whose cache breakpoints stand on the system prompt and on the newest message, as agents send them. */
function cached(messages: Anthropic.MessageParam[]): Anthropic.MessageCreateParamsNonStreaming {
  const last = messages.at(-1)!;
  const content =
    typeof last.content === 'string' ? [{ type: 'text' as const, text: last.content }] : [...last.content];
  const end = content.pop();
  if (end?.type !== 'text' && end?.type !== 'tool_result') throw new Error('expected text or a result');
  const marked = { ...end, ...mark };
  return {
    model: 'claude-sonnet-5-5',
    max_tokens: 100,
    tools: [bash],
    system: [{ type: 'text', text: 'You are careful. '.repeat(50), ...hour }],
    messages: [...messages.slice(0, -1), { role: 'user', content: [...content, marked] }],
  };
}

test('the prompt cache is written at breakpoints, read by the next request, and forgotten in time', async () => {
  let time = Date.parse('2026-01-01T00:00:00Z');
  const { client } = await serve({ steps: [{ calls: [{ name: 'Bash', input: {} }], repeat: 4 }] }, { now: () => time });
  const usage = async (messages: Anthropic.MessageParam[]) => {
    const reply = await client.messages.create(cached(messages));
    const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, cache_creation } = reply.usage;
    const { ephemeral_1h_input_tokens: long, ephemeral_5m_input_tokens: short } = cache_creation!;
    expect(long + short).toBe(cache_creation_input_tokens);
    return { reply, input: input_tokens, read: cache_read_input_tokens!, long, short };
  };
  const start: Anthropic.MessageParam[] = [{ role: 'user', content: 'go '.repeat(100) }];
  const first = await usage(start);
  expect(first).toMatchObject({ input: 0, read: 0 });
  expect(first.long).toBeGreaterThan(200);
  expect(first.short).toBeGreaterThan(70);

  const more = goOn(ask('', { messages: start }), first.reply).messages;
  const second = await usage(more);
  expect(second).toMatchObject({ input: 0, read: first.long + first.short, long: 0 });
  expect(second.short).toBeGreaterThan(0);
  expect(second.short).toBeLessThan(100);

  const again = await usage(more);
  expect(again).toMatchObject({ read: second.read + second.short, long: 0, short: 0 });

  time += 6 * 60_000;
  expect(await usage(more)).toMatchObject({ read: first.long, short: first.short + second.short });
  time += 61 * 60_000;
  expect(await usage(more)).toMatchObject({ read: 0, long: first.long });
});

test('a changed beginning reads nothing, another model neither', async () => {
  const { client } = await serve({ steps: [{ text: 'ok' }] });
  const params = cached([{ role: 'user', content: 'go' }]);
  const written = await client.messages.create(params);
  expect(written.usage.cache_creation_input_tokens).toBeGreaterThan(0);
  const changed = await client.messages.create({ ...params, tools: [{ ...bash, description: 'Other' }] });
  expect(changed.usage.cache_read_input_tokens).toBe(0);
  const other = await client.messages.create({ ...params, model: 'claude-haiku-5-5' });
  expect(other.usage.cache_read_input_tokens).toBe(0);
  expect((await client.messages.create(params)).usage.cache_creation_input_tokens).toBe(0);
});

test('without breakpoints all input is fresh, and a count says the same', async () => {
  const { client } = await serve({ steps: [{ text: 'x'.repeat(400) }] });
  const params = ask('x'.repeat(4000), { tools: [bash] });
  const { usage } = await client.messages.create(params);
  expect(usage).toMatchObject({ cache_read_input_tokens: 0, cache_creation_input_tokens: 0, output_tokens: 100 });
  expect(usage.input_tokens).toBeGreaterThan(1000);
  const { model, messages, tools } = params;
  expect(await client.messages.countTokens({ model, messages, tools: tools! })).toEqual({
    input_tokens: usage.input_tokens,
  });
  await expect(client.messages.countTokens({ model, messages: [] })).rejects.toMatchObject({ status: 400 });
});

test('every request is a line of the log', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'model-log-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const log = join(folder, 'log.jsonl');
  const time = Date.parse('2026-01-01T00:00:00Z');
  const { client, server } = await serve(
    { bodies: true, jobs: [{ name: 'fix', match: 'fix', steps: [{ fail: [{ status: 529 }], text: 'ok' }] }] },
    { log, now: () => time },
  );
  const params = ask('fix it');
  await client.messages.create(params).catch(() => undefined);
  await client.messages.stream(params).finalMessage();
  await client.messages.create({ ...params, messages: [] }).catch(() => undefined);
  await server.waitFor(({ n, outcome }) => n === 3 && outcome !== 'open');
  await server.close();
  const Line = z.looseObject({ n: z.number(), prefixHash: z.string().optional() });
  const lines = (await readFile(log, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => Line.parse(JSON.parse(line)));
  const common = {
    at: '2026-01-01T00:00:00.000Z',
    path: '/v1/messages',
    model: 'claude-sonnet-5-5',
    outcome: 'complete',
  };
  expect(lines).toMatchObject([
    {
      ...common,
      n: 1,
      job: 'fix',
      step: 1,
      attempt: 1,
      status: 529,
      messages: 1,
      stream: false,
      refused: 'Overloaded',
      body: params,
    },
    {
      ...common,
      n: 2,
      job: 'fix',
      step: 1,
      attempt: 2,
      status: 200,
      messages: 1,
      stream: true,
      usage: { output_tokens: 1 },
    },
    { ...common, n: 3, status: 400, messages: 0, refused: 'messages: at least one message is required' },
  ]);
  expect(lines[0]!.prefixHash).toMatch(/^[0-9a-f]{64}$/);
  expect(lines[1]!.prefixHash).toBe(lines[0]!.prefixHash);
});

test('the prefix hash does not depend on breakpoints', async () => {
  const { client, server } = await serve({ steps: [{ text: 'ok' }] });
  await client.messages.create(ask('go', { system: 'be brief' }));
  await client.messages.create(
    ask('', {
      system: [{ type: 'text', text: 'be brief', ...hour }],
      messages: [{ role: 'user', content: [{ type: 'text', text: 'go', ...mark }] }],
    }),
  );
  await client.messages.create(ask('go', { system: 'be long' }));
  const hashes = server.requests().map(({ prefixHash }) => prefixHash);
  expect(hashes[1]).toBe(hashes[0]);
  expect(hashes[2]).not.toBe(hashes[0]);
});

test('a job of 200 steps is three lines of script', async () => {
  const { client, server } = await serve({
    steps: [{ calls: [{ name: 'Bash', input: { command: 'step {{n}}' } }], repeat: 200 }, { text: '{{result.0}}' }],
  });
  let params = ask('go');
  for (let i = 1; i <= 200; i++) params = goOn(params, await client.messages.create(params), [`result ${i}`]);
  expect(textOf(await client.messages.create(params))).toBe('result 200');
  expect(server.requests().map(({ step }) => step)).toEqual(Array.from({ length: 201 }, (_, i) => i + 1));
});
