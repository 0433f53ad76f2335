import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { StreamEvent } from '../../src/core/reply.ts';

/** A bare HTTP server in the place of the model API, for what the scripted model can't or won't do. */
export interface RawModel {
  url: string;
  /** Bodies of the requests so far. */
  requests: Record<string, unknown>[];
  headers: IncomingMessage['headers'][];
  close(): Promise<void>;
}

/** `answer` gets each request after its body was read; `n` counts from 1. */
export async function startRawModel(answer: (response: ServerResponse, n: number) => unknown): Promise<RawModel> {
  const requests: Record<string, unknown>[] = [];
  const headers: IncomingMessage['headers'][] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      requests.push(JSON.parse(Buffer.concat(chunks).toString() || '{}') as Record<string, unknown>);
      headers.push(request.headers);
      answer(response, requests.length);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    headers,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Events as they go over the wire. */
export const sse = (...events: StreamEvent[]): string =>
  events.map((event) => `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`).join('');

export const STREAM = { 'content-type': 'text/event-stream; charset=utf-8' };

/** A block of a reply that is to be streamed; `json` is the raw text of a call's input. */
export type Said =
  | { text: string }
  | { thinking: string; signature: string }
  | { redacted: string }
  | { call: string; id: string; json: string };

export type ReplySpec = { said: Said[]; stop?: string; input?: number; output?: number; chunk?: number };

/** The events of a reply in the order of the API, a few characters per delta. */
export function replyEvents({ said, stop = 'end_turn', input = 10, output = 20, chunk = 7 }: ReplySpec): StreamEvent[] {
  const usage = { input_tokens: input, output_tokens: 1, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
  return [
    {
      type: 'message_start',
      message: { id: 'msg_1', role: 'assistant', model: 'claude-sonnet-5-5', content: [], usage },
    },
    ...said.flatMap((block, index) => [
      { type: 'content_block_start', index, content_block: startOf(block) },
      ...deltasOf(block, chunk).map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: output } },
    { type: 'message_stop' },
  ];
}

function startOf(block: Said): StreamEvent {
  if ('text' in block) return { type: 'text', text: '' };
  if ('thinking' in block) return { type: 'thinking', thinking: '', signature: '' };
  if ('redacted' in block) return { type: 'redacted_thinking', data: block.redacted };
  return { type: 'tool_use', id: block.id, name: block.call, input: {} };
}

function deltasOf(block: Said, chunk: number): StreamEvent[] {
  if ('text' in block) return pieces(block.text, chunk).map((text) => ({ type: 'text_delta', text }));
  if ('call' in block)
    return pieces(block.json, chunk).map((partial_json) => ({ type: 'input_json_delta', partial_json }));
  if ('redacted' in block) return [];
  const thinking = pieces(block.thinking, chunk).map((thinking) => ({ type: 'thinking_delta', thinking }));
  return [...thinking, { type: 'signature_delta', signature: block.signature }];
}

function pieces(text: string, size: number): string[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size));
}
