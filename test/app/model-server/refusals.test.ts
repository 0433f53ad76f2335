import type Anthropic from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { signThinking } from '../../../src/app/model-server/signature.ts';
import type { ModelServer } from '../../../src/app/model-server/start-model-server.ts';
import { ask, bash, serve } from './support.ts';

const script = { jobs: [{ steps: [{ text: 'one' }, { text: 'two' }, { text: 'three' }] }] };

const user = (...content: unknown[]) => ({ role: 'user', content });
const assistant = (...content: unknown[]) => ({ role: 'assistant', content });
const text = (value: string, more: object = {}) => ({ type: 'text', text: value, ...more });
const use = (id: string, more: object = {}) => ({ type: 'tool_use', id, name: 'Bash', input: {}, ...more });
const result = (id: string, more: object = {}) => ({ type: 'tool_result', tool_use_id: id, content: 'ok', ...more });
const mark = (ttl?: string) => ({ cache_control: { type: 'ephemeral', ...(ttl && { ttl }) } });
const talk = (...messages: unknown[]) => ({ messages: [user(text('go')), ...messages] });
const png = (data: string, mediaType = 'image/png') =>
  user({ type: 'image', source: { type: 'base64', media_type: mediaType, data } });
const pngData = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(30)]).toString('base64');

async function post(server: ModelServer, body: unknown, headers: Record<string, string> = {}, path = '/v1/messages') {
  const response = await fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { 'x-api-key': 'k', 'anthropic-version': '2026-10-21', ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
  });
  return { status: response.status, requestId: response.headers.get('request-id'), body: await response.text() };
}

