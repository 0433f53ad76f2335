/** Names of everything below a job's folder and a home, in one place. Relative; joined by `/`. */
export const jobDir = (job: string): string => `jobs/${job}`;
export const turnDir = (turn: number): string => `turns/${turn}`;
/** Ledger folder of one call. Never keyed by the tool_use id alone: ids repeat over jobs. */
export const callDir = (turn: number, step: number, index: number): string => `turns/${turn}/${step}.${index}`;
/** Spool folder of one model request; `tries` changes only when the workflow itself asks again. */
export const spoolDir = (turn: number, step: number, tries: number): string => `spool/${turn}/${step}.${tries}`;
export const toolResultFile = (turn: number, step: number, index: number, ext: 'txt' | 'json'): string =>
  `tool-results/${turn}.${step}.${index}.${ext}`;
export const eventsFile = 'events.jsonl';
export const recordFile = 'record.json';

/** A turn's workflow id; a job's id holds no slash. */
export const turnId = (job: string, turn: number): string => `${job}/t${turn}`;
/** Job and number of a turn, from its workflow id. */
export function parseTurnId(id: string): { job: string; turn: number } {
  const match = /^([^/]+)\/t(\d+)$/.exec(id);
  if (!match) throw new Error(`not the workflow id of a turn: ${id}`);
  return { job: match[1]!, turn: Number(match[2]) };
}
