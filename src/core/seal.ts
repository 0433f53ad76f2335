import type { Dropped, Note, Reason } from '../shapes/call.ts';
import type { Block, TextBlock, ToolResultBlock, ToolUseBlock } from '../shapes/message.ts';
import { cleanText } from './clean.ts';
import { clipBytes } from './preview.ts';

/** Characters that all results of one message may hold together. */
export const MESSAGE_LIMIT = 200_000;
/** Characters that a spilled result still takes: its preview and the lines around it. */
export const SPILLED_CHARS = 2_400;

/**
 * Which results of one message are to be kept in files so that all of them together fit: the largest first, of equal
 * ones the earlier call. `fixed` ones (of tools that bound themselves, or spilled already) count but stay as they are.
 * The answer is in call order; when it is not enough, no choice would have been.
 */
export function seal(
  results: readonly { index: number; chars: number; fixed: boolean }[],
  limits: { message: number } = { message: MESSAGE_LIMIT },
): { spill: number[] } {
  const victims = results
    .filter((result) => !result.fixed && result.chars > SPILLED_CHARS)
    .sort((a, b) => b.chars - a.chars || a.index - b.index);
  const spill: number[] = [];
  let total = results.reduce((sum, { chars }) => sum + chars, 0);
  for (const { index, chars } of victims) {
    if (total <= limits.message) break;
    spill.push(index);
    total -= chars - SPILLED_CHARS;
  }
  return { spill: spill.sort((a, b) => a - b) };
}

/** What goes into the user message that ends a step or starts a turn. */
export type SealParts = {
  /** In call order. */
  results: readonly ToolResultBlock[];
  /** What stands ahead of the rest: instructions of a new conversation, a word about a cut reply. */
  lead?: readonly Block[];
  /** What hooks had to say, in call order. */
  contexts?: readonly NoteText[];
  /** Reasons of hooks that asked to end the turn. */
  stops?: readonly string[];
  notes?: readonly NoteText[];
};
/** A note with its text. */
export type NoteText = { kind: Note['kind']; text: string };

/**
 * The content of that message: all results first, as the API wants it, then what hooks said, their stop, then notes.
 * What people wrote stands as it is, what the runner adds on its own in `<system-reminder>`. Empty texts are left out.
 */
export function sealMessage({ results, lead = [], contexts = [], stops = [], notes = [] }: SealParts): Block[] {
  const reasons = stops.map((stop) => stop.trim()).filter((stop) => stop !== '');
  const stop = `hook_stopped_continuation: ${reasons.join('\n') || 'a hook ended the turn without a reason'}`;
  return [
    ...results,
    ...lead,
    ...contexts.flatMap(({ text }) => reminder(text)),
    ...(stops.length === 0 ? [] : textBlock(stop)),
    ...notes.flatMap(({ kind, text }) => (isAside(kind) ? reminder(text) : textBlock(text))),
  ];
}

/** How a call is named to the model in a sentence: tool and what it was about. */
export function callLabel(name: string, input: Record<string, unknown>): string {
  const about = [input['description'], input['command']].find(saysSomething);
  if (about === undefined) return name;
  const clean = cleanText(about).trim();
  const clipped = clipBytes(clean, 200);
  return `${name}(${clipped.length < clean.length ? `${clipped}…` : clipped})`;
}

/**
 * The text of a call that has no result of its own; `calls` are all calls of its step. It never says that a person
 * stopped what nobody stopped.
 */
export function droppedText(
  { reason, by, text }: Dropped,
  call: Pick<ToolUseBlock, 'name'>,
  calls: readonly Pick<ToolUseBlock, 'id' | 'name' | 'input'>[],
): string {
  const seen = text?.trim();
  if (reason === 'sibling_error') {
    const failed = calls.find(({ id }) => id === by);
    const label = failed ? callLabel(failed.name, failed.input) : 'another call of this step';
    return `Cancelled: a parallel call failed: ${label}${seen ? `\n${seen}` : ''}`;
  }
  const unsure = `This ${call.name} call has no result: if it had begun, check what it did before you do it again.`;
  return `${WHY[reason]} ${seen || unsure}`;
}

const WHY: Record<Exclude<Reason, 'sibling_error'>, string> = {
  user: 'Cancelled: a person cancelled the job.',
  interrupt: 'Cancelled: a person interrupted this turn.',
  denied: 'Cancelled: a person denied another call of this step and ended the turn.',
  unanswered: 'Not run: nobody answered a question of this step in time, and the job was ended.',
  budget: 'Not finished: the budget of the job was used up. Nobody stopped this call by hand.',
  deadline: 'Not finished: the deadline of the job had passed. Nobody stopped this call by hand.',
  shutdown: 'Not finished: the program that runs the job was shut down. Nobody stopped this call by hand.',
  broken: 'Failed: the program that runs the job could not finish this call. Nobody stopped it by hand.',
};

const saysSomething = (text: unknown): text is string => typeof text === 'string' && text.trim() !== '';
const isAside = (kind: Note['kind']): boolean => kind === 'task' || kind === 'reminder' || kind === 'hook';

function textBlock(text: string): TextBlock[] {
  const clean = cleanText(text);
  return clean.trim() === '' ? [] : [{ type: 'text', text: clean }];
}

function reminder(text: string): TextBlock[] {
  return textBlock(text).map((block) => ({
    type: 'text',
    text: `<system-reminder>\n${block.text.trim()}\n</system-reminder>`,
  }));
}
