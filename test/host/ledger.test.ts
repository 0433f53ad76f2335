import { mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Ledger, OwnedCall, Ownership } from '../../src/core/ports.ts';
import { writeFact } from '../../src/host/fact.ts';
import { currentIdentity, type ProcessIdentity } from '../../src/host/identity.ts';
import { openLedger } from '../../src/host/ledger.ts';
import { appears } from '../support/appears.ts';
import { runTs, type TsProcess } from '../support/run-ts.ts';

const PASS = fileURLToPath(new URL('../support/ledger-pass.ts', import.meta.url));
const KEY = 'turns/1/0.0';

let home: string;
let ledger: Ledger;
let warnings: string[];
const self = currentIdentity();
const dead: ProcessIdentity = { ...self, startTime: self.startTime - 1 };
const foreign: ProcessIdentity = { ...self, pidNamespace: 'pid:[1]', pid: 7 };
const started: TsProcess[] = [];

const aliveFile = (identity: ProcessIdentity): string => join(home, 'workers', `${identity.pid}-${identity.startTime}`);
const patience = (): AbortSignal => AbortSignal.timeout(20_000);

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'ledger-'));
  warnings = [];
  ledger = openLedger({ jobDir: home, self, aliveFile, silentAfterMs: 500, warn: (text) => warnings.push(text) });
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((pass) => pass.kill()));
  await rm(home, { recursive: true, force: true });
});

async function own(key = KEY, signal = patience()): Promise<OwnedCall> {
  const ownership = await ledger.own(key, signal);
  if (ownership.kind !== 'owned') throw new Error(`not owned, but ${ownership.kind}`);
  return ownership.call;
}

async function resultOf(ownership: Ownership): Promise<unknown> {
  if (ownership.kind !== 'joined' && ownership.kind !== 'done') throw new Error(ownership.kind);
  return ownership.result;
}

/** Another process that stands ready to own a call. */
async function ready(...args: string[]): Promise<TsProcess> {
  const pass = runTs(PASS, [home, ...args]);
  started.push(pass);
  expect(await pass.line()).toBe('ready');
  return pass;
}

/** Another process that has come as far as `step` in the call. */
async function processAt(step: string): Promise<TsProcess> {
  const pass = await ready(step);
  pass.child.stdin.write('go\n');
  expect(await pass.line()).toBe('there');
  return pass;
}

function leave(key: string, name: string, content: unknown): void {
  mkdirSync(join(home, key), { recursive: true });
  writeFileSync(join(home, key, name), typeof content === 'string' ? content : JSON.stringify(content));
}

describe('a call of one process', () => {
  it('keeps its result also when its folder was removed meanwhile, with the whole job', async () => {
    const call = await own();
    await call.claim('began');
    rmSync(join(home, 'turns'), { recursive: true });
    await call.result('it ended');
    await call.release();
    expect(await resultOf(await ledger.own(KEY, patience()))).toBe('it ended');
  });

  it('is owned once, and its result is found ever after', async () => {
    const call = await own();
    expect({ dir: call.dir, owners: call.owners, previous: call.previous }).toEqual({
      dir: join(home, KEY),
      owners: 1,
    });
    await call.claim({ before: 'a' });
    await call.ran({ output: 'a' });
    expect(await ledger.resultOf(KEY)).toBeUndefined();
    await call.result({ text: 'ünï \ud800', n: [1, null] });
    await call.release();
    expect(await ledger.own(KEY, patience())).toEqual({ kind: 'done', result: { text: 'ünï \ud800', n: [1, null] } });
    expect(await ledger.resultOf(KEY)).toEqual({ text: 'ünï \ud800', n: [1, null] });
    expect(readdirSync(join(home, KEY)).sort()).toEqual(['claim', 'owner.1', 'ran', 'result']);
  });

  it('is joined by a second pass, also through another ledger of the job', async () => {
    const call = await own();
    const other = openLedger({ jobDir: home, self, aliveFile, warn: () => undefined });
    const passes = [ledger.own(KEY, patience()), other.own(KEY, patience())];
    await call.result(null);
    await call.release();
    for (const pass of passes) {
      const ownership = await pass;
      expect(ownership.kind).toBe('joined');
      expect(await resultOf(ownership)).toBeNull();
    }
  });

  it('goes to the next pass when it was given back without a result', async () => {
    const first = await own();
    const passes = [own(), own()];
    await first.release();
    const second = await Promise.race(passes);
    expect({ owners: second.owners, previous: second.previous }).toEqual({ owners: 1 });
    await second.ran({ output: 'b' });
    await second.release();
    await second.release();
    for (const pass of passes) await (await pass).release();
    const later = await own();
    expect(later.previous).toEqual({ owners: 0, ran: { output: 'b' } });
    await later.release();
    await expect(later.claim({})).rejects.toThrow(/claim of .* cannot be written: the call was given back/);
  });

  it('is not waited for any longer than wanted', async () => {
    const call = await own();
    const stop = new AbortController();
    const waiting = ledger.own(KEY, stop.signal);
    stop.abort(new Error('no need'));
    await expect(waiting).rejects.toThrow('no need');
    await expect(ledger.own(KEY, stop.signal)).rejects.toThrow('no need');
    await call.release();
    await (await own()).release();
  });

  it('refuses what is no JSON', async () => {
    const call = await own();
    await expect(call.result(undefined)).rejects.toThrow(/result cannot be written: its value is no JSON/);
    await call.release();
  });

  it('is not kept from others when its folder cannot be used', async () => {
    writeFileSync(join(home, 'turns'), 'a file');
    await expect(own()).rejects.toThrow(/Cannot write/);
    rmSync(join(home, 'turns'));
    await (await own()).release();
  });
});