const REFUSED: Array<[what: string, change: object, message: string]> = [
  ['no messages', { messages: [] }, 'messages: at least one message is required'],
  ['missing messages', { messages: undefined }, 'messages: Field required'],
  ['an assistant first', { messages: [assistant(text('hi'))] }, 'messages: first message must use the "user" role'],
  [
    'an unknown role',
    { messages: [{ role: 'tool', content: 'x' }] },
    "messages.0.role: Input should be 'user', 'assistant' or 'system'",
  ],
  [
    'an unknown block',
    { messages: [user({ type: 'smell' })] },
    "messages.0.content.0: Input tag 'smell' found using 'type'",
  ],
  ['a block without type', { messages: [user({ text: 'x' })] }, 'messages.0.content.0.type: Field required'],
  [
    'a stray field in a block',
    { messages: [user(text('x', { colour: 1 }))] },
    'messages.0.content.0.colour: Extra inputs are not permitted',
  ],
  [
    'an unanswered call',
    talk(assistant(use('a'))),
    '`tool_use` ids were found without `tool_result` blocks immediately after: a',
  ],
  [
    'a call answered late',
    talk(assistant(use('a')), user(text('wait')), assistant(text('ok')), user(result('a'))),
    'immediately after: a',
  ],
  ['one answer of two', talk(assistant(use('a'), use('b')), user(result('a'))), 'immediately after: b'],
  ['text before results', talk(assistant(use('a')), user(text('see'), result('a'))), 'immediately after: a'],
  [
    'an answer without call',
    talk(assistant(text('ok')), user(result('x'))),
    'unexpected `tool_use_id` found in `tool_result` blocks: x',
  ],
  ['an answer at the very start', { messages: [user(result('x'))] }, 'unexpected `tool_use_id`'],
  [
    'an id used twice in a message',
    talk(assistant(use('a'), use('a')), user(result('a'))),
    'messages.1.content.1: `tool_use` ids must be unique',
  ],
  [
    'an id used twice in a conversation',
    talk(assistant(use('a')), user(result('a')), assistant(use('a')), user(result('a'))),
    '`tool_use` ids must be unique',
  ],
  [
    'two answers for a call',
    talk(assistant(use('a')), user(result('a'), result('a'))),
    'each tool_use must have a single result',
  ],
  [
    'a result by the assistant',
    talk(assistant(use('a'), result('a')), user(text('x'))),
    '`tool_result` blocks can only be in `user` messages',
  ],
  ['a call by the user', { messages: [user(use('a'))] }, '`tool_use` blocks can only be in `assistant` messages'],
  [
    'an empty error result',
    talk(assistant(use('a')), user(result('a', { content: '', is_error: true }))),
    'content cannot be empty if `is_error` is true',
  ],
  ['an empty text', { messages: [user(text(''))] }, 'messages: text content blocks must be non-empty'],
  ['a blank text', { messages: [user(text(' \n'))] }, 'messages: text content blocks must contain non-whitespace text'],
  ['a blank string', { messages: [{ role: 'user', content: '  ' }] }, 'must contain non-whitespace text'],
  [
    'an empty text in a result',
    talk(assistant(use('a')), user(result('a', { content: [text('')] }))),
    'text content blocks must be non-empty',
  ],
  ['a blank system text', { system: [text('\t')] }, 'system: text content blocks must contain non-whitespace text'],
  ['a null character', { messages: [user(text('a\0b'))] }, 'text must not contain null characters'],
  [
    'empty content',
    { messages: [{ role: 'user', content: '' }] },
    'messages.0: all messages must have non-empty content',
  ],
  [
    'an empty list of content',
    talk({ role: 'assistant', content: [] }, user(text('x'))),
    'messages.1: all messages must have non-empty content',
  ],
  ['a prefill', talk(assistant(text('The answer is'))), 'does not support assistant message prefill'],
  [
    'a prefill that ends in a space',
    talk(assistant(text('The answer is '))),
    'final assistant content cannot end with trailing whitespace',
  ],
  ['temperature', { temperature: 0 }, 'temperature: Extra inputs are not permitted'],
  ['top_p', { top_p: 1 }, 'top_p: Extra inputs are not permitted'],
  ['top_k', { top_k: 5 }, 'top_k: Extra inputs are not permitted'],
  ['an unknown field', { colour: 'red' }, 'colour: Extra inputs are not permitted'],
  ['a beta field without the header', { context_management: {} }, 'context_management: Extra inputs are not permitted'],
  [
    'a bad tool name',
    { tools: [{ ...bash, name: 'mcp:x' }] },
    "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
  ],
  [
    'a long tool name',
    { tools: [{ ...bash, name: 'x'.repeat(129) }] },
    'tools.0.custom.name: String should match pattern',
  ],
  ['a tool twice', { tools: [bash, bash] }, 'tools: Tool names must be unique.'],
  [
    'a schema without type',
    { tools: [{ name: 'a', input_schema: {} }] },
    'tools.0.custom.input_schema.type: Field required',
  ],
  [
    'a schema of another type',
    { tools: [{ name: 'a', input_schema: { type: 'string' } }] },
    "tools.0.custom.input_schema.type: Input should be 'object'",
  ],
  ['no schema', { tools: [{ name: 'a' }] }, 'tools.0.custom.input_schema: Field required'],
  [
    'only deferred tools',
    { tools: [{ ...bash, defer_loading: true }] },
    'At least one tool must have defer_loading=false',
  ],
  [
    'a cached deferred tool',
    {
      tools: [
        { ...bash, name: 'x' },
        { ...bash, defer_loading: true, ...mark() },
      ],
    },
    'cannot use prompt caching',
  ],
  [
    'an unknown tool reference',
    talk(assistant(use('a')), user(result('a', { content: [{ type: 'tool_reference', tool_name: 'Ghost' }] }))),
    "Tool reference 'Ghost' not found",
  ],
  [
    'a choice of an unknown tool',
    { tools: [bash], tool_choice: { type: 'tool', name: 'Ghost' } },
    "Tool 'Ghost' not found in provided tools",
  ],
  [
    'a choice without tools',
    { tool_choice: { type: 'any' } },
    'tool_choice: may only be specified while providing `tools`',
  ],
  [
    'five breakpoints',
    { system: [1, 2, 3, 4, 5].map((n) => text(`s${n}`, mark())) },
    'A maximum of 4 blocks with cache_control may be provided. Found 5.',
  ],
  [
    'a fifth breakpoint inside a result',
    {
      ...talk(assistant(use('a')), user(result('a', { content: [text('x', mark())] }))),
      system: [1, 2, 3, 4].map((n) => text(`s${n}`, mark())),
    },
    'Found 5.',
  ],
  [
    'an hour after five minutes',
    { system: [text('a', mark()), text('b', mark('1h'))] },
    "a ttl='1h' cache_control block must not come after a ttl='5m'",
  ],
  [
    'an unknown lifetime',
    { system: [text('a', mark('2h'))] },
    "system.0.cache_control.ttl: Input should be '5m' or '1h'",
  ],
  [
    'a breakpoint on thinking',
    talk(assistant({ type: 'thinking', thinking: 't', signature: signThinking('t'), ...mark() }), user(text('x'))),
    'cache_control: Extra inputs are not permitted',
  ],
  [
    'a foreign signature',
    talk(assistant({ type: 'thinking', thinking: 't', signature: 'abc' }), user(text('x'))),
    'messages.1.content.0: Invalid `signature` in `thinking` block',
  ],
  [
    'altered thinking',
    talk(assistant({ type: 'thinking', thinking: 't2', signature: signThinking('t') }), user(text('x'))),
    'Invalid `signature`',
  ],
  [
    'foreign redacted thinking',
    talk(assistant({ type: 'redacted_thinking', data: 'abc' }), user(text('x'))),
    'Invalid `data`',
  ],
  [
    'thinking by the user',
    { messages: [user({ type: 'thinking', thinking: 't', signature: signThinking('t') })] },
    '`thinking` blocks can only be in `assistant` messages',
  ],
  ['no max_tokens', { max_tokens: undefined }, 'max_tokens: Field required'],
  ['max_tokens 0', { max_tokens: 0 }, 'max_tokens: Input should be greater than or equal to 1'],
  ['a text as max_tokens', { max_tokens: '10' }, 'max_tokens: Input should be a valid'],
  [
    'too many max_tokens',
    { max_tokens: 128_001 },
    'max_tokens: 128001 > 128000, which is the maximum allowed number of output tokens for claude-sonnet-5-5',
  ],
  [
    'too small a thinking budget',
    { thinking: { type: 'enabled', budget_tokens: 1 } },
    'thinking.budget_tokens: Input should be greater than or equal to 1024',
  ],
  [
    'a thinking budget above max_tokens',
    { thinking: { type: 'enabled', budget_tokens: 2000 } },
    '`max_tokens` must be greater than `thinking.budget_tokens`',
  ],
  ['an unknown thinking type', { thinking: { type: 'deep' } }, "thinking: Input tag 'deep'"],
  [
    'an input that is a text',
    talk(assistant(use('a', { input: '{}' })), user(result('a'))),
    'messages.1.content.0.input: Input should be a valid dictionary',
  ],
  [
    'an input that is a list',
    talk(assistant(use('a', { input: [] })), user(result('a'))),
    'messages.1.content.0.input: Input should be a valid dictionary',
  ],
  [
    'a bad call id',
    talk(assistant(use('a b')), user(result('a b'))),
    "messages.1.content.0.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
  ],
  ['a system of numbers', { system: 5 }, 'system: Input should be a valid list'],
  ['an image in system', { system: [{ type: 'image' }] }, "system.0.type: Input should be 'text'"],
  [
    'an unknown image type',
    { messages: [png(pngData, 'image/bmp')] },
    "Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
  ],
  [
    'broken base64',
    { messages: [png('not base64!')] },
    'messages.0.content.0.image.source.base64: invalid base64 data',
  ],
  ['a file that is no image', { messages: [png(Buffer.from('hello').toString('base64'))] }, 'Could not process image'],
  [
    'an image of another type',
    { messages: [png(pngData, 'image/gif')] },
    'The image was specified using the image/gif media type, but the image appears to be a image/png image',
  ],
  [
    'an image over 5 MB',
    { messages: [png(pngData.slice(0, 16) + 'A'.repeat(5 * 1024 * 1024))] },
    'image exceeds 5 MB maximum',
  ],
  [
    'an image by the assistant',
    talk(assistant(...png(pngData).content), user(text('x'))),
    '`image` blocks are not permitted in `assistant` messages',
  ],
  [
    'citations of the user',
    { messages: [user(text('x', { citations: [{}] }))] },
    'citations: Extra inputs are not permitted',
  ],
];

