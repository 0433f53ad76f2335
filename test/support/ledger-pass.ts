// A process that owns calls of a ledger, to be raced against another one, stopped, or killed at a certain point.
import { appendFileSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { OwnedCall } from '../../src/core/ports.ts';
import { currentIdentity } from '../../src/host/identity.ts';
import { openLedger } from '../../src/host/ledger.ts';
import { appears } from './appears.ts';

const [home, step, count] = process.argv.slice(2) as [string, string, string];
const self = currentIdentity();
const aliveFile = (identity: typeof self): string => join(home, 'workers', `${identity.pid}-${identity.startTime}`);

mkdirSync(join(home, 'workers'), { recursive: true });
writeFileSync(aliveFile(self), '');
let beats = 0;
let onBeat: () => void = () => undefined;
setInterval(() => {
  utimesSync(aliveFile(self), new Date(), new Date());
  beats++;
  onBeat();
}, 50);

const times = { silentAfterMs: 500, provenAfterMs: 50 };
const ledger = openLedger({ jobDir: home, self, aliveFile, ...times, warn: (text) => console.error(text) });
const never = new AbortController().signal;
const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

async function owned(key: string): Promise<OwnedCall> {
  const ownership = await ledger.own(key, never);
  if (ownership.kind !== 'owned') throw new Error(ownership.kind);
  return ownership.call;
}

/** Owns each call in turn, writes into the journal that it acted, and prints what it got. */
async function race(): Promise<void> {
  const kinds: Record<string, number> = {};
  for (let n = 0; n < Number(count); n++) {
    const key = `turns/1/0.${n}`;
    const ownership = await ledger.own(key, never);
    kinds[ownership.kind] = (kinds[ownership.kind] ?? 0) + 1;
    if (ownership.kind === 'owned') {
      const { call } = ownership;
      appendFileSync(join(home, 'journal'), `${key} ${JSON.stringify(call.previous?.claim ?? null)} ${call.owners}\n`);
      await call.result({ by: process.pid, n });
      await call.release();
    } else {
      const result = ownership.kind === 'exhausted' ? ownership : await ownership.result;
      if (JSON.stringify(result) !== JSON.stringify({ by: (result as { by: number }).by, n }))
        throw new Error(`${key}: wrong`);
    }
  }
  console.log(JSON.stringify(kinds));
  process.exit(0);
}

console.log('ready');
await input.next();
if (step === 'race') await race();
const call = await owned('turns/1/0.0');
if (step === 'claim' || step === 'result') {
  await call.claim({ effect: 1 });
  await call.ran({ output: 1 });
}
if (step === 'result') await call.result({ text: 'done' });
if (step === 'waits' || step === 'acts') {
  const act = call.waits();
  await appears(join(call.dir, `waits.${call.owners}`));
  if (step === 'acts') await act();
}
if (step === 'slow') {
  // Gives its result only after it has been alive for far longer than it may be silent.
  onBeat = () => {
    if (beats === 40) void call.result({ text: 'slow' }).then(() => call.release());
  };
}
if (step === 'ask') {
  onBeat = () => {
    if (beats === 20) void call.release();
  };
}
console.log('there');
