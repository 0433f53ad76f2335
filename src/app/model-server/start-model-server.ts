import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createModel, parseBody, type Answer } from './answer.ts';
import { apiError, errorBody, type ApiError } from './api-error.ts';
import { checkScript } from './load-script.ts';
import { findModel, modelInfo, modelPage } from './models.ts';
import { parseDuration } from './notation.ts';
import { createRequestLog, type LoggedRequest } from './request-log.ts';
import type { Script } from './script.ts';
import { sendReply } from './send.ts';
import { tokensOf } from './tokens.ts';

/** Bytes. */
const REQUEST_LIMIT = 32 * 1024 * 1024;

/** A running scripted model. */
export interface ModelServer {
  url: string;
  port: number;
  /** Every request so far, oldest first. */
  requests(): LoggedRequest[];
  /** Resolves with the first request that fits, now or later: the way to act at a certain moment of a rehearsal. */
  waitFor(fits: (request: LoggedRequest) => boolean): Promise<LoggedRequest>;
  /** Ends all connections. */
  close(): Promise<void>;
}

/**
 * Serves a script over the Messages API. Throws ScriptError for a wrong script, and the system's own error when the
 * port is taken (`EADDRINUSE`) or the log can't be opened.
 */
export async function startModelServer(options: {
  script: Script;
  /** 0 (the default) takes a free one. */
  port?: number;
  /** A file to which one JSON line per request is appended. */
  log?: string;
  host?: string;
  /** Milliseconds since 1970; for the log and for how long the prompt cache lives. */
  now?: () => number;
  /** Called with each request when it has ended. */
  onEnd?: (request: LoggedRequest) => void;
}): Promise<ModelServer> {
  const { port = 0, host = '127.0.0.1', now = Date.now } = options;
  const script = checkScript(options.script);
  const log = createRequestLog(options.log, options.onEnd);
  const handle = createHandler(script, log, now);
  const running = new Set<Promise<void>>();
  const server = createServer((request, response) => {
    const handled = handle(request, response).finally(() => running.delete(handled));
    running.add(handled);
  });
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    log.close();
    throw error;
  }
  const { port: actual } = addressOf(server);
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${actual}`,
    port: actual,
    requests: () => log.entries(),
    waitFor: (fits) => log.waitFor(fits),
    async close() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
      await Promise.all(running);
      log.close();
    },
  };
}

function addressOf(server: Server): AddressInfo {
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the model server listens on no port');
  return address;
}

function createHandler(script: Script, log: ReturnType<typeof createRequestLog>, now: () => number) {
  const model = createModel(script, now);

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = (request.url ?? '/').replace(/\?.*$/s, '');
    if (path === '/healthz') return answerJson(response, 200, JSON.stringify({ ok: true }));
    const entry = log.begin({ at: new Date(now()).toISOString(), path });
    try {
      await serve(request, response, entry);
    } catch (error) {
      const message = `the model server failed: ${error instanceof Error ? error.message : String(error)}`;
      if (response.headersSent) response.destroy();
      else answerJson(response, 500, errorBody(apiError(500, message), requestIdOf(entry)));
      log.end(entry, { status: 500, refused: message, outcome: 'aborted' });
    }
  };

  async function serve(request: IncomingMessage, response: ServerResponse, entry: LoggedRequest): Promise<void> {
    const { path } = entry;
    const requestId = requestIdOf(entry);
    response.setHeader('request-id', requestId);
    const refuse = (error: ApiError) => {
      answerJson(response, error.status, errorBody(error, requestId));
      log.end(entry, { status: error.status, refused: error.message, events: 1, outcome: 'complete' });
    };
    const give = (value: unknown) => {
      answerJson(response, 200, JSON.stringify(value));
      log.end(entry, { status: 200, events: 1, outcome: 'complete' });
    };
    const fail = (failure: Failure) => {
      const { status, body, message, type } = failure;
      const error = apiError(status, message, type);
      for (const [name, value] of Object.entries(failure.headers ?? {})) response.setHeader(name, value);
      if (failure.retry_after !== undefined) response.setHeader('retry-after', retryAfter(failure.retry_after));
      response.writeHead(status, { 'content-type': typeof body === 'string' ? 'text/html' : 'application/json' });
      response.end(failureText(body, error, requestId));
      log.end(entry, { status, refused: error.message, events: 1, outcome: 'complete' });
    };
    const send = async ({ sending, usage }: Extract<Answer, { kind: 'send' }>) => {
      log.update(entry, { status: 200 });
      const outcome = await sendReply(response, {
        ...sending,
        onProgress: ({ frames, stalled }) => log.update(entry, { events: frames, stalled }),
      });
      const output = tokensOf(sending.frames[entry.events - 1]?.output ?? 0);
      const billed = outcome === 'complete' ? usage : { ...usage, output_tokens: output };
      log.end(entry, { outcome, usage: billed });
    };

    const bytes = await readBody(request);
    if (bytes === 'aborted') return log.end(entry, { outcome: 'aborted' });
    const denied = checkHeaders(request, script);
    if (denied) return refuse(denied);
    if (bytes === 'too large') return refuse(apiError(413, 'Request exceeds the maximum size'));

    const route = `${request.method} ${path}`;
    if (route === 'GET /v1/models') return give(modelPage(script));
    if (route.startsWith('GET /v1/models/')) {
      const id = path.slice('/v1/models/'.length);
      const found = findModel(id, script);
      return found ? give(modelInfo(found)) : refuse(apiError(404, `model: ${id}`));
    }
    if (path !== '/v1/messages' && path !== '/v1/messages/count_tokens') return refuse(apiError(404, 'Not Found'));
    if (request.method !== 'POST') return refuse(apiError(405, 'Method Not Allowed'));

    const parsed = parseBody(bytes);
    if ('error' in parsed) return refuse(parsed.error);
    log.update(entry, { ...describeBody(parsed.body), ...(script.bodies && { body: parsed.body }) });
    const beta = request.headers['anthropic-beta'] !== undefined;
    if (path === '/v1/messages/count_tokens') {
      const counted = model.count(parsed.body, beta);
      return 'error' in counted ? refuse(counted.error) : give(counted);
    }
    const answer = model.answer(parsed.body, beta);
    log.update(entry, knownOf(answer));
    switch (answer.kind) {
      case 'error':
        return refuse(answer.error);
      case 'fail':
        return fail(answer.fail);
      case 'send':
        return send(answer);
    }
  }
}

function requestIdOf({ n }: LoggedRequest): string {
  return `req_${String(n).padStart(6, '0')}`;
}

type Failure = Extract<Answer, { kind: 'fail' }>['fail'];

function failureText(body: unknown, error: ApiError, requestId: string): string {
  if (body === undefined) return errorBody(error, requestId);
  return typeof body === 'string' ? body : JSON.stringify(body);
}

/** The header counts in seconds, and so does a plain number; a duration is rounded up to them. */
function retryAfter(written: number | string): string {
  const ms = typeof written === 'string' ? parseDuration(written) : undefined;
  return ms === undefined ? String(written) : String(Math.ceil(ms / 1000));
}

/** What the log can say of a body before it is checked. */
function describeBody(body: object): Partial<LoggedRequest> {
  const { model, messages, stream }: { model?: unknown; messages?: unknown; stream?: unknown } = body;
  return {
    ...(typeof model === 'string' && { model }),
    ...(Array.isArray(messages) && { messages: messages.length }),
    stream: stream === true,
  };
}

function knownOf({ job, step, attempt, prefixHash, usage }: Answer): Partial<LoggedRequest> {
  return {
    ...(job !== undefined && { job }),
    ...(step !== undefined && { step }),
    ...(attempt !== undefined && { attempt }),
    ...(prefixHash !== undefined && { prefixHash }),
    ...(usage !== undefined && { usage }),
  };
}

function checkHeaders(request: IncomingMessage, script: Script): ApiError | undefined {
  const { 'x-api-key': key, authorization } = request.headers;
  const bearer = /^Bearer (.+)$/i.exec(authorization ?? '')?.[1];
  if (!key && !bearer) return apiError(401, 'x-api-key header is required');
  if (script.keys && ![key, bearer].some((given) => typeof given === 'string' && script.keys?.includes(given))) {
    return apiError(401, key ? 'invalid x-api-key' : 'Invalid bearer token');
  }
  return request.headers['anthropic-version'] ? undefined : apiError(400, 'anthropic-version: header is required');
}

function answerJson(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(body);
}

/** Reads a body to its end even when it is too large, because a client that is still sending reads no answer. */
async function readBody(request: IncomingMessage): Promise<Buffer | 'too large' | 'aborted'> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    const body: AsyncIterable<Buffer> = request;
    for await (const bytes of body) {
      size += bytes.length;
      if (size <= REQUEST_LIMIT) chunks.push(bytes);
      else chunks.length = 0;
    }
  } catch {
    return 'aborted';
  }
  return size > REQUEST_LIMIT ? 'too large' : Buffer.concat(chunks);
}