test.each(REFUSED)('refuses %s', async (_, change, message) => {
  const { server } = await serve(script);
  const answer = await post(server, { ...ask('go'), ...change });
  expect(JSON.parse(answer.body)).toMatchObject({
    type: 'error',
    error: { type: 'invalid_request_error', message: expect.stringContaining(message) },
    request_id: answer.requestId,
  });
  expect(answer.status).toBe(400);
  expect(server.requests()[0]).toMatchObject({ status: 400, refused: expect.stringContaining(message) });
});

const thinking = { type: 'thinking', thinking: 'hm', signature: signThinking('hm') };
const ACCEPTED: Array<[what: string, change: object]> = [
  [
    'parallel calls answered in another order',
    talk(assistant(thinking, use('a'), use('b')), user(result('b'), result('a'), text('and?'))),
  ],
  ['results over two user messages', talk(assistant(use('a'), use('b')), user(result('a')), user(result('b')))],
  ['a result without content', talk(assistant(use('a')), user({ type: 'tool_result', tool_use_id: 'a' }))],
  ['an image in a result', talk(assistant(use('a')), user(result('a', { content: png(pngData).content })))],
  ['a failed result', talk(assistant(use('a')), user(result('a', { is_error: true, content: 'no such file' })))],
  [
    'a reply as the SDK gives it',
    talk(assistant(text('one', { citations: null }), use('a', { caller: { type: 'direct' } })), user(result('a'))),
  ],
  [
    'a system message between turns',
    talk(assistant(text('one')), user(text('x')), { role: 'system', content: 'be brief' }),
  ],
  [
    'four breakpoints, the long-lived first',
    { system: [text('a', mark('1h')), text('b', mark('1h')), text('c', mark())], tools: [{ ...bash, ...mark('1h') }] },
  ],
  [
    'a reference to a deferred tool',
    {
      tools: [bash, { ...bash, name: 'Late', defer_loading: true }],
      ...talk(assistant(use('a')), user(result('a', { content: [{ type: 'tool_reference', tool_name: 'Late' }] }))),
    },
  ],
  ['a server tool', { tools: [{ type: 'web_search_20260318', name: 'web_search' }] }],
  [
    'the fields of the API',
    {
      metadata: { user_id: 'u' },
      stop_sequences: ['END'],
      service_tier: 'auto',
      output_config: { effort: 'max' },
      thinking: { type: 'adaptive' },
      cache_control: { type: 'ephemeral' },
      tool_choice: { type: 'auto' },
      tools: [bash],
    },
  ],
  ['emoji, escapes and odd characters', { messages: [user(text('🌱 \\ud800 \u001b[0m'))] }],
  ['null characters in a call', talk(assistant(use('a', { input: { command: 'a\0b' } })), user(result('a')))],
];

