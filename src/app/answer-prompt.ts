import type { Answer, AnswerRecord } from '../shapes/prompt.ts';
import type { JobClient } from './client.ts';
import { unknownError } from './cli-error.ts';

/** What became of an answer. `accepted: null`: recorded, and no worker was there to say more. */
export type Answered = { id: string; job: string; accepted: boolean | null; why: string };

/** How long an answer is waited for, in ms. */
const CONFIRM_LIMIT = 2_000;
const LOOK_EVERY = 50;

/** Job and number of a prompt id such as `fix-tests-x7k2:3`; `undefined` for anything else. */
export function parsePromptId(id: string): { job: string; n: number } | undefined {
  const match = /^(.+):([1-9]\d{0,8})$/.exec(id);
  return match ? { job: match[1] ?? '', n: Number(match[2]) } : undefined;
}

/**
 * Answers a prompt and says what became of it. The first answer wins, wherever it comes from. Throws (3) for a prompt
 * that was never asked.
 */
export async function answerPrompt(client: JobClient, answer: Answer & { by: string }): Promise<Answered> {
  const { job } = await knownPrompt(client, answer.id);
  const before = await client.view(job);
  const earlier = before?.answers.find((known) => known.id === answer.id);
  if (earlier !== undefined) return refused(answer.id, job, earlier);
  const told = await client.signal(job, 'answerPermission', answer);
  if (!told) return { id: answer.id, job, accepted: false, why: 'the job has ended' };
  // With nobody there to say what was before, nobody will say what came of it.
  const mine = before === undefined ? undefined : await untilHeard(client, job, answer);
  if (mine === undefined) {
    return { id: answer.id, job, accepted: null, why: 'recorded; it takes effect when a worker is up' };
  }
  if (mine.used) return { id: answer.id, job, accepted: true, why: said(mine) };
  const view = await client.view(job);
  return refused(answer.id, job, view?.answers.find((known) => known.id === answer.id && known.used) ?? mine);
}

/** Throws (3) unless the prompt was asked; also says when the job has ended. */
async function knownPrompt(client: JobClient, id: string): Promise<{ job: string }> {
  const parsed = parsePromptId(id);
  const info = parsed === undefined ? undefined : await client.find(parsed.job);
  if (parsed === undefined || info === undefined || (!info.open && parsed.n > info.asked)) throw noPrompt(id);
  if (parsed.n <= info.asked || info.prompts.some((prompt) => prompt.id === id)) return parsed;
  // The memo may be a moment behind the job itself.
  const view = await client.view(parsed.job);
  if (view?.prompts.some((prompt) => prompt.id === id) || view?.answers.some((known) => known.id === id)) return parsed;
  throw noPrompt(id);
}

async function untilHeard(
  client: JobClient,
  job: string,
  answer: Answer & { by: string },
): Promise<AnswerRecord | undefined> {
  const end = Date.now() + CONFIRM_LIMIT;
  for (let left = CONFIRM_LIMIT; left > 0; left = end - Date.now()) {
    const view = await client.view(job, left);
    const mine = view?.answers.find((known) => known.id === answer.id && known.by === answer.by);
    if (mine !== undefined || view === undefined) return mine;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY));
  }
  return undefined;
}

function refused(id: string, job: string, earlier: AnswerRecord): Answered {
  return { id, job, accepted: false, why: `answered before: ${said(earlier)}` };
}

/** Who answered, when, what. */
function said(answer: AnswerRecord): string {
  return `${answer.behavior} by ${answer.by ?? 'somebody'} at ${new Date(answer.at).toISOString()}`;
}

function noPrompt(id: string): Error {
  return unknownError(`there is no prompt ${id}`, 'nightshift inbox   # the questions that wait for an answer');
}
