import { z } from 'zod';
import { defineTool } from './define.ts';
import { briefText } from './text.ts';

const Option = z.object({
  label: z.string().min(1).max(200).describe('The choice in a few words.'),
  description: z.string().default('').describe('What this choice means and what follows from it.'),
});
const Question = z.object({
  question: z.string().min(1).describe('The whole question, ending with a question mark.'),
  header: z.string().min(1).max(80).describe('A label of one or two words, such as "Database".'),
  options: z.array(Option).min(2).max(4).describe('2 to 4 choices. An answer in other words is always possible.'),
  multiSelect: z.boolean().default(false).describe('Whether several choices may be taken together.'),
});
type Question = z.infer<typeof Question>;

/** By question: the label of an option, several of them, or an answer in other words. */
const Answers = z.record(z.string(), z.union([z.string(), z.array(z.string())]));
export type Answers = z.infer<typeof Answers>;

export const AskUserQuestionInput = z.strictObject({
  questions: z.array(Question).min(1).max(4).describe('1 to 4 questions, asked together.'),
  answers: Answers.optional().describe('The answers of the person. Leave it out: it is filled in for you.'),
});
export type AskUserQuestionInput = z.infer<typeof AskUserQuestionInput>;

const description = `Asks a person questions with ready answers to choose from, and waits for as long as it takes.
- Use it only when the task leaves open what only a person can decide and a wrong guess would do harm or waste the work. Otherwise decide yourself and say what you assumed.
- Put everything that you need to know into one call, each question with 2 to 4 choices that exclude each other (set multiSelect where several can hold). The one that you would take stands first.
- The person may answer in other words, or say that you shall decide.`;

/** Questions of the model to a person: its permission is the question, its result the answer. */
export const askUserQuestion = defineTool<AskUserQuestionInput>({
  name: 'AskUserQuestion',
  description,
  input: AskUserQuestionInput,
  asks: 'answer',
  interrupt: 'cancel',
  runs: 'anywhere',
  isConcurrencySafe: () => true,
  brief: ({ questions }) => briefText(questions.map(({ question }) => question).join(' / ')),
  access: () => ({ kind: 'none' }),
  offered: (mode) => mode !== 'dontAsk',
  validate: ({ questions, answers }) => {
    const texts = questions.map(({ question }) => question.trim());
    const twice = texts.find((text, at) => texts.indexOf(text) !== at);
    if (twice !== undefined) return `The question "${twice}" stands there twice: ask it once.`;
    return answers && answersProblem(questions, answers);
  },
  run: async ({ questions, answers = {} }, io) => ({ content: answerText(questions, answers, io.said) }),
});

/** Why these answers do not fit the questions; `undefined` when they do. */
export function answersProblem(questions: readonly Question[], answers: Answers): string | undefined {
  const names = questions.map(({ question }) => `"${question}"`).join(', ');
  for (const [name, answer] of Object.entries(answers)) {
    const question = questions.find((one, at) => goesBy(one, at, name));
    if (!question) return `"${name}" is none of the questions. They are: ${names}.`;
    const chosen = typeof answer === 'string' ? [answer] : answer;
    if (chosen.every((one) => one.trim() === '')) return `The answer to "${question.question}" is empty.`;
    if (chosen.length > 1 && !question.multiSelect) return `"${question.question}" takes one answer.`;
  }
  return undefined;
}

/** A question goes by its text, its header or its number, from 1. */
function goesBy({ question, header }: Question, at: number, name: string): boolean {
  const plain = (text: string): string => text.trim().toLowerCase();
  return [question, header, String(at + 1)].some((one) => plain(one) === plain(name));
}

function answerText(questions: readonly Question[], answers: Answers, said: string | undefined): string {
  const given = Object.entries(answers);
  const lines = questions.map((question, at) => {
    const answer = given.find(([name]) => goesBy(question, at, name))?.[1];
    const text = typeof answer === 'string' ? answer : answer?.join(', ');
    return `- ${question.question}\n  ${text ?? (said === undefined ? 'no answer: decide yourself' : 'no choice, see below')}`;
  });
  const words = said === undefined ? '' : `\n\nThey also said: ${said}`;
  if (given.length === 0 && said === undefined)
    return 'A person saw the questions and chose nothing: decide yourself by what you know, and say in your answer what you assumed.';
  if (given.length === 0) return `A person answered in their own words: ${said}`;
  return `A person answered:\n${lines.join('\n')}${words}`;
}
