import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import type { ModelOutcome } from '../../src/core/ports.ts';
import { resetAt, retryAt, scrub } from '../../src/host/model-errors.ts';
import { type Asker, createAsker, KEY } from '../support/model-asker.ts';
import { type RawModel, replyEvents, sse, startRawModel, STREAM } from '../support/raw-model.ts';

const NOW = Date.parse('2026-11-30T03:00:00Z');
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

let model: RawModel | undefined;
let asker: Asker | undefined;
afterEach(async () => {
  await asker?.close();
  await model?.close();
  asker = undefined;
  model = undefined;
});

type Answer = (response: ServerResponse) => unknown;
type Headers = Record<string, string>;

const refusal = (type: string, message: string, details?: object): string =>
  JSON.stringify({ type: 'error', error: { type, message, ...(details && { details }) }, request_id: 'req_1' });
const error =
  (status: number, type: string, message = 'no', headers: Headers = {}, details?: object): Answer =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(refusal(type, message, details));
const page =
  (status: number, headers: Headers = {}): Answer =>
  (response) =>
    response
      .writeHead(status, { 'content-type': 'text/html', ...headers })
      .end(`<!DOCTYPE html><html><head><style>p{}</style></head><body><h1>${status} Gateway</h1></body></html>`);
const stream =
  (...parts: string[]): Answer =>
  (response) =>
    response.writeHead(200, STREAM).end(parts.join(''));
const broken =
  (text: string): Answer =>
  (response) => {
    response.writeHead(200, STREAM);
    response.write(text, () => response.destroy());
  };
const failing = (type: string, message = 'no'): string => `event: error\ndata: ${refusal(type, message)}\n\n`;
const head = sse(replyEvents({ said: [] })[0]!);
const textOnly = sse(...replyEvents({ said: [{ text: 'half an ans' }] }).slice(0, -2));

/** When to come back, told as how far that is from now in ms: at least, at most. */
type Back = [least: number, most: number] | 'never' | undefined;
type Row = [name: string, answer: Answer, kind: ModelOutcome['kind'], text: RegExp, why?: string, back?: Back];

