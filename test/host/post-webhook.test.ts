import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { postWebhook } from '../../src/host/post-webhook.ts';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

type Seen = { body: string; key: unknown; type: unknown };

/** Answers with these codes, one after another, and keeps what it was sent; 0 cuts the connection. */
async function listen(codes: number[]): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = [];
  server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      seen.push({ body, key: request.headers['idempotency-key'], type: request.headers['content-type'] });
      const code = codes[seen.length - 1] ?? 500;
      if (code === 0) return request.socket.destroy();
      return response.writeHead(code, { location: 'http://127.0.0.1:9/' }).end('said');
    });
  });
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook/secret-path`, seen };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}

const options = { key: 'job:1/0', signal: new AbortController().signal, pausesMs: [1, 1] };

describe('a webhook', () => {
  it('gets the question as JSON, with a key that is the same on every try', async () => {
    const { url, seen } = await listen([503, 0, 204]);
    expect(await postWebhook(url, '{"a":1}', options)).toEqual({ ok: true, text: 'it answered with status 204' });
    const one = { body: '{"a":1}', key: 'job:1/0', type: 'application/json' };
    expect(seen).toEqual([one, one, one]);
  });

  it('is given up after three tries, or at once when it says no', async () => {
    const busy = await listen([500, 429, 503, 200]);
    expect(await postWebhook(busy.url, '{}', options)).toMatchObject({
      ok: false,
      text: 'it answered with status 503',
    });
    expect(busy.seen).toHaveLength(3);
    server?.close();
    const no = await listen([404, 200]);
    expect(await postWebhook(no.url, '{}', options)).toMatchObject({ ok: false, text: 'it answered with status 404' });
    expect(no.seen).toHaveLength(1);
  });

  it('is not followed to another place', async () => {
    const { url } = await listen([302, 200]);
    expect(await postWebhook(url, '{}', options)).toMatchObject({ ok: false, text: 'it answered with status 302' });
  });

  it('that nobody answers at is told without its path', async () => {
    const { url } = await listen([]);
    await new Promise((resolve) => server?.close(resolve));
    const { ok, text } = await postWebhook(url, '{}', options);
    expect(ok).toBe(false);
    expect(text).toContain('ECONNREFUSED');
    expect(text).not.toContain('secret-path');
  });
});
