import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadPrices } from '../../src/app/load-prices.ts';
import type { ModelIo, ModelOutcome } from '../../src/core/ports.ts';
import { createModelClient, type ModelClientOptions } from '../../src/host/model.ts';
import type { ModelRequest } from '../../src/shapes/model.ts';

export const KEY = 'sk-ant-test-0123456789abcdef';

export const REQUEST: ModelRequest = {
  model: 'claude-sonnet-5-5',
  maxTokens: 2_000,
  system: 'You are a careful worker.',
  tools: [{ name: 'Bash', description: 'Runs a command.', input_schema: { type: 'object' } }],
  messages: [{ role: 'user', content: [{ type: 'text', text: 'go' }] }],
};

/** Asks a model at an address through the real client, each spool below one folder of its own. */
export interface Asker {
  dir: string;
  /** All that was heard: text, thinking, attempts. */
  heard: { text: string; thinking: string; attempts: number[]; signs: number };
  ask(io?: Partial<ModelIo>, request?: Partial<ModelRequest>): Promise<ModelOutcome>;
  close(): Promise<void>;
}

export async function createAsker(url: string, options: Partial<ModelClientOptions> = {}): Promise<Asker> {
  const dir = await mkdtemp(join(tmpdir(), 'model-asker-'));
  const heard = { text: '', thinking: '', attempts: [] as number[], signs: 0 };
  const env = (): Record<string, string> => ({ ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: url });
  const client = createModelClient({ env, prices: loadPrices(), ...options });
  return {
    dir,
    heard,
    ask: (io = {}, request = {}) =>
      client.request(
        { ...REQUEST, ...request },
        {
          purse: 10_000_000,
          signal: new AbortController().signal,
          spool: join(dir, 'spool'),
          onText: (text, thinking) => {
            heard[thinking ? 'thinking' : 'text'] += text;
          },
          onActivity: () => {
            heard.signs += 1;
          },
          onAttempt: (attempt) => heard.attempts.push(attempt),
          ...io,
        },
      ),
    close: () => rm(dir, { recursive: true, force: true }),
  };
}