const SHORT: Back = [500, 625];
const ROWS: Row[] = [
  [
    '401',
    error(401, 'authentication_error', 'invalid x-api-key'),
    'wait',
    /invalid x-api-key.*export ANTHROPIC_API_KEY=… && nightshift up/,
    'credentials',
    'never',
  ],
  [
    '401 that repeats the key',
    error(401, 'authentication_error', `bad key ${KEY} sk-ant-other`),
    'wait',
    /bad key \[key\] \[key\]/,
    'credentials',
    'never',
  ],
  [
    '403',
    error(403, 'permission_error', 'not for you'),
    'wait',
    /403 permission_error: not for you/,
    'credentials',
    'never',
  ],
  ['402', error(402, 'billing_error', 'no money'), 'wait', /wants to be paid.*no money/, 'credentials', 'never'],
  [
    '400 without credit',
    error(400, 'invalid_request_error', 'Your credit balance is too low'),
    'wait',
    /credit balance.*add credit/,
    'credentials',
    'never',
  ],
  [
    '400 by its error code',
    error(400, 'invalid_request_error', 'odd words', {}, { error_code: 'prompt_too_long' }),
    'too_long',
    /odd words/,
  ],
  [
    '400 prompt is too long',
    error(400, 'invalid_request_error', 'prompt is too long: 9 tokens > 8 maximum'),
    'too_long',
    /9 tokens > 8/,
  ],
  [
    '400 past the context',
    error(400, 'invalid_request_error', 'input length and `max_tokens` exceed context limit: 1 + 2 > 2'),
    'too_long',
    /exceed context limit/,
  ],
  ['413', error(413, 'request_too_large', 'Request exceeds the maximum size'), 'too_long', /413/],
  ['413 of a proxy', page(413), 'too_long', /413/],
  [
    '400',
    error(400, 'invalid_request_error', 'messages.1: tool_use without tool_result'),
    'failed',
    /^400 invalid_request_error: messages\.1: tool_use without tool_result$/,
  ],
  ['404 of the API', error(404, 'not_found_error', 'model: nobody'), 'failed', /404 not_found_error: model: nobody$/],
  ['404 of something else', page(404), 'failed', /404.*is ANTHROPIC_BASE_URL the address of a model API\?/],
  ['405', error(405, 'invalid_request_error', 'Method Not Allowed'), 'failed', /405/],
  ['422', error(422, 'invalid_request_error', 'unprocessable'), 'failed', /422/],
  ['a long message', error(400, 'invalid_request_error', `${KEY} ${'x'.repeat(5_000)}`), 'failed', /^.{499}…$/],
  [
    '400 that may be tried again',
    error(400, 'invalid_request_error', 'hiccup', { 'x-should-retry': 'true' }),
    'wait',
    /hiccup/,
    'api',
    SHORT,
  ],
  ['408', error(408, 'timeout_error'), 'wait', /408/, 'api', SHORT],
  ['409', error(409, 'conflict_error'), 'wait', /409/, 'api', SHORT],
  ['429 without a time', error(429, 'rate_limit_error'), 'wait', /429/, 'rate_limit', SHORT],
  [
    '429 for seconds',
    error(429, 'rate_limit_error', 'no', { 'retry-after': '7' }),
    'wait',
    /429/,
    'rate_limit',
    [7 * SECOND, 7 * SECOND],
  ],
  [
    '429 for minutes, spread',
    error(429, 'rate_limit_error', 'no', { 'retry-after': '120' }),
    'wait',
    /429/,
    'rate_limit',
    [120 * SECOND, 150 * SECOND],
  ],
  [
    '429 for milliseconds',
    error(429, 'rate_limit_error', 'no', { 'retry-after-ms': '1500.4' }),
    'wait',
    /429/,
    'rate_limit',
    [1_501, 1_501],
  ],
  [
    '429 until a date by a clock that is wrong',
    error(429, 'rate_limit_error', 'no', {
      date: 'Mon, 30 Nov 2020 00:00:00 GMT',
      'retry-after': 'Mon, 30 Nov 2020 00:00:20 GMT',
    }),
    'wait',
    /429/,
    'rate_limit',
    [20 * SECOND, 20 * SECOND],
  ],
  [
    '429 with the time of a used-up bucket',
    error(429, 'rate_limit_error', 'no', {
      'anthropic-ratelimit-requests-remaining': '5',
      'anthropic-ratelimit-requests-reset': '2026-11-30T04:00:00Z',
      'anthropic-ratelimit-tokens-remaining': '0',
      'anthropic-ratelimit-tokens-reset': '2026-11-30T03:00:25Z',
    }),
    'wait',
    /429/,
    'rate_limit',
    [25 * SECOND, 25 * SECOND],
  ],
  [
    '429 of a spend limit',
    error(429, 'rate_limit_error', 'no', { 'anthropic-ratelimit-unified-reset': String(NOW / 1000 + 3600) }),
    'wait',
    /429/,
    'rate_limit',
    [60 * MINUTE, 60 * MINUTE + 30 * SECOND],
  ],
  [
    '429 with nonsense',
    error(429, 'rate_limit_error', 'no', { 'retry-after': 'soon' }),
    'wait',
    /429/,
    'rate_limit',
    SHORT,
  ],
  [
    '429 for a thousand years',
    error(429, 'rate_limit_error', 'no', { 'retry-after': '31536000000' }),
    'wait',
    /429/,
    'rate_limit',
    [35 * 24 * 60 * MINUTE, 35 * 24 * 60 * MINUTE + 30 * SECOND],
  ],
  [
    '529',
    error(529, 'overloaded_error', 'Overloaded'),
    'wait',
    /529 overloaded_error: Overloaded/,
    'rate_limit',
    SHORT,
  ],
  ['500', error(500, 'api_error'), 'wait', /500/, 'api', SHORT],
  ['502 of a proxy', page(502), 'wait', /^502: 502 Gateway$/, 'api', SHORT],
  [
    '503 with a time',
    error(503, 'api_error', 'no', { 'retry-after': '3' }),
    'wait',
    /503/,
    'api',
    [3 * SECOND, 3 * SECOND],
  ],
  ['504', error(504, 'timeout_error'), 'wait', /504/, 'api', SHORT],
  [
    'a redirect',
    page(302, { location: 'https://elsewhere.example/login' }),
    'wait',
    /302.*https:\/\/elsewhere\.example\/login: set ANTHROPIC_BASE_URL/,
    'api',
    SHORT,
  ],
  ['200 with a page', page(200), 'wait', /200 with text\/html and no event stream/, 'api', SHORT],
  [
    '200 with an error in it',
    (response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(refusal('overloaded_error', 'Overloaded')),
    'wait',
    /overloaded_error: Overloaded/,
    'rate_limit',
    SHORT,
  ],
  [
    'overloaded at the start of a stream',
    stream(failing('overloaded_error', 'Overloaded')),
    'wait',
    /overloaded_error/,
    'rate_limit',
    SHORT,
  ],
  [
    'overloaded in the middle of a stream',
    stream(head, failing('overloaded_error', 'Overloaded')),
    'wait',
    /overloaded_error/,
    'rate_limit',
    SHORT,
  ],
  ['rate limit in a stream', stream(failing('rate_limit_error')), 'wait', /rate_limit_error/, 'rate_limit', SHORT],
  ['server error in a stream', stream(failing('api_error')), 'wait', /api_error/, 'api', SHORT],
  ['bad request in a stream', stream(failing('invalid_request_error', 'bad block')), 'failed', /bad block/],
  [
    'bad key in a stream',
    stream(failing('authentication_error')),
    'wait',
    /export ANTHROPIC_API_KEY/,
    'credentials',
    'never',
  ],
  ['an unknown error in a stream', stream(failing('novel_error', 'odd')), 'wait', /novel_error: odd|odd/, 'api', SHORT],
  ['an empty stream', stream(), 'wait', /broke off/, 'api', SHORT],
  ['a clean end without message_stop', stream(textOnly), 'wait', /broke off: the connection was closed/, 'api', SHORT],
  ['half a JSON', stream(head, 'event: message_delta\ndata: {"type":"mess\n\n'), 'wait', /no JSON/, 'api', SHORT],
  ['garbage', stream(head, '\u0000\u0001 garbage\n\ndata data\n\n'), 'wait', /broke off/, 'api', SHORT],
  [
    'a connection cut before the answer',
    (response) => response.destroy(),
    'wait',
    /no answer from http:\/\/127\.0\.0\.1:\d+ \((UND_ERR_SOCKET|ECONNRESET)\)/,
    'api',
    SHORT,
  ],
  ['a connection cut after the headers', broken(': hello\n\n'), 'wait', /no answer/, 'api', SHORT],
  ['a connection cut in mid reply', broken(textOnly), 'wait', /broke off: the connection broke/, 'api', SHORT],
  [
    'a call that is no object',
    stream(sse(...replyEvents({ said: [{ call: 'Bash', id: 't1', json: '{"a"' }], stop: 'tool_use' }))),
    'wait',
    /call whose input is no JSON object/,
    'api',
    SHORT,
  ],
  [
    'a context window that ran full',
    stream(sse(...replyEvents({ said: [], stop: 'model_context_window_exceeded' }))),
    'too_long',
    /context window/,
  ],
];

describe('what trouble with the API means', () => {
  it.each(ROWS)('%s', async (_, answer, kind, text, why, back) => {
    model = await startRawModel(answer);
    asker = await createAsker(model.url, { now: () => NOW });
    const outcome = await asker.ask();
    expect({
      kind: outcome.kind,
      why: 'why' in outcome ? outcome.why : undefined,
      back: backOf(outcome, back),
    }).toEqual({ kind, why, back });
    expect(textOf(outcome)).toMatch(text);
    expect(textOf(outcome)).not.toContain(KEY);
    expect(textOf(outcome).length).toBeLessThanOrEqual(700);
    expect(model.requests).toHaveLength(1);
  });

  it('says when nobody listens', async () => {
    model = await startRawModel(() => undefined);
    const { url } = model;
    await model.close();
    asker = await createAsker(url, { now: () => NOW });
    expect(await asker.ask()).toMatchObject({
      kind: 'wait',
      why: 'api',
      spent: 0,
      text: expect.stringMatching(/no answer from .* \(ECONNREFUSED\); check the network and ANTHROPIC_BASE_URL/),
    });
    model = undefined;
  });

  it('says when TLS fails', async () => {
    model = await startRawModel(() => undefined);
    asker = await createAsker(model.url.replace('http:', 'https:'), { now: () => NOW });
    expect(await asker.ask({ asking: 'a' })).toMatchObject({
      kind: 'wait',
      why: 'api',
      spent: 0,
      text: expect.stringMatching(/no answer from https:.*SSL|EPROTO/),
    });
  });

  it('never follows a redirect with the key', async () => {
    const other = await startRawModel(error(500, 'api_error'));
    model = await startRawModel((response) => response.writeHead(307, { location: `${other.url}/v1/messages` }).end());
    asker = await createAsker(model.url);
    await asker.ask();
    expect([model.requests.length, other.requests.length]).toEqual([1, 0]);
    await other.close();
  });
});

describe('the credentials', () => {
  const missing = /no key.*export ANTHROPIC_API_KEY=… && nightshift up/;
  it.each([
    ['missing', {}, missing],
    ['blank', { ANTHROPIC_API_KEY: ' \n' }, missing],
    [
      'a key with a line break',
      { ANTHROPIC_API_KEY: 'sk-ant-\nabc' },
      /ANTHROPIC_API_KEY holds blanks.*export ANTHROPIC_API_KEY=…/,
    ],
    ['a token with odd signs', { ANTHROPIC_AUTH_TOKEN: 'tökèn' }, /export ANTHROPIC_AUTH_TOKEN=…/],
    [
      'an address that is none',
      { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: 'localhost:80' },
      /ANTHROPIC_BASE_URL is no address/,
    ],
  ])('%s: nothing is asked, and the text says what to do', async (_, env, text) => {
    asker = await createAsker('http://127.0.0.1:1', { env: () => env });
    expect(await asker.ask()).toEqual({
      kind: 'wait',
      why: 'credentials',
      until: null,
      spent: 0,
      text: expect.stringMatching(text),
    });
    expect(asker.heard.attempts).toEqual([]);
  });

  it('are read anew for each request', async () => {
    model = await startRawModel(stream(sse(...replyEvents({ said: [{ text: 'hi' }] }))));
    const env: Record<string, string> = { ANTHROPIC_BASE_URL: model.url };
    asker = await createAsker(model.url, { env: () => env });
    expect(await asker.ask()).toMatchObject({ kind: 'wait', why: 'credentials' });
    env['ANTHROPIC_AUTH_TOKEN'] = ' token-1234 ';
    expect(await asker.ask()).toMatchObject({ kind: 'reply' });
    expect(model.headers[0]).toMatchObject({ authorization: 'Bearer token-1234' });
  });
});

describe('when to ask again', () => {
  const waits = (why: 'api' | 'rate_limit', attempts: number, dice = 0): number =>
    retryAt({ why }, attempts, dice, NOW)! - NOW;

  it('doubles up to a minute, and goes to five minutes after fifty attempts', () => {
    expect([1, 2, 3, 7, 8, 50, 51, 5_000].map((attempts) => waits('api', attempts))).toEqual(
      [0.5, 1, 2, 32, 60, 60, 300, 300].map((seconds) => seconds * SECOND),
    );
    expect(waits('rate_limit', 51)).toBe(60 * SECOND);
    expect(waits('api', 1, 1)).toBe(625);
  });

  it('does not believe a time that has passed', () => {
    expect(retryAt({ why: 'rate_limit', until: NOW - 1 }, 1, 0, NOW)).toBe(NOW + 500);
    expect(resetAt(new globalThis.Headers({ 'retry-after': 'Mon, 30 Nov 2020 00:00:00 GMT' }), NOW)).toBeUndefined();
  });
});

describe('what people get to read', () => {
  it('holds no key, no token, no password of an address, on one line', () => {
    const text = `a\n\tsecret-value Authorization: Bearer abc.def http://me:pw@host/x sk-ant-api03-xyz\u0007`;
    expect(scrub(text, ['secret-value'])).toBe('a [key] Authorization: Bearer [key] http://[key]@host/x [key]');
  });
});

function textOf(outcome: ModelOutcome): string {
  if ('text' in outcome) return outcome.text;
  return 'error' in outcome ? outcome.error : '';
}

/** The expected distance when the outcome lies within it, else the real one. */
function backOf(outcome: ModelOutcome, expected: Back): unknown {
  if (!('until' in outcome)) return undefined;
  if (outcome.until === null) return 'never';
  const ms = outcome.until - NOW;
  return Array.isArray(expected) && ms >= expected[0] && ms <= expected[1] ? expected : ms;
}
