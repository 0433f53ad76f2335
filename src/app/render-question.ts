import { AskUserQuestionInput } from '../tools/ask-user-question.ts';
import { cut, oneLine, plain } from './text.ts';

/** Lines of one field of an input that are shown outside of JSON. */
const MOST_LINES = 20;
/** The same of a plan, which is there to be read. */
const PLAN_LINES = 200;
/** How the options of a question are named. */
const LETTERS = 'abcd';

/** What a person has to know of a call to decide about it: questions with their options, a plan, or the whole input. */
export function askedLines(tool: string, input: unknown): string[] {
  if (tool === 'AskUserQuestion') {
    const asked = AskUserQuestionInput.safeParse(input);
    if (asked.success) return optionLines(asked.data);
  }
  if (tool === 'ExitPlanMode' && isRecord(input) && typeof input['plan'] === 'string')
    return ['It wants to carry out this plan:', '', ...clipped(plain(input['plan']).split('\n'), PLAN_LINES)];
  return inputLines(input);
}

/** The commands that say yes. */
export function yesCommands(id: string, tool: string, input: unknown): string[] {
  const asked = tool === 'AskUserQuestion' ? AskUserQuestionInput.safeParse(input) : undefined;
  if (!asked?.success) return [`nightshift allow ${id}`];
  const answers = Object.fromEntries(
    asked.data.questions.map(({ options, multiSelect }, at) => {
      const label = options[0]?.label ?? '…';
      return [String(at + 1), multiSelect ? [label] : label];
    }),
  );
  return [
    `nightshift allow ${id} --input ${quoted(JSON.stringify({ answers }))}`,
    `nightshift allow ${id} --message "…"   # in your own words`,
  ];
}

function optionLines({ questions, answers }: AskUserQuestionInput): string[] {
  const lines = questions.flatMap(({ question, options, multiSelect }, at) => [
    `${at + 1}. ${oneLine(question)}${multiSelect ? ' (one or more)' : ''}`,
    ...options.map(({ label, description }, n) => {
      const more = description === '' ? '' : ` – ${oneLine(description)}`;
      return `   ${LETTERS[n]}) ${oneLine(label)}${more}`;
    }),
  ]);
  return answers === undefined ? lines : [...lines, `It proposes: ${oneLine(JSON.stringify(answers))}`];
}

/** Whoever allows a call must see what it does: every field is shown, and a cut is said. */
export function inputLines(input: unknown): string[] {
  if (!isRecord(input)) return [cut(JSON.stringify(input) ?? '', 500)];
  return Object.entries(input).flatMap(([name, value]) => {
    const lines = plain(typeof value === 'string' ? value : JSON.stringify(value)).split('\n');
    if (lines.length === 1) return [`${oneLine(name)}: ${lines[0]}`];
    return [`${oneLine(name)}:`, ...clipped(lines, MOST_LINES).map((line) => `  ${line}`)];
  });
}

function clipped(lines: string[], most: number): string[] {
  const more = lines.length - most;
  return more > 0 ? [...lines.slice(0, most), `… ${more} more lines: nightshift inbox --json`] : lines;
}

/** As one word of a shell, whatever it holds. */
const quoted = (text: string): string => `'${plain(text).replaceAll("'", String.raw`'\''`)}'`;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
