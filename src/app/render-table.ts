import type { JobRow } from './commands/ls.ts';
import type { Paint } from './paint.ts';
import { clock, columns, cut, dollars, duration, oneLine, pad } from './text.ts';

/** Jobs as a table; the title takes what the other columns leave. */
export function jobTable(rows: readonly JobRow[], at: { now: number; width: number; paint: Paint }): string[] {
  const head = ['JOB', 'STATUS', 'STEP', 'COST', 'ASKS', 'AGE', 'TITLE'];
  const cells = rows.map((row) => [
    row.id,
    statusCell(row, at.now),
    row.step === 0 ? '-' : `${row.turn}.${row.step}`,
    dollars(Math.round(row.costUsd * 1_000_000)),
    row.prompts === 0 ? '-' : String(row.prompts),
    age(at.now - Date.parse(row.startedAt)),
    oneLine(row.title),
  ]);
  const widths = head.map((name, n) => Math.max(name.length, ...cells.map((row) => columns(row[n] ?? ''))));
  const line = (row: readonly string[]): string => {
    const fixed = row.slice(0, -1).map((cell, n) => pad(cell, widths[n] ?? 0));
    return cut([...fixed, row.at(-1) ?? ''].join('  '), at.width).trimEnd();
  };
  return [at.paint.dim(line(head)), ...cells.map((row, n) => colour(rows[n], at.paint)(line(row)))];
}

/** The status with why, and until when it waits. */
function statusCell(row: JobRow, now: number): string {
  const until = row.until === null ? '' : ` until ${clock(Date.parse(row.until), now)}`;
  return `${row.status}${row.why === null ? '' : ` (${row.why})`}${until}`;
}

function age(ms: number): string {
  return duration(ms).replace(/\.\d/, '');
}

function colour(row: JobRow | undefined, paint: Paint): (text: string) => string {
  switch (row?.status) {
    case 'waiting':
      return paint.yellow;
    case 'failed':
    case 'stopped':
      return paint.red;
    case 'running':
      return paint.green;
    default:
      return (text) => text;
  }
}
