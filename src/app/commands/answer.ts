import { hostname, userInfo } from 'node:os';
import type { Answer } from '../../shapes/prompt.ts';
import { type Answered, answerPrompt, parsePromptId, type Saved, savedAs } from '../answer-prompt.ts';
import { refuseBelowJob } from '../below-job.ts';
import { changesCall, questionOf, yesProblem } from '../check-answer.ts';
import { CliError, Exit, explainError, unknownError, usageError } from '../cli-error.ts';
import type { JobClient } from '../client.ts';
import { type Io, print, printJson, tell } from '../io.ts';
import { openJobs } from '../open-jobs.ts';
import { oneLine } from '../text.ts';
import { readInbox } from './inbox.ts';

export type AnswerOptions = {
  all?: boolean;
  always?: boolean;
  save?: boolean;
  input?: string;
  message?: string;
  interrupt?: boolean;
  json?: boolean;
};

/**
 * What is told of one answer. `edited`: it changes what runs; `rules`: what it allows for the rest of the job; `saved`:
 * what became of keeping them; `error`: there is no such question.
 */
type Told = Answered & { edited?: boolean; rules?: string[]; saved?: Saved; error?: CliError };

/** `allow ID…`: the calls run. */
export function allow(ids: string[], options: AnswerOptions, io: Io): Promise<number> {
  return answerAll('allow', ids, options, io);
}

/** `deny ID…`: the model is told that the calls may not run. */
export function deny(ids: string[], options: AnswerOptions, io: Io): Promise<number> {
  return answerAll('deny', ids, options, io);
}

async function answerAll(verb: 'allow' | 'deny', ids: string[], options: AnswerOptions, io: Io): Promise<number> {
  refuseBelowJob(verb, io.env);
  const input = checkArguments(verb, ids, options);
  const jobs = await openJobs(io, { tells: true });
  if (jobs === undefined) {
    if (options.all === true) return report(verb, [], options, io);
    throw unknownError(`there is no question ${ids[0]}`, 'No job was ever started in this home.');
  }
  try {
    const chosen = options.all === true ? (await readInbox(jobs)).map((item) => item.id) : [...new Set(ids)];
    const answered = await Promise.all(chosen.map((id) => answerOne(jobs, verb, id, options, input)));
    for (const { error } of answered) if (error !== undefined) tell(io, explainError(error, false).text);
    return report(verb, answered, options, io);
  } finally {
    await jobs.close();
  }
}

/** An unknown question among several does not keep the others from being answered. */
async function answerOne(
  jobs: JobClient,
  verb: 'allow' | 'deny',
  id: string,
  options: AnswerOptions,
  input: Record<string, unknown> | undefined,
): Promise<Told> {
  try {
    const question = verb === 'allow' ? await questionOf(jobs, id) : undefined;
    const problem = question && (await yesProblem(question, { input, message: options.message }));
    if (problem !== undefined) return { id, job: parsePromptId(id)?.job ?? '', accepted: false, why: problem };
    const answer = await toAnswer(jobs, verb, id, options, input);
    const edited = input !== undefined && (question === undefined || (await changesCall(question)));
    const told = { ...(await answerPrompt(jobs, answer)), ...(edited ? { edited } : {}) };
    if (told.accepted === false || answer.behavior !== 'allow-always') return told;
    return {
      ...told,
      rules: question?.suggestions ?? [],
      ...(answer.save ? { saved: await savedAs(jobs, told) } : {}),
    };
  } catch (error) {
    if (!(error instanceof CliError) || error.exitCode !== Exit.unknown) throw error;
    return { id, job: parsePromptId(id)?.job ?? '', accepted: false, why: error.message, error };
  }
}

function checkArguments(verb: string, ids: string[], options: AnswerOptions): Record<string, unknown> | undefined {
  if (ids.length === 0 && options.all !== true) {
    throw usageError(
      'which question?',
      `nightshift ${verb} ID…   # ids are in: nightshift inbox\nnightshift ${verb} --all`,
    );
  }
  if (ids.length > 0 && options.all === true) throw usageError('--all answers every question; leave the ids out');
  if (options.input === undefined) return undefined;
  if (ids.length !== 1) throw usageError('--input changes the input of one call: give exactly one id with it');
  return parseInput(options.input);
}

function parseInput(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw usageError(`--input is not JSON: ${error instanceof Error ? error.message : String(error)}`, example);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw usageError('--input is not a JSON object with the fields of the call', example);
}

const example = `For example: --input '{"command":"npm test"}'`;

async function toAnswer(
  jobs: JobClient,
  verb: 'allow' | 'deny',
  id: string,
  options: AnswerOptions,
  input: Record<string, unknown> | undefined,
): Promise<Answer & { by: string }> {
  const job = parsePromptId(id)?.job;
  const known = input !== undefined && job !== undefined && jobs.store.has(job);
  return {
    id,
    behavior: verb === 'allow' && (options.always === true || options.save === true) ? 'allow-always' : verb,
    ...(options.save === true ? { save: true } : {}),
    by: answerer(),
    ...(options.message === undefined ? {} : { message: options.message }),
    ...(known ? { input: await jobs.store.blobs(job).put(JSON.stringify(input)) } : {}),
    ...(options.interrupt === true ? { interrupt: true } : {}),
  };
}

/** Who answers; the process is named too, so that two answers of one person are told apart. */
function answerer(): string {
  return `${userName()}@${hostname()} (process ${process.pid})`;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? '?'}`;
  }
}

function report(verb: string, answered: Told[], options: AnswerOptions, io: Io): number {
  if (options.json === true)
    printJson(
      io,
      answered.map(({ error: _shown, ...told }) => told),
    );
  else if (answered.length === 0) print(io, 'No question waits for an answer.');
  else for (const one of answered) if (one.error === undefined) print(io, line(verb, one));
  if (answered.length === 0 || answered.some((one) => one.accepted !== false)) return Exit.ok;
  return answered.some((one) => one.error !== undefined) ? Exit.unknown : Exit.failed;
}

function line(verb: string, one: Told): string {
  if (one.accepted === false) return `${one.id}: not accepted, ${one.why}`;
  const yes = one.edited !== true ? 'allowed' : `allowed with your input; ${LOOKED_AT_AGAIN}`;
  const done = one.accepted === null ? one.why : verb === 'allow' ? yes : 'denied';
  return [`${one.id}: ${done}`, ...ruleText(one)].join('; ');
}

const LOOKED_AT_AGAIN = 'deny rules, ask rules and safety checks are looked at again before it runs, and may refuse it';

function ruleText({ rules, saved }: Told): string[] {
  if (rules === undefined) return [];
  if (rules.length === 0) return ['there is no rule to keep, so the next one asks again'];
  const held = `for the rest of the job: ${rules.map(oneLine).join(', ')}`;
  if (saved === undefined) return [held];
  const { file, kept, why } = saved;
  if (kept === null) return [held, why];
  return [held, kept ? `kept in ${file}${why === '' ? '' : ` (${why})`}` : `not kept in ${file}: ${why}`];
}
