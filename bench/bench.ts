import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { expect, test } from 'vitest';
import { temporalProgram } from '../test/support/temporal.ts';
import { recovery, service } from './deaths.ts';
import type { Figure } from './figure.ts';
import { parts } from './parts.ts';
import { steps } from './steps.ts';

// BENCH picks groups (parts,steps,service,recovery), BENCH_FULL=1 takes 2,000 steps, BENCH_ROUNDS sets the deaths of each kind.
const full = process.env['BENCH_FULL'] === '1';
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 20);
const groups: Record<string, () => Promise<Figure[]>> = {
  parts,
  steps: () => steps(full),
  service: () => service(rounds),
  recovery: () => recovery(rounds),
};
const wanted = (process.env['BENCH'] ?? Object.keys(groups).join(',')).split(',');

test('bench', async () => {
  const { version } = await temporalProgram();
  const machine = {
    cpus: `${cpus().length} x ${cpus()[0]?.model.trim()}`,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    temporal: version,
    commit: execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim(),
    load: { before: loadavg()[0], after: 0 },
  };
  const figures: Figure[] = [];
  for (const group of wanted) figures.push(...(await groups[group]!()));
  machine.load.after = loadavg()[0]!;
  writeFileSync('bench-results.json', `${JSON.stringify({ machine, figures }, null, 1)}\n`);
  const rows = [
    ['figure', 'measured', 'target', 'n'],
    ...figures.map(({ name, value, target, n }) => [name, value, target, String(n)]),
  ];
  const widths = rows[0]!.map((_, i) => Math.max(...rows.map((row) => row[i]!.length)));
  const table = rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join('  ')
      .trimEnd(),
  );
  console.log(`${JSON.stringify(machine)}\n${table.join('\n')}\nAll values: bench-results.json`);
  expect(figures.every((figure) => !figure.value.includes('NaN'))).toBe(true);
}, 1_800_000);
