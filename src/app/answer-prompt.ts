import type { Answer, AnswerRecord } from '../shapes/prompt.ts';
import type { JobClient } from './client.ts';
import { unknownError } from './cli-error.ts';
import { many } from './text.ts';

/** What became of an answer. `accepted: null`: recorded, and nobody has said more in time. */
export type Answered = { id: string; job: string; accepted: boolean | null; why: string };

/** How long the job is given to say what came of an answer; without a worker all of it takes less than 2 s. In ms. */
const WORKER_LIMIT = 10_000;
const NOBODY_LIMIT = 1_500;
const LOOK_EVERY = 50;
/** The memo of a job shows so many prompts at most. */
const SHOWN = 20;

/** Job and number of a prompt id such as `fix-tests-x7k2:3`; `undefined` for anything else. */
export function parsePromptId(id: string): { job: string; n: number } | undefined {
  const match = /^(.+):([1-9]\d{0,8})$/.exec(id);
  return match ? { job: match[1] ?? '', n: Number(match[2]) } : undefined;
}

/**
 * Answers a prompt and says what became of it. The first answer wins, wherever it comes from; `by` tells this answer from
 * all others. Throws (3) for a prompt that was never asked.
 */
export async function answerPrompt(client: JobClient, answer: Answer & { by: string }): Promise<Answered> {
  const { id, job, isOpen } = await knownPrompt(client, answer.id);
  if (!isOpen) return refused(id, job, await earlierAnswer(client, job, id));
  if (!(await client.signal(job, 'answerPermission', answer))) return refused(id, job, undefined);
  const heard = await untilHeard(client, job, answer);
  if (heard === undefined) return { id, job, accepted: null, why: await whyUnheard(client, job) };
  const { mine, first } = heard;
  return mine.used ? { id, job, accepted: true, why: said(mine) } : refused(id, job, first);
}

/** Throws (3) unless the prompt was asked. `isOpen`: as far as the job's memo tells, nobody has answered yet. */
async function knownPrompt(client: JobClient, id: string): Promise<{ id: string; job: string; isOpen: boolean }> {
  const parsed = parsePromptId(id);
  const info = parsed === undefined ? undefined : await client.find(parsed.job);
  if (parsed === undefined || info === undefined) throw noPrompt(id);
  const { job, n } = parsed;
  const isOpen = info.open && (info.prompts.some((prompt) => prompt.id === id) || info.prompts.length >= SHOWN);
  if (n <= info.asked || isOpen) return { id, job, isOpen };
  // The memo may be a moment behind the job itself.
  const view = info.open ? await client.view(job) : undefined;
  if (view?.prompts.some((prompt) => prompt.id === id)) return { id, job, isOpen: true };
  throw info.open ? notYet(id, job, info.asked) : noPrompt(id);
}

/** The answer that was there first, or why none is wanted any more: from the events, which need no worker, else from the job. */
async function earlierAnswer(client: JobClient, job: string, id: string): Promise<AnswerRecord | string | undefined> {
  for (const event of await client.store.events(job)) {
    if (event.kind === 'prompt.withdrawn' && event.id === id) return event.text;
    if (event.kind !== 'prompt.answered' || event.id !== id || !event.used) continue;
    const { at, by, used } = event;
    return { id, behavior: event.behavior as AnswerRecord['behavior'], used, at, ...(by === undefined ? {} : { by }) };
  }
  return firstOf((await client.view(job))?.answers ?? [], id);
}

async function whyUnheard(client: JobClient, job: string): Promise<string> {
  return (await client.hasWorker())
    ? `recorded; the job did not say in time what came of it: nightshift show ${job}`
    : 'recorded; it takes effect when a worker is up';
}

const confirmLimit = async (client: JobClient): Promise<number> =>
  (await client.hasWorker()) ? WORKER_LIMIT : NOBODY_LIMIT;

/** What became of rules that were to be kept. `kept: null`: nobody has said so far. */
export type Saved = { kept: boolean | null; file: string; why: string };

/** Whether the rules of an answer are kept in the settings of its folder, as soon as the job has said so. */
export async function savedAs(client: JobClient, { id, job }: Answered): Promise<Saved> {
  const end = Date.now() + (await confirmLimit(client));
  for (;;) {
    const events = await client.store.events(job);
    const said = events.findLast((event) => event.kind === 'rules.saved' && event.id === id);
    if (said?.kind === 'rules.saved') {
      const { file, rules, text = '' } = said;
      return { kept: rules.length > 0, file, why: text };
    }
    if (Date.now() > end) {
      const when = (await client.hasWorker()) ? 'as soon as the job gets to it' : 'when a worker is up';
      return { kept: null, file: '', why: `to be kept in the settings of the folder ${when}` };
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY));
  }
}

async function untilHeard(
  client: JobClient,
  job: string,
  { id, by }: Answer & { by: string },
): Promise<{ mine: AnswerRecord; first: AnswerRecord | undefined } | undefined> {
  const limit = await confirmLimit(client);
  const end = Date.now() + limit;
  for (let left = limit; left > 0; left = end - Date.now()) {
    const view = await client.view(job, left);
    const mine = view?.answers.find((known) => known.id === id && known.by === by);
    if (view !== undefined && mine !== undefined) return { mine, first: firstOf(view.answers, id) };
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY));
  }
  return undefined;
}

function firstOf(answers: readonly AnswerRecord[], id: string): AnswerRecord | undefined {
  return answers.find((known) => known.id === id && known.used);
}

function refused(id: string, job: string, earlier: AnswerRecord | string | undefined): Answered {
  return { id, job, accepted: false, why: whyRefused(earlier) };
}

function whyRefused(earlier: AnswerRecord | string | undefined): string {
  if (earlier === undefined) return 'nobody waits for it any more: its turn has ended';
  return typeof earlier === 'string' ? `nobody waits for it any more: ${earlier}` : `answered before: ${said(earlier)}`;
}

/** Who answered, when, what. */
function said(answer: AnswerRecord): string {
  return `${answer.behavior} by ${answer.by ?? 'somebody'} at ${new Date(answer.at).toISOString()}`;
}

function noPrompt(id: string): Error {
  return unknownError(`there is no question ${id}`, WAITING);
}

/** Nobody says yes to what nobody has seen: a mistyped number would allow whatever comes next. */
function notYet(id: string, job: string, asked: number): Error {
  const sofar = asked === 0 ? 'no question' : many(asked, 'question');
  const ahead = `nightshift run --help   # --allow RULE: what a job may do without asking`;
  return unknownError(`${id} is not asked yet: ${job} has asked ${sofar} so far`, `${WAITING}\n${ahead}`);
}

const WAITING = 'nightshift inbox   # the questions that wait for an answer';