describe('a call whose owner died', () => {
  it.each([
    ['after it became owner', 'own', undefined],
    ['after its claim', 'claim', { claim: { effect: 1 }, ran: { output: 1 } }],
  ])('is taken over with what is known: %s', async (_, step, facts) => {
    const pass = await processAt(step);
    await pass.kill();
    const call = await own();
    expect(call.owners).toBe(2);
    expect(call.previous).toEqual({ owners: 1, ...facts });
    await call.release();
  });

  it('is done when it left a result', async () => {
    const pass = await processAt('result');
    await pass.kill();
    expect(await ledger.own(KEY, patience())).toEqual({ kind: 'done', result: { text: 'done' } });
  });

  it('is taken over by who waits, the moment it dies', async () => {
    const pass = await processAt('claim');
    const waiting = own();
    await pass.kill();
    const call = await waiting;
    expect(call.previous).toMatchObject({ owners: 1, claim: { effect: 1 } });
    await call.release();
  });

  it('is as new when it died before it owned: a leftover temp file is nobody', async () => {
    leave(KEY, '.owner.x.tmp', dead);
    const call = await own();
    expect(call.previous).toBeUndefined();
    await call.release();
  });

  it('is given up with the third', async () => {
    for (const n of [1, 2]) leave(KEY, `owner.${n}`, dead);
    const third = await processAt('own');
    await third.kill();
    expect(await ledger.own(KEY, patience())).toEqual({ kind: 'exhausted', owners: 3 });
    expect(await ledger.own(KEY, patience())).toEqual({ kind: 'exhausted', owners: 3 });
  });

  it('is not given up for owners that only waited for something that lives without them', async () => {
    for (const n of [1, 2, 3, 4]) leave(KEY, `owner.${n}`, dead);
    for (const n of [1, 2, 3]) leave(KEY, `waits.${n}`, '');
    for (const step of ['waits', 'acts']) {
      const pass = await processAt(step);
      await pass.kill();
    }
    const call = await own();
    expect(call.owners).toBe(7);
    await call.release();
    const last = await processAt('own');
    await last.kill();
    expect(await ledger.own(KEY, patience())).toEqual({ kind: 'exhausted', owners: 7 });
  });

  it('counts an owner that had not waited for long', async () => {
    const slow = openLedger({ jobDir: home, self, aliveFile, warn: () => undefined });
    const ownership = await slow.own(KEY, patience());
    if (ownership.kind !== 'owned') throw new Error(ownership.kind);
    await ownership.call.waits()();
    expect(readdirSync(join(home, KEY))).toEqual(['owner.1']);
    await ownership.call.release();
  });

  it('keeps no mark of an owner that gave it back while it waited', async () => {
    const quick = openLedger({ jobDir: home, self, aliveFile, provenAfterMs: 1, warn: () => undefined });
    const ownership = await quick.own(KEY, patience());
    if (ownership.kind !== 'owned') throw new Error(ownership.kind);
    ownership.call.waits();
    await appears(join(home, KEY, 'waits.1'));
    await ownership.call.release();
    expect(readdirSync(join(home, KEY))).toEqual([]);
  });

  it('does not count owners that gave it back', async () => {
    for (let n = 0; n < 5; n++) await (await own()).release();
    leave(KEY, 'owner.1', dead);
    for (let n = 0; n < 5; n++) await (await own()).release();
    const call = await own();
    expect(call.previous).toEqual({ owners: 1 });
    await call.release();
  });
});

