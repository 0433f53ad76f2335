import { join } from 'node:path';
import { loadPrices } from '../../src/app/load-prices.ts';
import type { LoggedRequest } from '../../src/app/model-server/request-log.ts';
import { cost, priceOf } from '../../src/core/prices.ts';
import { accumulate, emptyReply, type StreamEvent } from '../../src/core/reply.ts';
import { namesIn, textOf } from './files.ts';

const prices = loadPrices();

/** What the server would bill for these requests, in micro-dollars. */
export function billed(requests: readonly LoggedRequest[]): number {
  return requests.reduce((sum, { model, usage, at, status }) => {
    if (!usage || !model || status !== 200) return sum;
    const price = priceOf(model, Date.parse(at), prices);
    if (!price) throw new Error(`no price of ${model}`);
    const written = usage.cache_creation;
    const tokens = {
      input: usage.input_tokens,
      output: usage.output_tokens,
      cacheRead: usage.cache_read_input_tokens,
      cacheWrite5m: written.ephemeral_5m_input_tokens,
      cacheWrite1h: written.ephemeral_1h_input_tokens,
    };
    return sum + cost(tokens, price);
  }, 0);
}

/** Model requests of a job of which more than one whole reply is on record: the later ones were paid for nothing. */
export function paidTwice(jobDir: string): string[] {
  const spool = join(jobDir, 'spool');
  return namesIn(spool).flatMap((turn) =>
    namesIn(join(spool, turn)).flatMap((step) => {
      const folder = join(spool, turn, step);
      const whole = namesIn(folder).filter((name) => name.startsWith('blocks.') && isWhole(join(folder, name)));
      return whole.length > 1 ? [`${turn}/${step}: ${whole.length} whole replies`] : [];
    }),
  );
}

function isWhole(journal: string): boolean {
  const lines = textOf(journal).split('\n').slice(0, -1);
  const events = lines.flatMap((line) => (JSON.parse(line) as { events?: StreamEvent[] }).events ?? []);
  return events.reduce(accumulate, emptyReply).ended;
}
