import { loadPrices } from '../../src/app/load-prices.ts';
import { createModelClient } from '../../src/host/model.ts';
import { KEY, REQUEST } from './model-asker.ts';

// Asks once, prints each outcome and sign of life as a line, and stays until it is killed.
const [url, spool, asking, stallMs] = process.argv.slice(2) as [string, string, string, string];
const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
const client = createModelClient({
  env: () => ({ ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: url }),
  prices: loadPrices(),
  stallMs: Number(stallMs),
});
process.stdin.resume();
const outcome = await client.request(REQUEST, {
  purse: 10_000_000,
  signal: new AbortController().signal,
  spool,
  asking,
  onText: () => undefined,
  onActivity: () => undefined,
  onAttempt: (attempt) => say({ attempt }),
});
say({ outcome });