describe('a call of a living process', () => {
  it('is waited for as long as its owner answers, and joined', async () => {
    await processAt('slow');
    const ownership = await ledger.own(KEY, patience());
    expect(ownership.kind).toBe('joined');
    expect(await resultOf(ownership)).toEqual({ text: 'slow' });
  });

  it('is owned when that gives it back', async () => {
    await processAt('ask');
    const call = await own();
    expect(call.previous).toBeUndefined();
    await call.release();
  });

  it('is taken from a stopped owner, which is killed first', async () => {
    const pass = await processAt('claim');
    pass.child.kill('SIGSTOP');
    const call = await own();
    expect(await pass.ended).toBeNull();
    expect(pass.child.signalCode).toBe('SIGKILL');
    expect(call.previous).toMatchObject({ owners: 1, claim: { effect: 1 } });
    await call.release();
  });

  it('is taken from a process of another pid namespace only when that is silent', async () => {
    leave(KEY, 'owner.1', foreign);
    mkdirSync(join(home, 'workers'));
    writeFileSync(aliveFile(foreign), '');
    const beat = setInterval(() => utimesSync(aliveFile(foreign), new Date(), new Date()), 50);
    await expect(ledger.own(KEY, AbortSignal.timeout(1_500))).rejects.toThrow(/timeout/);
    clearInterval(beat);
    const call = await own();
    expect(call.previous).toEqual({ owners: 1 });
    await call.release();
  });
});

describe('two processes', () => {
  async function race(): Promise<Record<string, number>[]> {
    const passes = await Promise.all([ready('race', '200'), ready('race', '200')]);
    for (const pass of passes) pass.child.stdin.write('go\n');
    return Promise.all(passes.map(async (pass) => JSON.parse(await pass.line())));
  }
  const journal = (): string[] => readFileSync(join(home, 'journal'), 'utf8').trim().split('\n');

  it('that want the same 200 calls: each is owned exactly once', async () => {
    const kinds = await race();
    expect(new Set(journal()).size).toBe(200);
    expect(journal().length).toBe(200);
    expect(kinds.map((kind) => Object.values(kind).reduce((a, b) => a + b))).toEqual([200, 200]);
  });

  it('that want 200 calls of a dead owner: each is taken over exactly once', async () => {
    for (let n = 0; n < 200; n++) {
      const key = `turns/1/0.${n}`;
      leave(key, 'owner.1', dead);
      await writeFact(join(home, key, 'claim'), n);
    }
    await race();
    expect(journal().sort()).toEqual(Array.from({ length: 200 }, (_, n) => `turns/1/0.${n} ${n} 2`).sort());
  });
});

describe('a damaged record', () => {
  it('of an owner counts as a dead one', async () => {
    leave(KEY, 'owner.1', '{"bootId":');
    const call = await own();
    expect(call.previous).toEqual({ owners: 1 });
    expect(warnings).toEqual([expect.stringMatching(/owner\.1 is damaged: its owner counts as dead/)]);
    await call.release();
  });

  it.each(['claim', 'result'])('of a %s makes the outcome unknown', async (fact) => {
    leave(KEY, fact, '{"sha256":"abc","value":{"text":"flipped"}}');
    const call = await own();
    expect(call.previous).toEqual({ owners: 0, corrupt: true });
    expect(warnings).toEqual([expect.stringMatching(/is damaged: what the call did is unknown/)]);
    await call.result('unknown');
    await call.release();
    expect(await ledger.resultOf(KEY)).toBe('unknown');
  });

  it('of an output counts as absent', async () => {
    leave(KEY, 'ran', '');
    const call = await own();
    expect(call.previous).toBeUndefined();
    expect(warnings).toEqual([expect.stringMatching(/ran is damaged and counts as absent/)]);
    await call.release();
  });
});
