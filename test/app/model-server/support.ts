import Anthropic, { APIError } from '@anthropic-ai/sdk';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import type { Script } from '../../../src/app/model-server/script.ts';
import { startModelServer, type ModelServer } from '../../../src/app/model-server/start-model-server.ts';

export type Params = Anthropic.MessageCreateParamsNonStreaming;

/** A server that lives as long as the test, and the real SDK pointed at it. */
export async function serve(
  script: Script,
  options: Partial<Parameters<typeof startModelServer>[0]> = {},
): Promise<{ server: ModelServer; client: Anthropic }> {
  const server = await startModelServer({ script, ...options });
  onTestFinished(() => server.close());
  return { server, client: clientFor(server) };
}

export function clientFor(server: ModelServer, apiKey = 'rehearsal'): Anthropic {
  return new Anthropic({ baseURL: server.url, apiKey, maxRetries: 0, authToken: null });
}

export const bash: Anthropic.Tool = {
  name: 'Bash',
  description: 'Runs a command',
  input_schema: { type: 'object', properties: { command: { type: 'string' } } },
};

/** A request with one user message, changed at will. */
export function ask(prompt: string, more: Partial<Params> = {}): Params {
  return { model: 'claude-sonnet-5-5', max_tokens: 1000, messages: [{ role: 'user', content: prompt }], ...more };
}

/** The next request of a conversation: the reply, and a result for each of its calls. */
export function goOn(params: Params, reply: Anthropic.Message, results: string[] = [], text?: string): Params {
  const calls = reply.content.filter((block) => block.type === 'tool_use');
  const content: Anthropic.ContentBlockParam[] = calls.map((call, i) => ({
    type: 'tool_result',
    tool_use_id: call.id,
    content: results[i] ?? 'ok',
  }));
  if (text !== undefined) content.push({ type: 'text', text });
  return {
    ...params,
    messages: [
      ...params.messages,
      { role: 'assistant', content: reply.content as Anthropic.ContentBlockParam[] },
      { role: 'user', content },
    ],
  };
}

const RawData = z.looseObject({
  index: z.number().optional(),
  delta: z.looseObject({ type: z.string().optional(), partial_json: z.string().optional() }).optional(),
});

/** The server-sent events of one raw request, in order, with their data. */
export async function rawEvents(
  server: ModelServer,
  params: object,
): Promise<{ status: number; events: Array<{ event: string; data: z.infer<typeof RawData> }> }> {
  const response = await fetch(`${server.url}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': 'rehearsal', 'anthropic-version': '2026-10-21', 'content-type': 'application/json' },
    body: JSON.stringify({ ...params, stream: true }),
  });
  const text = await response.text();
  const events = text
    .split('\n\n')
    .filter((part) => part.startsWith('event: '))
    .map((part) => {
      const [first, second] = part.split('\n');
      const data = RawData.parse(JSON.parse(second!.slice('data: '.length)));
      return { event: first!.slice('event: '.length), data };
    });
  return { status: response.status, events };
}

export function textOf(message: Anthropic.Message): string {
  return message.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('');
}

/** The text with which the server refuses; fails when it does not. */
export async function refusal(answer: Promise<unknown>): Promise<string> {
  const error: unknown = await answer.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof APIError)) throw new Error(`expected a refusal, got ${String(error)}`);
  return error.apiMessage ?? '';
}
