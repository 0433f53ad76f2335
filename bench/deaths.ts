import { readdirSync, readFileSync } from 'node:fs';
import type { Script } from '../src/app/model-server/script.ts';
import { commandLine, type CommandLine } from '../test/support/command-line.ts';
import { HEALTHY_AFTER } from '../src/app/service/backoff.ts';
import { callDir } from '../src/core/paths.ts';
import { followEvents } from '../src/host/event-reader.ts';
import { join } from 'node:path';
import type { JobEvent } from '../src/shapes/event.ts';
import { type Figure, spread, tail } from './figure.ts';

type Status = { server: { pid: number }; workers: { pid: number; startedAt: string }[] };

const bash = { name: 'Bash', input: { command: 'echo begun; sleep 30' } };
const script: Script = {
  jobs: [
    { match: 'bash', steps: [{ calls: [bash] }, { text: 'done' }] },
    { match: 'steps', steps: [{ repeat: 100_000, calls: [{ name: 'Glob', input: { pattern: '{{n}}' } }] }] },
  ],
};

/** The service as people run it: its start, its commands, the death of its server, a cancel. */
export async function service(rounds: number): Promise<Figure[]> {
  const c = await commandLine(script);
  try {
    const fromNothing = await timed(() => c.run(['up']));
    return [
      { name: '`up` from nothing → worker polls', value: `${fromNothing.toFixed(0)} ms`, target: '≤ 2,000 ms', n: 1 },
      await help(c),
      await listing(c),
      tail('kill -9 of the server → the job goes on', await serverDeaths(c, rounds), 'p50 ≤ 5,000 ms'),
      spread('cancel → all children dead', await cancels(c, rounds), '≤ 500 ms'),
    ];
  } finally {
    await c.close();
  }
}

/** What the death of a worker costs: with the keeper alone, and with a second worker beside. */
export async function recovery(rounds: number): Promise<Figure[]> {
  const c = await commandLine(script);
  try {
    await c.run(['up']);
    const name = 'kill -9 of the worker in a Bash call → the next pass holds it';
    const alone = tail(name, await workerDeaths(c, rounds, 1), 'p50 ≤ 1,000, p95 ≤ 3,000 ms');
    await c.run(['up', '--standby']);
    return [alone, tail('the same with `up --standby`', await workerDeaths(c, rounds, 2), 'p50 ≤ 300 ms')];
  } finally {
    await c.close();
  }
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const before = performance.now();
  await act();
  return performance.now() - before;
}

async function several(n: number, act: () => Promise<unknown>): Promise<number[]> {
  const spans: number[] = [];
  for (let i = 0; i < n; i++) spans.push(await timed(act));
  return spans;
}

const help = async (c: CommandLine): Promise<Figure> =>
  spread('`--help`', await several(10, () => c.run(['--help'])), '≤ 150 ms');
const listing = async (c: CommandLine): Promise<Figure> => {
  await c.run(['start', '--name', 'listed', '--allow', 'Bash', 'bash']);
  const figure = spread('`ls` against a running service', await several(10, () => c.run(['ls'])), '≤ 700 ms');
  await c.run(['cancel', 'listed']);
  return figure;
};

/** Resolves with the first event that fits. */
async function until(c: CommandLine, id: string, fits: (event: JobEvent) => boolean): Promise<JobEvent> {
  const path = join(c.env['NIGHTSHIFT_HOME']!, 'jobs', id, 'events.jsonl');
  for await (const event of followEvents(path, AbortSignal.timeout(60_000))) if (fits(event)) return event;
  throw new Error('the events ended');
}

async function workerDeaths(c: CommandLine, rounds: number, workers: number): Promise<number[]> {
  const spans: number[] = [];
  for (let n = 0; n < rounds; n++) {
    await settled(c, workers);
    const id = `death-${spans.length}-${Date.now()}`;
    await c.run(['start', '--name', id, '--allow', 'Bash', 'bash']);
    await until(c, id, (event) => event.kind === 'call.progress');
    const pid = ownerOf(c, id);
    const before = Date.now();
    process.kill(pid, 'SIGKILL');
    const again = await until(c, id, (event) => event.kind === 'call.started' && event.owner > 1);
    spans.push(again.at - before);
    await c.run(['cancel', id]);
    await c.run(['result', '--wait', id]);
  }
  return spans;
}

/** The worker that has the job's first call: with a standby either may. */
function ownerOf(c: CommandLine, id: string): number {
  const call = join(c.env['NIGHTSHIFT_HOME']!, 'jobs', id, callDir(1, 1, 0));
  const text = readFileSync(join(call, 'owner.1'), 'utf8');
  return Number(/"pid\\?":(\d+)/.exec(text)![1]);
}

/** All workers live for so long that the next death counts as the first: deaths in a row are answered with growing pauses. */
async function settled(c: CommandLine, wanted: number): Promise<void> {
  for (;;) {
    const ran = await c.run(['status', '--json']);
    const workers = ran.code === 0 ? (JSON.parse(ran.out) as Status).workers : [];
    const ages = workers.map((worker) => Date.now() - Date.parse(worker.startedAt));
    if (workers.length >= wanted && Math.min(...ages) > HEALTHY_AFTER + 1_000) return;
  }
}

async function serverDeaths(c: CommandLine, rounds: number): Promise<number[]> {
  const id = `server-${Date.now()}`;
  await c.run(['start', '--name', id, 'steps']);
  const spans: number[] = [];
  for (let n = 0; n < Math.min(rounds, 10); n++) {
    const { server } = (await c.json(['status'])) as Status;
    const before = Date.now();
    process.kill(server.pid, 'SIGKILL');
    // What was handed out before the death may still end; what begins half a second later is new work.
    const again = await until(c, id, (event) => event.kind === 'call.started' && event.at > before + 500);
    spans.push(again.at - before);
    // Deaths in a row are answered with growing pauses; here each is to be the first.
    await until(c, id, (event) => event.at > again.at + HEALTHY_AFTER + 1_000);
  }
  await c.run(['cancel', id]);
  await c.run(['result', '--wait', id]);
  return spans;
}

/** Living processes of a job's commands. */
function marked(id: string): number {
  return readdirSync('/proc').filter((pid) => {
    try {
      return (
        /^\d+$/.test(pid) &&
        !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ') &&
        readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`NIGHTSHIFT_CALL=${id}/`)
      );
    } catch {
      return false;
    }
  }).length;
}

/** From the moment the server has the request (the command's own start is not counted) to the last child's end. */
async function cancels(c: CommandLine, rounds: number): Promise<number[]> {
  const spans: number[] = [];
  for (let n = 0; n < rounds; n++) {
    const id = `cancel-${n}-${Date.now()}`;
    await c.run(['start', '--name', id, '--allow', 'Bash', 'bash']);
    await until(c, id, (event) => event.kind === 'call.progress');
    const cancelled = c.begin(['cancel', id]);
    await cancelled.end;
    const before = performance.now();
    while (marked(id) > 0) await new Promise((resolve) => setImmediate(resolve));
    spans.push(performance.now() - before);
  }
  return spans;
}
