import { createHash, randomUUID } from 'node:crypto';
import { appendFileSync, closeSync, openSync } from 'node:fs';
import { link, open, readdir, readFile, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { costOfAttempt, type Sized } from '../core/purse.ts';
import { accumulate, emptyReply, keepable, type ReplyState, type StreamEvent } from '../core/reply.ts';
import type { Micros } from '../shapes/ids.ts';
import type { Reply } from '../shapes/model.ts';
import { Price } from '../shapes/price.ts';
import { errorCode, makeFolder, syncFolder, writeDurably } from './durable-file.ts';

/** `request.<nonce>`: an attempt that was begun. Its price is kept with it, so that its cost never changes. */
const RequestRecord = z.object({
  at: z.number(),
  model: z.string(),
  /** Hash of what was asked: a reply is of use only for that. */
  asked: z.string(),
  requestBytes: z.number(),
  maxTokens: z.number(),
  /** Micro-dollars that were reserved for it. */
  worst: z.number(),
  price: Price.optional(),
});
type RequestRecord = z.infer<typeof RequestRecord>;

/**
 * A line of `blocks.<nonce>`: events as `accumulate` takes them, how many bytes of output had come (null: nobody can
 * tell), or how the attempt was seen to end without a reply.
 */
const JournalLine = z.union([
  z.object({ events: z.array(z.record(z.string(), z.unknown())) }),
  z.object({ streamed: z.number().nullable() }),
  z.object({ end: z.enum(['refused', 'unanswered']) }),
]);
type End = 'refused' | 'unanswered';

/** `reply.<hash of what was asked>`: the one that won, with the hash of its JSON text. */
const Sealed = z.object({ sha: z.string(), reply: z.string() });
/** `told.<hash>`: the attempts whose cost one asking has reported. */
const Told = z.object({ nonces: z.array(z.string()) });

type Journal = { state: ReplyState; streamed?: number; end?: End };
type Past = Journal & { nonce: string; record?: RequestRecord };

/** A request on its way to the API. Nothing here throws: once money is spent, the reply is worth more than its record. */
export interface Attempt {
  readonly nonce: string;
  /** Adds events to the attempt's journal. */
  record(events: StreamEvent[]): void;
  /** Says how many bytes of output have come so far. */
  progress(bytes: number | undefined): void;
  /** Says how it ended when it left no reply. */
  end(how?: End): void;
  /** Makes this the reply of the spool, or resolves with the one that was there first. */
  seal(reply: Reply): Promise<Reply>;
}

/** What is on disk of one model request and its attempts. */
export interface Spool {
  /** Attempts that were begun so far. */
  readonly attempts: number;
  /** The sealed reply to this; else, sealed now, what an earlier attempt left that may be kept. No request is needed then. */
  kept(asked: string): Promise<Reply | undefined>;
  /** @throws StoreError when it can't be written down: then it must not be sent. */
  begin(request: Sized & { at: number; model: string; asked: string; worst: Micros; price?: Price }): Promise<Attempt>;
  /** What all attempts cost that no other asking has reported. */
  owed(asking?: string): Promise<Micros>;
  /** The same, and writes down that this asking reports it. */
  tell(asking?: string): Promise<Micros>;
}

/**
 * Opens the folder of one model request, making it if need be. It holds, each written whole by rename or link:
 * `request.<nonce>` before an attempt is sent, `blocks.<nonce>` with what came of it, `reply.<hash>` which exactly one
 * attempt wins, and `told.<hash>` for each asking that has reported what attempts cost.
 * @throws StoreError when the folder can't be made.
 */
export async function openSpool(dir: string): Promise<Spool> {
  await makeFolder(dir);
  const past = await readPast(dir);
  let attempts = past.length;

  const untold = async (asking: string | undefined): Promise<Past[]> => {
    const all = await readPast(dir);
    const told = await toldByOthers(dir, asking);
    return all.filter(({ nonce }) => !told.has(nonce));
  };
  return {
    get attempts() {
      return attempts;
    },
    async kept(asked) {
      const place = replyFile(dir, asked);
      const sealed = await readSealed(place);
      if (sealed) return sealed;
      const best = bestOf(past.filter(({ record }) => record?.asked === asked));
      return best && seal(place, best);
    },
    async begin(request) {
      const nonce = randomUUID();
      await writeDurably(join(dir, `request.${nonce}`), JSON.stringify(request satisfies RequestRecord));
      attempts += 1;
      return openAttempt(join(dir, `blocks.${nonce}`), { nonce, place: replyFile(dir, request.asked) });
    },
    async owed(asking) {
      return sum(await untold(asking));
    },
    async tell(asking) {
      const mine = await untold(asking);
      if (asking !== undefined && mine.length > 0) {
        const nonces = mine.map(({ nonce }) => nonce);
        // Too full a disk to write it down: the cost may then be reported twice, never lost.
        await writeDurably(join(dir, toldFile(asking)), JSON.stringify({ nonces })).catch(() => {});
      }
      return sum(mine);
    },
  };
}

function openAttempt(path: string, { nonce, place }: { nonce: string; place: string }): Attempt {
  let journal: number | undefined;
  try {
    journal = openSync(path, 'ax', 0o600);
  } catch {
    journal = undefined;
  }
  const close = (): void => {
    if (journal !== undefined) closeSync(journal);
    journal = undefined;
  };
  const append = (line: z.infer<typeof JournalLine>): void => {
    if (journal === undefined) return;
    try {
      appendFileSync(journal, `${JSON.stringify(line)}\n`);
    } catch {
      close();
    }
  };
  return {
    nonce,
    record: (events) => append({ events }),
    progress: (bytes) => append({ streamed: bytes ?? null }),
    end(how) {
      if (how) append({ end: how });
      close();
    },
    async seal(reply) {
      close();
      return seal(place, reply);
    },
  };
}

/** Links the reply into its place; without room or rights the reply itself is the answer, unsealed. */
async function seal(place: string, reply: Reply): Promise<Reply> {
  const dir = dirname(place);
  const temp = join(dir, `.reply.${randomUUID()}.tmp`);
  try {
    const file = await open(temp, 'wx', 0o600);
    try {
      const text = JSON.stringify(reply);
      await file.writeFile(JSON.stringify({ sha: sha256(text), reply: text } satisfies z.infer<typeof Sealed>));
      await file.sync();
    } finally {
      await file.close();
    }
    for (;;) {
      try {
        await link(temp, place);
        await syncFolder(dir);
        return reply;
      } catch (error) {
        if (errorCode(error) !== 'EEXIST') throw error;
        const winner = await readSealed(place);
        if (winner) return winner;
        await rename(place, join(dir, `damaged.${randomUUID()}`));
      }
    }
  } catch {
    return reply;
  } finally {
    await unlink(temp).catch(() => {});
  }
}

/** Whole before cut, then the one with most in it. */
function bestOf(past: readonly Past[]): Reply | undefined {
  const replies = past.flatMap(({ state }) => keepable(state) ?? []);
  const rank = (reply: Reply): number => (reply.cut ? 0 : 1_000_000) + reply.content.length;
  return replies.sort((a, b) => rank(b) - rank(a))[0];
}

function sum(past: readonly Past[]): Micros {
  const costs = past.map(({ record, state, streamed, end }) => {
    const { usage, outputKnown } = state;
    return record ? costOfAttempt({ end, usage, outputKnown, streamed }, record, record.price) : 0;
  });
  return costs.reduce((total, cost) => total + cost, 0);
}

async function readPast(dir: string): Promise<Past[]> {
  const names = await readdir(dir);
  const nonces = names.flatMap((name) => (name.startsWith('request.') ? [name.slice('request.'.length)] : []));
  return Promise.all(
    nonces.sort().map(async (nonce) => ({
      nonce,
      record: parse(RequestRecord, await readText(join(dir, `request.${nonce}`))),
      ...readJournal(await readText(join(dir, `blocks.${nonce}`))),
    })),
  );
}

/** A journal up to its first line that is torn or damaged: what comes after it has lost its place. */
function readJournal(text: string): Journal {
  let state = emptyReply;
  let streamed: number | undefined;
  for (const line of text.split('\n')) {
    const entry = parse(JournalLine, line);
    if (!entry) break;
    if ('end' in entry) return { state, streamed, end: entry.end };
    if ('streamed' in entry) streamed = entry.streamed ?? undefined;
    else state = entry.events.reduce(accumulate, state);
  }
  return { state, streamed };
}

async function readSealed(place: string): Promise<Reply | undefined> {
  const sealed = parse(Sealed, await readText(place));
  return sealed && sha256(sealed.reply) === sealed.sha ? (JSON.parse(sealed.reply) as Reply) : undefined;
}

async function toldByOthers(dir: string, asking: string | undefined): Promise<Set<string>> {
  const mine = asking === undefined ? undefined : toldFile(asking);
  const names = (await readdir(dir)).filter((name) => name.startsWith('told.') && name !== mine);
  const lists = await Promise.all(names.map(async (name) => parse(Told, await readText(join(dir, name)))));
  return new Set(lists.flatMap((list) => list?.nonces ?? []));
}

const replyFile = (dir: string, asked: string): string => join(dir, `reply.${asked.slice(0, 32)}`);
const toldFile = (asking: string): string => `told.${sha256(asking).slice(0, 32)}`;
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return '';
    throw error;
  }
}

function parse<T>(schema: z.ZodType<T>, text: string): T | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
