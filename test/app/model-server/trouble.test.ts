import { connect } from 'node:net';
import { APIError, APIUserAbortError } from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import type { ModelServer } from '../../../src/app/model-server/start-model-server.ts';
import { ask, clientFor, rawEvents, serve, textOf } from './support.ts';

/** One raw request: everything that came back, and how the connection ended. */
async function rawSocket(server: ModelServer, params: object): Promise<{ text: string; ended: 'fin' | 'reset' }> {
  const body = JSON.stringify({ ...params, stream: true });
  const socket = connect(server.port, '127.0.0.1');
  const chunks: Buffer[] = [];
  let ended: 'fin' | 'reset' = 'fin';
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.on('error', () => (ended = 'reset'));
  socket.write(
    'POST /v1/messages HTTP/1.1\r\nhost: model\r\nconnection: close\r\nx-api-key: k\r\nanthropic-version: 2026-10-21\r\n' +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  await new Promise((resolve) => socket.once('close', resolve));
  return { text: Buffer.concat(chunks).toString(), ended };
}

const events = (text: string) => [...text.matchAll(/^event: (\w+)/gm)].map((found) => found[1]);

test('scripted errors come first, so many times, then the answer', async () => {
  const { client, server } = await serve({
    steps: [
      {
        fail: [
          { status: 429, retry_after: 7, headers: { 'x-should-retry': 'true' } },
          { status: 529, times: 2, retry_after: '1500ms' },
          { status: 503, body: '<html>busy</html>' },
          { status: 400, message: 'Your credit balance is too low', type: 'billing_error' },
        ],
        text: 'at last',
      },
    ],
  });
  const seen: unknown[] = [];
  for (let i = 0; i < 5; i++) {
    const error: unknown = await client.messages.create(ask('go')).catch((reason: unknown) => reason);
    if (!(error instanceof APIError)) throw new Error('expected an API error');
    seen.push([error.status, error.type, error.headers?.get('retry-after') ?? null]);
  }
  expect(seen).toEqual([
    [429, 'rate_limit_error', '7'],
    [529, 'overloaded_error', '2'],
    [529, 'overloaded_error', '2'],
    [503, null, null],
    [400, 'billing_error', null],
  ]);
  expect(textOf(await client.messages.create(ask('go')))).toBe('at last');
  expect(server.requests().map(({ attempt, status }) => [attempt, status])).toEqual([
    [1, 429],
    [2, 529],
    [3, 529],
    [4, 503],
    [5, 400],
    [6, 200],
  ]);
});

test('the SDK itself retries over a 429 and a 500', async () => {
  const { server } = await serve({
    steps: [
      {
        fail: [
          { status: 429, headers: { 'retry-after-ms': '1' } },
          { status: 500, headers: { 'retry-after-ms': '1' } },
        ],
        text: 'ok',
      },
    ],
  });
  const client = clientFor(server).withOptions({ maxRetries: 2 });
  expect(textOf(await client.messages.create(ask('go')))).toBe('ok');
});

test('a failure that lasts forever needs no answer', async () => {
  const { client } = await serve({ steps: [{ fail: [{ status: 401, times: 'forever' }] }] });
  for (let i = 0; i < 3; i++) {
    await expect(client.messages.create(ask('go'))).rejects.toMatchObject({
      status: 401,
      type: 'authentication_error',
    });
  }
});

test.each([
  ['start', 'close', 'fin', [], false],
  ['start', 'fin', 'fin', [], false],
  ['3 events', 'fin', 'fin', ['message_start', 'content_block_start', 'ping', 'content_block_delta'], true],
  ['3 events', 'close', 'fin', ['message_start', 'content_block_start', 'ping', 'content_block_delta'], false],
  [
    'block 0',
    'close',
    'fin',
    ['message_start', 'content_block_start', 'ping', 'content_block_delta', 'content_block_stop'],
    false,
  ],
  [
    'end',
    'close',
    'fin',
    [
      'message_start',
      'content_block_start',
      'ping',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ],
    false,
  ],
] as const)('cut after %s by %s: the client sees %s', async (after, how, ended, expected, isWhole) => {
  const { server } = await serve({ steps: [{ text: 'hello', cut: [{ after, how }] }] });
  const cut = await rawSocket(server, ask('go'));
  expect(events(cut.text)).toEqual(expected);
  expect(cut.ended).toBe(ended);
  expect(cut.text.endsWith('0\r\n\r\n')).toBe(isWhole);
  expect((await server.waitFor(({ n }) => n === 1)).outcome).toBe('cut');
  expect(events((await rawSocket(server, ask('go'))).text).at(-1)).toBe('message_stop');
});

test('a reset connection is reset, after one byte too', async () => {
  const { server, client } = await serve({
    steps: [
      {
        text: 'hello',
        cut: [
          { after: 'first_byte', how: 'reset' },
          { after: 'start', how: 'reset' },
          { after: '100 bytes', how: 'close' },
        ],
      },
    ],
  });
  expect((await rawSocket(server, ask('go'))).ended).toBe('reset');
  expect(await rawSocket(server, ask('go'))).toEqual({ text: '', ended: 'reset' });
  await expect(client.messages.stream(ask('go')).finalMessage()).rejects.toThrow('terminated');
  expect(textOf(await client.messages.stream(ask('go')).finalMessage())).toBe('hello');
});

test('a clean early end leaves the SDK without a message', async () => {
  const { client } = await serve({ steps: [{ text: 'hello', cut: [{ after: '5 events', how: 'fin' }] }] });
  await expect(client.messages.stream(ask('go')).finalMessage()).rejects.toThrow(/without producing a Message/);
});

test('an unstreamed answer is cut too', async () => {
  const { client } = await serve({ steps: [{ text: 'hello', cut: [{ after: '50 bytes', how: 'close' }] }] });
  expect(await client.messages.create(ask('go')).catch((error: unknown) => error)).toBeInstanceOf(Error);
  expect(textOf(await client.messages.create(ask('go')))).toBe('hello');
});

test('a trouble that the reply never reaches is an error, not a silence', async () => {
  const { client, server } = await serve({
    steps: [{ text: 'hello', cut: [{ after: '50 events' }, { after: 'block 3' }, { after: '3 events' }] }],
  });
  const many = await client.messages
    .stream(ask('go'))
    .finalMessage()
    .catch((error: unknown) => error);
  expect(many).toMatchObject({
    status: 400,
    apiMessage: expect.stringMatching(/cut after events 50 is never reached/),
  });
  const block = await client.messages
    .stream(ask('go'))
    .finalMessage()
    .catch((error: unknown) => error);
  expect(block).toMatchObject({ apiMessage: expect.stringMatching(/cut after block 3 is never reached/) });
  const plain = await client.messages.create(ask('go')).catch((error: unknown) => error);
  expect(plain).toMatchObject({ apiMessage: expect.stringMatching(/needs a streamed reply/) });
  expect(server.requests().map(({ status }) => status)).toEqual([400, 400, 400]);
});

test('an error event ends the stream in the middle', async () => {
  const { client, server } = await serve({
    steps: [
      { text: 'hello', error_event: [{ after: '3 events', type: 'api_error', message: 'Internal server error' }] },
    ],
  });
  await expect(client.messages.stream(ask('go')).finalMessage()).rejects.toMatchObject({
    type: 'api_error',
    status: undefined,
  });
  expect(server.requests()[0]).toMatchObject({ status: 200, outcome: 'error_event', usage: { output_tokens: 2 } });
  expect((await rawEvents(server, ask('go'))).events.at(-1)?.event).toBe('message_stop');
});

test('a stall shows what came before, then nothing; the server notices who gives up', async () => {
  const { client, server } = await serve({ steps: [{ text: 'hello', stall: [{ after: 'block 0', for: 'forever' }] }] });
  const stream = client.messages.stream(ask('go'));
  const closed = stream.emitted('contentBlock');
  const failed = stream.finalMessage().catch((error: unknown) => error);
  expect(await closed).toMatchObject({ type: 'text', text: 'hello' });
  expect(await server.waitFor(({ stalled }) => stalled === true)).toMatchObject({ outcome: 'open', events: 5 });
  stream.abort();
  expect(await failed).toBeInstanceOf(APIUserAbortError);
  expect(await server.waitFor(({ outcome }) => outcome !== 'open')).toMatchObject({ outcome: 'stalled' });
  expect(textOf(await client.messages.stream(ask('go')).finalMessage())).toBe('hello');
});

test('a stall of a certain time goes on after it, with pings when they are asked for', async () => {
  const { server } = await serve({
    steps: [{ text: 'hello', ping_every: '5ms', stall: [{ after: '1 event', for: '60ms', pings: true }] }],
  });
  const { events } = await rawEvents(server, ask('go'));
  const names = events.map(({ event }) => event);
  expect(names[0]).toBe('message_start');
  expect(names.indexOf('content_block_start')).toBeGreaterThan(5);
  expect(new Set(names.slice(1, names.indexOf('content_block_start')))).toEqual(new Set(['ping']));
  expect(names.at(-1)).toBe('message_stop');
  expect(server.requests()[0]!.outcome).toBe('complete');
});

test('a stall before the first byte ends with the client', async () => {
  const { client, server } = await serve({ steps: [{ text: 'hello', stall: [{ after: 'start', for: 'forever' }] }] });
  const leave = new AbortController();
  const failed = client.messages.create(ask('go'), { signal: leave.signal }).catch((error: unknown) => error);
  await server.waitFor(({ stalled }) => stalled === true);
  leave.abort();
  expect(await failed).toBeInstanceOf(APIUserAbortError);
  expect(await server.waitFor(({ outcome }) => outcome !== 'open')).toMatchObject({ outcome: 'stalled', events: 0 });
});

test('a stall at the end holds the connection after everything was said', async () => {
  const { client, server } = await serve({ steps: [{ text: 'hello', stall: [{ after: 'end', for: 'forever' }] }] });
  const stream = client.messages.stream(ask('go'));
  const failed = stream.finalMessage().catch((error: unknown) => error);
  expect(await stream.emitted('message')).toMatchObject({ stop_reason: 'end_turn' });
  expect(await server.waitFor(({ stalled }) => stalled === true)).toMatchObject({ events: 7 });
  stream.abort();
  await failed;
  expect((await server.waitFor(({ outcome }) => outcome !== 'open')).outcome).toBe('stalled');
});

test('delay and duration spread a reply over time, with pings between', async () => {
  const { server } = await serve({
    steps: [{ text: 'x'.repeat(40), chunk: 4, delay: '40ms', duration: '150ms', ping_every: '20ms' }],
  });
  const began = performance.now();
  const { events } = await rawEvents(server, ask('go'));
  expect(performance.now() - began).toBeGreaterThan(150);
  expect(events.filter(({ event }) => event === 'ping').length).toBeGreaterThan(4);
});

test('a client that goes away while a reply streams is noticed', async () => {
  const { client, server } = await serve({ steps: [{ text: 'x'.repeat(400), chunk: 1, duration: '1h' }] });
  const leave = new AbortController();
  const failed = client.messages
    .stream(ask('go'), { signal: leave.signal })
    .finalMessage()
    .catch((error: unknown) => error);
  await server.waitFor(({ status }) => status === 200);
  leave.abort();
  await failed;
  expect((await server.waitFor(({ outcome }) => outcome !== 'open')).outcome).toBe('aborted');
});

test('closing the server ends everything that is open', async () => {
  const { client, server } = await serve({ steps: [{ text: 'x', stall: [{ after: '1 event', for: 'forever' }] }] });
  const failed = client.messages
    .stream(ask('go'))
    .finalMessage()
    .catch((error: unknown) => error);
  await server.waitFor(({ stalled }) => stalled === true);
  const never = server.waitFor(({ n }) => n === 99).catch((error: unknown) => error);
  await server.close();
  expect(await failed).toBeInstanceOf(Error);
  expect(server.requests()[0]!.outcome).toBe('stalled');
  expect(await never).toMatchObject({ message: expect.stringMatching(/closed before/) });
});
