import type { Victim } from './stage.ts';
import { faults, type Verdict } from './verdict.ts';

/** One killed job: what became of it, or why nobody can say. */
export type Round = { cell: string; victim: Victim; afterMs?: number; ms: number } & (
  | { verdict: Verdict }
  | { stuck: string }
);

/** What all rounds of one cell came to. */
export type Row = {
  cell: string;
  rounds: number;
  /** Rounds without a fault, of all rounds, by who died. */
  passed: Partial<Record<Victim, [number, number]>>;
  once: number;
  unknown: number;
  undone: number;
  doubled: number;
  lost: number;
  paidTwice: number;
  stuck: number;
  wrong: number;
};

/** Sums up rounds, in the order in which the cells first came. */
export function rowsOf(rounds: readonly Round[]): Row[] {
  const rows = new Map<string, Row>();
  for (const round of rounds) {
    const row = rows.get(round.cell) ?? emptyRow(round.cell);
    rows.set(round.cell, row);
    row.rounds += 1;
    const [passed, all] = row.passed[round.victim] ?? [0, 0];
    row.passed[round.victim] = [passed + (faultsOf(round).length === 0 ? 1 : 0), all + 1];
    if ('stuck' in round) row.stuck += 1;
    else add(row, round.verdict);
  }
  return [...rows.values()];
}

/** Everything that must not be in a round, in words. */
export function faultsOf(round: Round): string[] {
  return 'stuck' in round ? [`stuck: ${round.stuck}`] : faults(round.verdict);
}

/** A table in plain text, and below it every fault. */
export function report(rounds: readonly Round[]): string {
  const rows = rowsOf(rounds);
  const share = (row: Row, victim: Victim): string => row.passed[victim]?.join('/') ?? '-';
  const head = [
    'killed at',
    'worker',
    'server',
    'both',
    'once',
    'unknown',
    'undone',
    'doubled',
    'lost',
    'paid twice',
    'stuck',
    'wrong',
  ];
  const counts = (row: Row): number[] => [
    row.once,
    row.unknown,
    row.undone,
    row.doubled,
    row.lost,
    row.paidTwice,
    row.stuck,
    row.wrong,
  ];
  const lines = rows.map((row) => [
    row.cell,
    share(row, 'worker'),
    share(row, 'server'),
    share(row, 'both'),
    ...counts(row).map(String),
  ]);
  const sums = rows.map(counts).reduce((sum, row) => sum.map((n, i) => n + row[i]!), counts(emptyRow('')));
  const passed = rounds.filter((round) => faultsOf(round).length === 0).length;
  const table = [
    head,
    ...lines,
    [`all ${rounds.length} rounds, ${passed} without a fault`, '', '', '', ...sums.map(String)],
  ];
  const found = rounds.flatMap((round) => faultsOf(round).map((fault) => `${nameOf(round)}: ${fault}`));
  return [...aligned(table), ...(found.length > 0 ? ['', 'Faults', ...found] : [])].join('\n');
}

/** A round as it is named in reports. */
export function nameOf({ cell, victim, afterMs }: Round): string {
  return `${cell}, ${victim}${afterMs === undefined ? '' : ` after ${afterMs} ms`}`;
}

/** Columns as wide as their widest entry: the first to the left, numbers to the right. */
export function aligned(table: string[][]): string[] {
  const widths = table[0]!.map((_, i) => Math.max(...table.map((row) => row[i]!.length)));
  const cell = (text: string, i: number): string => (i === 0 ? text.padEnd(widths[i]!) : text.padStart(widths[i]!));
  return table.map((row) => row.map(cell).join('  ').trimEnd());
}

function emptyRow(cell: string): Row {
  const none = { once: 0, unknown: 0, undone: 0, doubled: 0, lost: 0, paidTwice: 0, stuck: 0, wrong: 0 };
  return { cell, rounds: 0, passed: {}, ...none };
}

function add(row: Row, verdict: Verdict): void {
  row.once += verdict.once;
  row.unknown += verdict.unknown;
  row.undone += verdict.undone;
  row.doubled += verdict.doubled.length;
  row.lost += verdict.lost.length;
  row.paidTwice += verdict.paidTwice.length;
  row.wrong += verdict.wrong.length;
}
