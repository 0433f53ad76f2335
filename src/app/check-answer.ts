import type { Tool } from '../core/tool.ts';
import type { PromptBody } from '../shapes/prompt.ts';
import type { JobClient } from './client.ts';
import { parsePromptId } from './answer-prompt.ts';
import { readPromptBody } from './job-store.ts';

/** What a person is asked, as far as it can be read. */
export async function questionOf(jobs: JobClient, id: string): Promise<PromptBody | undefined> {
  const job = parsePromptId(id)?.job;
  const info = job === undefined ? undefined : await jobs.find(job);
  const body = info?.prompts.find((prompt) => prompt.id === id)?.body;
  return job === undefined || body === undefined
    ? undefined
    : readPromptBody(jobs.store, job, body).catch(() => undefined);
}

/**
 * Why a yes does not fit its question, for whoever gives it: then nothing is sent, and the question stays open.
 * `undefined`: it fits, or that is for the job to say.
 */
export async function yesProblem(
  question: PromptBody,
  given: { input?: Record<string, unknown> | undefined; message?: string | undefined },
): Promise<string | undefined> {
  const [{ builtinTools }, { AskUserQuestionInput, answersProblem }] = await Promise.all([
    import('../tools/builtin.ts'),
    import('../tools/ask-user-question.ts'),
  ]);
  const tool: Tool | undefined = builtinTools.find(({ name }) => name === question.tool);
  if (!tool) return undefined;
  const { input, message } = given;
  if (tool.name === 'AskUserQuestion' && input === undefined && (message ?? '').trim() === '')
    return `it wants an answer: --input '{"answers":{"…":"…"}}', or --message "…" in your own words`;
  if (input === undefined) return undefined;
  const whole = tool.asks ? { ...asRecord(question.input), ...input } : input;
  const parsed = tool.input.safeParse(whole);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return `${tool.name} does not take this input: ${issue?.path.map(String).join('.') || 'input'}: ${issue?.message ?? 'it is wrong'}`;
  }
  if (tool.name !== 'AskUserQuestion') return undefined;
  const { questions, answers = {} } = AskUserQuestionInput.parse(whole);
  return answersProblem(questions, answers);
}

/** Whether an input that comes with a yes changes what runs; to a question of the model it is only the answer. */
export async function changesCall({ tool }: Pick<PromptBody, 'tool'>): Promise<boolean> {
  const { builtinTools } = await import('../tools/builtin.ts');
  return builtinTools.find(({ name }) => name === tool)?.asks === undefined;
}

const asRecord = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? { ...value } : {};
