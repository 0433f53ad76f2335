import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import type { Script } from '../../src/app/model-server/script.ts';
import type { LoggedRequest } from '../../src/app/model-server/request-log.ts';
import { type ModelServer, startModelServer } from '../../src/app/model-server/start-model-server.ts';
import type { ModelOutcome } from '../../src/core/ports.ts';
import { type Asker, createAsker } from '../support/model-asker.ts';
import { runTs, type TsProcess } from '../support/run-ts.ts';

const CHILD = fileURLToPath(new URL('../support/model-child.ts', import.meta.url));
const usage = { input_tokens: 10, output_tokens: 20, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
const EXACT = 10 * 2 + 20 * 10;
const CUT = 10 * 2 + 2_000 * 10;

let server: ModelServer | undefined;
let asker: Asker | undefined;
const children: TsProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) await child.kill();
  await server?.close();
  await asker?.close();
});

type Step = NonNullable<Script['steps']>[number];

/** A model of one reply, processes that ask it, and `next`: this process, which asks after they died. */
async function prepare(
  step: Partial<Step>,
): Promise<{ server: ModelServer; child: (stallMs?: number) => TsProcess; next: () => Promise<ModelOutcome> }> {
  const said = {
    text: 'I look.',
    calls: [
      { name: 'Bash', input: { command: 'ls' } },
      { name: 'Bash', input: { command: 'pwd' } },
    ],
  };
  server = await startModelServer({ script: { steps: [{ ...said, usage, ...step }] } });
  asker = await createAsker(server.url);
  const { url } = server;
  const spool = join(asker.dir, 'spool');
  const child = (stallMs = 90_000): TsProcess => {
    const started = runTs(CHILD, [url, spool, 'run/1', String(stallMs)]);
    children.push(started);
    return started;
  };
  const next = (): Promise<ModelOutcome> => asker!.ask({ asking: 'run/1' });
  return { server, child, next };
}
const isStalled = ({ stalled }: LoggedRequest): boolean => stalled === true;
const hasEnded = ({ outcome }: LoggedRequest): boolean => outcome === 'complete';

async function outcomeOf(child: TsProcess): Promise<ModelOutcome> {
  for (;;) {
    const line = JSON.parse(await child.line()) as { outcome?: ModelOutcome };
    if (line.outcome) return line.outcome;
  }
}

describe('kill -9 of the process that asks', () => {
  it('before the first byte: asks again, and counts what the lost attempt can have cost', async () => {
    const { server, child, next } = await prepare({ stall: [{ after: 'start', for: 'forever' }] });
    const first = child();
    await server.waitFor(isStalled);
    await first.kill();
    const outcome = await next();
    expect(outcome).toMatchObject({ kind: 'reply', fromSpool: false, reply: { stop: 'tool_use' } });
    expect(outcome.spent).toBeGreaterThan(2_000 * 10 + EXACT);
    expect(server.requests()).toHaveLength(2);
  });

  it('in the middle of a text: asks again, and counts the prompt and all output', async () => {
    const { server, child, next } = await prepare({ chunk: 1, stall: [{ after: '5 events', for: 'forever' }] });
    const first = child();
    await server.waitFor(isStalled);
    await recorded(1);
    await first.kill();
    expect(await next()).toMatchObject({ kind: 'reply', fromSpool: false, spent: CUT + EXACT });
    expect(server.requests()).toHaveLength(2);
  });

  it('after a complete call: keeps the reply up to it, with no second request', async () => {
    const { server, child, next } = await prepare({ stall: [{ after: 'block 1', for: 'forever' }] });
    const first = child();
    await server.waitFor(isStalled);
    await recorded(3);
    await first.kill();
    const outcome = await next();
    expect(outcome).toMatchObject({
      kind: 'reply',
      fromSpool: true,
      spent: CUT,
      reply: {
        cut: true,
        content: [
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', input: { command: 'ls' } },
        ],
      },
    });
    expect(await next()).toEqual(outcome);
    expect(server.requests()).toHaveLength(1);
  });

  it('when the last byte has been sent: one request, the whole reply, its exact cost', async () => {
    const { server, child, next } = await prepare({});
    const first = child();
    await server.waitFor(hasEnded);
    await recorded(6);
    await first.kill();
    const outcome = await next();
    expect(outcome).toMatchObject({ kind: 'reply', fromSpool: true, spent: EXACT, reply: { stop: 'tool_use' } });
    expect(outcome.kind === 'reply' && outcome.reply.cut).toBeUndefined();
    expect(server.requests()).toHaveLength(1);
  });

  it('when it knew the outcome and nobody else did: the very same outcome again', async () => {
    const { server, child } = await prepare({});
    const first = child();
    const told = await outcomeOf(first);
    await first.kill();
    expect(await outcomeOf(child())).toEqual({ ...told, fromSpool: true });
    expect(server.requests()).toHaveLength(1);
  });

  it('again and again: each lost attempt is counted once', async () => {
    const { server, child, next } = await prepare({ stall: [{ after: '4 events', for: 'forever', times: 3 }] });
    for (let n = 1; n <= 3; n += 1) {
      const one = child();
      await server.waitFor(({ attempt, stalled }) => attempt === n && stalled === true);
      await recorded(1, n);
      await one.kill();
    }
    expect(await next()).toMatchObject({ kind: 'reply', fromSpool: false, spent: 3 * CUT + EXACT });
    expect(server.requests()).toHaveLength(4);
  });
});

describe('a process that was stopped for longer than it may be silent', () => {
  it('reads what has come meanwhile before it speaks of silence', async () => {
    const { server, child } = await prepare({ chunk: 1, duration: '2s' });
    const stopped = child(700);
    await stopped.line();
    await recorded(1);
    stopped.child.kill('SIGSTOP');
    await server.waitFor(hasEnded);
    stopped.child.kill('SIGCONT');
    expect(await outcomeOf(stopped)).toMatchObject({ kind: 'reply', spent: EXACT });
    expect(server.requests()).toHaveLength(1);
  });
});

/** Resolves when the journals of so many attempts hold at least so many lines: what the server sent has been read. */
async function recorded(lines: number, attempts = 1): Promise<void> {
  const spool = join(asker!.dir, 'spool');
  const read = async (): Promise<number> => {
    const names = (await readdir(spool)).filter((name) => name.startsWith('blocks.'));
    const texts = await Promise.all(names.map((name) => readFile(join(spool, name), 'utf8')));
    return texts.filter((text) => text.split('\n').length > lines).length;
  };
  await expect.poll(read, { timeout: 30_000 }).toBe(attempts);
}
