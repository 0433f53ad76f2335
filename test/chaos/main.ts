import { parseArgs } from 'node:util';
import { CELLS } from './cells.ts';
import { playMatrix } from './matrix.ts';
import { soak, type SoakResult } from './soak.ts';
import { aligned, faultsOf, report, rowsOf } from './tally.ts';
import { WORKLOADS } from './workloads.ts';

const HELP = `npm run chaos -- [options]          kills jobs at every named moment, and at random ones

  --rounds N    kills at random times per workload and victim (20; 0: only the named moments)
  --times N     how often each named moment is played per victim (5)
  --cell NAME   only moments whose name holds this; may be given several times
  --seed N      the random times again (a new one each time, printed at the end)
  --stages N    jobs that are killed at the same time, each with a server of its own (2)
  --list        the names of all moments
  --soak        many jobs at once under kills that never stop, instead
  --kills N     kills of a soak (1000)
  --jobs N      jobs of a soak that run at once (20)
  --json        the figures as JSON on stdout

Progress goes to stderr. Exit codes: 0 no fault, 1 faults, 2 wrong options.`;

/** Runs what the command line asks for; resolves with the exit code. */
export async function main(args: string[]): Promise<number> {
  let options: ReturnType<typeof read>;
  try {
    options = read(args);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}\n`);
    return 2;
  }
  const { help, list, json, seed } = options;
  const print = (text: string): void => void process.stdout.write(`${text}\n`);
  const say = (line: string): void => void process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);
  if (help) return (print(HELP), 0);
  if (list) return (print(names().join('\n')), 0);
  if (options.soak) {
    const result = await soak({ kills: options.kills, jobs: options.jobs, seed, say });
    print(json ? JSON.stringify({ seed, ...result }, null, 2) : `${soakText(result)}\nseed ${seed}`);
    return result.faults.length === 0 ? 0 : 1;
  }
  const { rounds, times, cells, stages } = options;
  const played = await playMatrix({ rounds, times, cells, seed, stages, say });
  print(
    json ? JSON.stringify({ seed, rows: rowsOf(played), rounds: played }, null, 2) : `${report(played)}\nseed ${seed}`,
  );
  return played.some((round) => faultsOf(round).length > 0) ? 1 : 0;
}

const names = (): string[] => [
  ...CELLS.map(({ name }) => name),
  ...Object.keys(WORKLOADS).map((name) => `${name}: at any time`),
];

function read(args: string[]) {
  const { values } = parseArgs({
    args,
    options: {
      rounds: { type: 'string', default: '20' },
      times: { type: 'string', default: '5' },
      cell: { type: 'string', multiple: true, default: [] },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      stages: { type: 'string', default: '2' },
      kills: { type: 'string', default: '1000' },
      jobs: { type: 'string', default: '20' },
      soak: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const whole = (name: 'rounds' | 'times' | 'seed' | 'stages' | 'kills' | 'jobs', least: number): number => {
    const value = Number(values[name]);
    if (Number.isSafeInteger(value) && value >= least) return value;
    throw new Error(`--${name} is ${JSON.stringify(values[name])}: write a whole number from ${least}.`);
  };
  const strange = values.cell.find((part) => !names().some((name) => name.includes(part)));
  if (strange !== undefined) throw new Error(`No moment is named ${JSON.stringify(strange)}; --list shows all names.`);
  return {
    ...values,
    cells: values.cell,
    rounds: whole('rounds', 0),
    times: whole('times', 1),
    seed: whole('seed', 0),
    stages: whole('stages', 1),
    kills: whole('kills', 1),
    jobs: whole('jobs', 1),
  };
}

function soakText({
  kills,
  jobs,
  effects,
  paidTwice,
  billed,
  spent,
  stuck,
  workersLost,
  recovery,
  seconds,
  faults,
}: SoakResult): string {
  const usd = (micros: number): string => `$${(micros / 1e6).toFixed(4)}`;
  const all = kills.worker + kills.server + kills.both;
  const table = [
    ['kills', `${all} (worker ${kills.worker}, server ${kills.server}, both ${kills.both}) in ${seconds} s`],
    ['jobs', String(jobs)],
    ['effects done exactly once', String(effects.once)],
    ['effects doubled', String(effects.doubled)],
    ['effects lost', String(effects.lost)],
    ['effects told as unknown', String(effects.unknown)],
    ['effects told as not done', String(effects.undone)],
    ['replies paid twice', String(paidTwice)],
    ['billed by the model server', `${usd(billed)}, counted by the jobs ${usd(spent)}`],
    ['jobs stuck', String(stuck)],
    ['workers that ended by themselves', String(workersLost)],
    [
      'taken up again after a kill',
      `p50 ${recovery.p50} ms, p95 ${recovery.p95} ms, max ${recovery.max} ms (${recovery.n} times)`,
    ],
  ];
  return [
    ...aligned(table.map(([what, value]) => [`${what}  ${value}`])),
    ...(faults.length > 0 ? ['', 'Faults', ...faults] : []),
  ].join('\n');
}
