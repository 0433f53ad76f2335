import type { LoggedRequest } from '../model-server/request-log.ts';

export type Kill = { what: 'Bash call' | 'model call'; at: number; backAt?: number };

type Call = { name: string; brief: string; outcome: string | null; owners: number };
type Job = { status: string; costUsd: number; turns: { steps: { calls: Call[] }[] }[] };

/** What is to be seen at the end, and whether everything was as it should be. */
export function report(seen: {
  /** As `show --json` prints it. */
  job: Job;
  kills: Kill[];
  journal: string[];
  commits: number;
  requests: readonly LoggedRequest[];
  exitCode: number;
  seconds: number;
}): { text: string; ok: boolean } {
  const { job, kills, journal, commits, requests } = seen;
  const calls = job.turns.flatMap((turn) => turn.steps.flatMap((step) => step.calls));
  const times = (line: string): number => journal.filter((entry) => entry === line).length;
  const effects: [string, number][] = [
    ['test runs in journal.txt', times('tests run')],
    ['checks begun in journal.txt', times('check begun')],
    ['checks done in journal.txt', times('check done')],
    ['commits', commits],
  ];
  const finished = requests.filter((request) => request.outcome === 'complete').length;
  const steps = job.turns.reduce((sum, turn) => sum + turn.steps.length, 0);
  const table = (rows: string[][]): string[] => {
    const widths = rows[0]!.map((_, i) => Math.max(...rows.map((row) => row[i]!.length)));
    return rows.map((row) => `  ${row.map((cell, i) => cell.padEnd(widths[i]!)).join('  ')}`.trimEnd());
  };
  const lines = [
    'Calls',
    ...table([
      ['call', 'outcome', 'processes that had it'],
      ...calls.map((call) => [`${call.name} ${shorten(call.brief)}`, call.outcome ?? '-', String(call.owners)]),
    ]),
    '',
    'Effects, counted in the files',
    ...table(effects.map(([what, n]) => [what, String(n), n === 1 ? 'exactly once' : 'WRONG'])),
    '',
    'Deaths of the worker (kill -9)',
    ...table(
      kills.map((kill) => [
        `in a ${kill.what}`,
        kill.backAt ? `taken up again after ${((kill.backAt - kill.at) / 1000).toFixed(1)} s` : 'NOT taken up',
      ]),
    ),
    '',
    `Model: ${steps} replies on record, ${finished} paid in full, ${requests.length - finished} cut by a death and asked for again.`,
    `Cost: $${job.costUsd.toFixed(4)} at list prices, the lost reply included. Time: ${seen.seconds.toFixed(1)} s. Job: ${job.status}.`,
  ];
  const ok =
    seen.exitCode === 0 &&
    job.status === 'done' &&
    effects.every(([, n]) => n === 1) &&
    kills.length === 2 &&
    kills.every((kill) => kill.backAt !== undefined) &&
    finished === steps &&
    requests.every((request) => request.refused === undefined);
  return { text: lines.join('\n'), ok };
}

/** Paths by their last part: what the table needs of a brief. */
const shorten = (brief: string): string => {
  const text = brief.startsWith('/') ? brief.slice(brief.lastIndexOf('/') + 1) : brief;
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
};
