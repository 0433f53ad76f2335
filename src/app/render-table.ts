import type { JobRow } from './commands/ls.ts';
import type { Paint } from './paint.ts';
import { clock, columns, cut, dollars, duration, many, oneLine, pad } from './text.ts';
import { troubleText } from './trouble.ts';

type Drawing = { now: number; width: number; paint: Paint };

/** A title of fewer columns says nothing. */
const LEAST_TITLE = 10;
const HEAD = ['JOB', 'STATUS', 'STEP', 'COST', 'ASKS', 'AGE', 'TITLE'];

/** Jobs as a table, whose last column, the title, takes what the others leave; a terminal that is too narrow for it gets each job on lines of its own. What holds up a job stands below. */
export function jobTable(rows: readonly JobRow[], at: Drawing): string[] {
  const cells = rows.map((row) => [
    row.id,
    statusCell(row, at.now),
    row.step === 0 ? '-' : `${row.turn}.${row.step}`,
    cost(row),
    row.prompts === 0 ? '-' : String(row.prompts),
    age(row, at.now),
    oneLine(row.title),
  ]);
  const widths = HEAD.map((name, n) => Math.max(name.length, ...cells.map((row) => columns(row[n] ?? ''))));
  const fixed = widths.slice(0, -1).reduce((sum, width) => sum + width + 2, 0);
  const held = rows.flatMap((row) =>
    row.trouble === null ? [] : [at.paint.red(`${row.id} is ${troubleText(row.trouble, at.now)}`)],
  );
  if (fixed + LEAST_TITLE > at.width) return [...rows.flatMap((row) => block(row, at)), ...held];
  const line = (row: readonly string[]): string => {
    const padded = row.slice(0, -1).map((cell, n) => pad(cell, widths[n] ?? 0));
    return cut([...padded, row.at(-1) ?? ''].join('  '), at.width).trimEnd();
  };
  return [at.paint.dim(line(HEAD)), ...cells.map((row, n) => colour(rows[n], at.paint)(line(row))), ...held];
}

function block(row: JobRow, { now, width, paint }: Drawing): string[] {
  const facts = [
    ...(row.step === 0 ? [] : [`step ${row.turn}.${row.step}`]),
    cost(row),
    ...(row.prompts === 0 ? [] : [many(row.prompts, 'question')]),
    age(row, now),
  ];
  return [
    // Whole, because it is what other commands take.
    row.id,
    colour(row, paint)(cut(`  ${statusCell(row, now)}`, width)),
    cut(`  ${facts.join(' · ')}`, width),
    paint.dim(cut(`  ${oneLine(row.title)}`, width)),
  ];
}

/** The status with why, and until when it waits. */
function statusCell(row: JobRow, now: number): string {
  const until = row.until === null ? '' : ` until ${clock(Date.parse(row.until), now)}`;
  const why = row.trouble === null ? row.why : 'stuck';
  return `${row.status}${why === null ? '' : ` (${why})`}${until}`;
}

function cost(row: JobRow): string {
  return dollars(Math.round(row.costUsd * 1_000_000));
}

function age(row: JobRow, now: number): string {
  return duration(now - Date.parse(row.startedAt)).replace(/\.\d/, '');
}

function colour(row: JobRow | undefined, paint: Paint): (text: string) => string {
  if (row !== undefined && row.trouble !== null) return paint.red;
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
