/** Names of everything below a job's folder and a home, in one place. Relative; joined by `/`. */
export const jobDir = (job: string): string => `jobs/${job}`;
/** Ledger folder of what the hooks of one event came to; `place` is that of a call, a turn, or empty for the job. */
export const hooksDir = (place: string, what: string): string => `${place === '' ? '' : `${place}/`}hooks/${what}`;
/** Beginning of the mark that the handlers of a job's hooks carry; `dir` is their ledger folder, absent: all of them. */
export const hooksMark = (home: string, job: string, dir = ''): string => `hooks@${home}/${job}/${dir}`;
/** Ledger folder of one message about a question: by question, step of the ladder, and place in that step. */
export const rungDir = (prompt: string, rung: number, n: number): string =>
  `ladder/${prompt.slice(prompt.lastIndexOf(':') + 1)}.${rung}.${n}`;
/** The mark that the command of such a message carries; `dir` is its ledger folder. */
export const rungMark = (home: string, job: string, dir: string): string => `ladder@${home}/${job}/${dir}`;
export const turnDir = (turn: number): string => `turns/${turn}`;
/** Ledger folder of one call. Never keyed by the tool_use id alone: ids repeat over jobs. */
export const callDir = (turn: number, step: number, index: number): string => `turns/${turn}/${step}.${index}`;
/** Spool folder of one model request; `tries` changes only when the workflow itself asks again. */
export const spoolDir = (turn: number, step: number, tries: number): string => `spool/${turn}/${step}.${tries}`;
/** Spool folder of what a small model was asked about one call. */
export const describedSpool = (turn: number, step: number, index: number): string =>
  `spool/${turn}/${step}.described.${index}`;
export const toolResultFile = (turn: number, step: number, index: number, ext: 'txt' | 'json'): string =>
  `tool-results/${turn}.${step}.${index}.${ext}`;
/** Names one asking of the model by its activity: the same on every attempt, and never used again. */
export const askingName = (runId: string, activityId: string): string => `${runId}/${activityId}`;
/** Where the model can read what a background task prints. */
export const taskOutputFile = (task: string): string => `tool-results/${task}.txt`;
/** Folder of what SessionStart hooks write for the commands of the job; one file a hook, by its place among all. */
export const hookEnvDir = 'hook-env';
export const eventsFile = 'events.jsonl';
export const recordFile = 'record.json';

const TURN_ID = /^([^/]+)\/t(\d+)$/;
/** A turn's workflow id; a job's id holds no slash. */
export const turnId = (job: string, turn: number): string => `${job}/t${turn}`;
export const isTurnId = (id: string): boolean => TURN_ID.test(id);
/** Job and number of a turn, from its workflow id. */
export function parseTurnId(id: string): { job: string; turn: number } {
  const match = TURN_ID.exec(id);
  if (!match) throw new Error(`not the workflow id of a turn: ${id}`);
  return { job: match[1]!, turn: Number(match[2]) };
}

/** Id of the background task that a call may become; it says where the call's folder is. */
export const taskId = (turn: number, step: number, index: number): string => `shell-${turn}-${step}-${index}`;
/** Folder of the call that became this task; undefined when this is no id of a task. */
export function taskDir(task: string): string | undefined {
  const match = /^shell-([1-9]\d*)-([1-9]\d*)-(\d+)$/.exec(task);
  return match ? callDir(Number(match[1]), Number(match[2]), Number(match[3])) : undefined;
}
/** A task's workflow id. */
export const taskWorkflowId = (job: string, task: string): string => `${job}/${task}`;
/** Job and task, from the workflow id of a task. */
export function parseTaskWorkflowId(id: string): { job: string; task: string } {
  const match = /^([^/]+)\/(shell-\d+-\d+-\d+)$/.exec(id);
  if (!match) throw new Error(`not the workflow id of a task: ${id}`);
  return { job: match[1]!, task: match[2]! };
}

/** Carried by every process of a call, and by its supervisor. `home` keeps apart the homes of one machine. */
export const callMark = (home: string, job: string, turn: number, step: number, index: number): string =>
  `${job}/${turn}/${step}.${index}@${home}`;
export type MarkedCall = { home: string; job: string; turn: number; step: number; index: number };
/** The call that carries this mark; undefined for what is none of ours. */
export function parseCallMark(mark: string): MarkedCall | undefined {
  const match = /^([^/]+)\/([1-9]\d*)\/([1-9]\d*)\.(\d+)@(.+)$/.exec(mark);
  if (!match) return undefined;
  const [, job, turn, step, index, home] = match;
  return { home: home!, job: job!, turn: Number(turn), step: Number(step), index: Number(index) };
}
/** What the mark of a hook's handler, or of a message about a question, says: its ledger folder, and the call it is about. */
export type MarkedHandler = { home: string; job: string; dir: string; call?: MarkedCall };
/** The handler that carries this mark; undefined for what is none of ours. */
export function parseHandlerMark(mark: string): MarkedHandler | undefined {
  const match = /^(?:hooks|ladder)@([^/]+)\/([^/]+)\/(.*[^.])\.?$/.exec(mark);
  if (!match) return undefined;
  const [, home, job, dir] = match as unknown as [string, string, string, string];
  const [, turn, step, index] = /^turns\/([1-9]\d*)\/([1-9]\d*)\.(\d+)\/hooks\//.exec(dir) ?? [];
  const call = { home, job, turn: Number(turn), step: Number(step), index: Number(index) };
  return { home, job, dir, ...(turn === undefined ? {} : { call }) };
}
/** Id of the activity that is one pass of a call; ids with this beginning are passes of the same call. */
export const passIdStart = (step: number, index: number): string => `${step}.${index}.`;
export const passId = (step: number, index: number, pass: number): string => `${passIdStart(step, index)}${pass}`;