test.each(ACCEPTED)('accepts %s', async (_, change) => {
  const { server } = await serve(script);
  expect(await post(server, { ...ask('go'), ...change })).toMatchObject({ status: 200 });
});

test('refuses a body that is not JSON, not an object, or not Unicode', async () => {
  const { server } = await serve(script);
  const bodies = ['{"model":', '[]', Buffer.from([0x7b, 0xff, 0x7d]), JSON.stringify(ask('a \ud800 b'))];
  const answers = await Promise.all(bodies.map((body) => post(server, body)));
  expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400]);
  for (const { body } of answers) expect(body).toContain('The request body is not valid JSON');
});

test('refuses a request over 32 MB', async () => {
  const { server } = await serve(script);
  const answer = await post(server, ask('x'.repeat(33 * 1024 * 1024)));
  expect([answer.status, JSON.parse(answer.body)]).toMatchObject([413, { error: { type: 'request_too_large' } }]);
});

test('refuses what does not fit the context window, with an error code', async () => {
  const { server } = await serve({ ...script, context_window: 1000 });
  const long = await post(server, ask('x'.repeat(8000)));
  const both = await post(server, ask('x'.repeat(2000)));
  const code = { error: { details: { error_code: 'prompt_too_long' } } };
  expect(JSON.parse(long.body)).toMatchObject({
    ...code,
    error: { message: expect.stringMatching(/^prompt is too long: \d+ tokens > 1000 maximum$/) },
  });
  expect(JSON.parse(both.body)).toMatchObject(code);
  expect(both.body).toContain('exceed context limit');
  expect((await post(server, ask('x'.repeat(2000), { max_tokens: 100 }))).status).toBe(200);
});

test('knows which models there are', async () => {
  const open = (await serve(script)).server;
  expect(await post(open, ask('go', { model: 'gpt-9' }))).toMatchObject({
    status: 404,
    body: expect.stringContaining('not_found_error'),
  });
  expect((await post(open, ask('go', { model: 'claude-anything' }))).status).toBe(200);
  const { server, client } = await serve({ ...script, models: ['claude-mine'], max_output_tokens: 10 });
  expect((await post(server, ask('go'))).status).toBe(404);
  expect((await post(server, ask('go', { model: 'claude-mine' }))).body).toContain('1000 > 10');
  const listed: Anthropic.ModelInfo[] = [];
  for await (const model of client.models.list()) listed.push(model);
  expect(listed.map(({ id, max_tokens: most }) => [id, most])).toEqual([['claude-mine', 10]]);
  expect(await client.models.retrieve('claude-mine')).toMatchObject({ id: 'claude-mine', type: 'model' });
  await expect(client.models.retrieve('claude-other')).rejects.toMatchObject({ status: 404 });
});

test('wants a key and a version', async () => {
  const { server } = await serve({ ...script, keys: ['right'] });
  const send = (headers: Record<string, string>) =>
    fetch(`${server.url}/v1/messages`, { method: 'POST', headers, body: JSON.stringify(ask('go')) });
  const version = { 'anthropic-version': '2026-10-21' };
  const answers = await Promise.all([
    send(version),
    send({ ...version, 'x-api-key': 'wrong' }),
    send({ ...version, authorization: 'Bearer wrong' }),
    send({ 'x-api-key': 'right' }),
    send({ ...version, 'x-api-key': 'right' }),
    send({ ...version, authorization: 'Bearer right' }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 400, 200, 200]);
  expect(await answers[1].json()).toMatchObject({
    error: { type: 'authentication_error', message: 'invalid x-api-key' },
  });
  expect(await answers[3].text()).toContain('anthropic-version: header is required');
});

test('takes beta fields with the beta header', async () => {
  const { server } = await serve(script);
  const body = { ...ask('go'), context_management: { edits: [] } };
  expect(
    (await post(server, body, { 'anthropic-beta': 'context-management-2025-06-27' }, '/v1/messages?beta=true')).status,
  ).toBe(200);
});

test('says so when a path or method does not exist', async () => {
  const { server } = await serve(script);
  expect(await post(server, {}, {}, '/v1/complete')).toMatchObject({ status: 404 });
  const headers = { 'x-api-key': 'k', 'anthropic-version': '2026-10-21' };
  expect((await fetch(`${server.url}/v1/messages`, { headers })).status).toBe(405);
  expect(await (await fetch(`${server.url}/healthz`)).json()).toEqual({ ok: true });
});
