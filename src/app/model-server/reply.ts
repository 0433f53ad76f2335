import { createHash } from 'node:crypto';
import type { Conversation } from './conversation.ts';
import type { PlannedStep } from './plan.ts';
import { signThinking } from './signature.ts';
import { fillTemplate, parseTemplate, type TemplateValues } from './template.ts';

/** A content block of a reply; a call carries its input as the JSON text that is streamed. */
export type ReplyBlock =
  | { type: 'text'; text: string }
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'call'; head: Record<string, unknown>; json: string }
  | { type: 'whole'; block: Record<string, unknown> };

/** What the scripted model answers. */
export interface Reply {
  id: string;
  blocks: ReplyBlock[];
  stopReason: string;
  stopSequence: string | null;
}

/**
 * Builds the answer of a step. `seed` identifies the request: the same request gets the same ids, every other request
 * others, also after a restart of the server.
 */
export function buildReply(
  planned: PlannedStep,
  conversation: Conversation,
  seed: string,
): { reply: Reply } | { problem: string } {
  const { step } = planned;
  const filled = fillBlocks(writtenBlocks(planned), {
    prompt: conversation.prompt,
    n: planned.n,
    result: (call, of) => conversation.past.at(of === undefined ? -1 : of - 1)?.results[call],
  });
  if ('problem' in filled) return filled;
  const blocks = filled.blocks.map((block, i) => toReplyBlock(block, `${seed}/${i}`));
  const calls = blocks.some((block) => block.type === 'call' && block.head.type === 'tool_use');
  return {
    reply: {
      id: `msg_${token(seed)}`,
      blocks,
      stopReason:
        step.stop_reason ?? (step.stop_sequence === undefined ? (calls ? 'tool_use' : 'end_turn') : 'stop_sequence'),
      stopSequence: step.stop_sequence ?? null,
    },
  };
}

type WrittenBlock = { type: string; [key: string]: unknown };

function writtenBlocks({ step }: PlannedStep): WrittenBlock[] {
  if (step.blocks) return step.blocks;
  const blocks: WrittenBlock[] = [];
  if (step.thinking) {
    const { text, signature } = step.thinking;
    blocks.push({ type: 'thinking', thinking: text, ...(signature && { signature }) });
  }
  if (step.text !== undefined) blocks.push({ type: 'text', text: step.text });
  for (const call of step.calls ?? []) blocks.push({ type: 'tool_use', ...call });
  return blocks;
}

function toReplyBlock(block: WrittenBlock, seed: string): ReplyBlock {
  if (block.type === 'text' && Object.keys(block).length === 2) return { type: 'text', text: asText(block.text) };
  if (block.type === 'thinking') {
    const thinking = asText(block.thinking);
    const signature = typeof block.signature === 'string' ? block.signature : signThinking(thinking);
    return { type: 'thinking', thinking, signature };
  }
  if (block.type !== 'tool_use' && block.type !== 'server_tool_use') return { type: 'whole', block };
  const { input, input_json: raw, id, ...rest } = block;
  const prefix = block.type === 'tool_use' ? 'toolu' : 'srvtoolu';
  const caller = block.type === 'tool_use' ? { caller: { type: 'direct' } } : {};
  return {
    type: 'call',
    head: { ...caller, ...rest, id: id ?? `${prefix}_${token(seed)}`, input: {} },
    json: typeof raw === 'string' ? raw : JSON.stringify(input ?? {}),
  };
}

function token(seed: string): string {
  return createHash('sha256').update(seed).digest('hex').slice(0, 24);
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Fills the templates in every string; the raw JSON text of an input stays as it is. */
function fillBlocks(blocks: WrittenBlock[], values: TemplateValues): { blocks: WrittenBlock[] } | { problem: string } {
  let problem: string | undefined;
  const fillText = (text: string): string => {
    if (!text.includes('{{')) return text;
    const read = parseTemplate(text);
    const filled = 'problem' in read ? read : fillTemplate(read.template, values);
    if ('text' in filled) return filled.text;
    problem ??= filled.problem;
    return text;
  };
  const walk = (part: unknown): unknown => {
    if (typeof part === 'string') return fillText(part);
    if (Array.isArray(part)) return part.map(walk);
    return typeof part === 'object' && part !== null ? walkObject(part) : part;
  };
  const walkObject = (part: object) =>
    Object.fromEntries(Object.entries(part).map(([key, entry]) => [key, key === 'input_json' ? entry : walk(entry)]));
  const filled = blocks.map((block) => ({ ...walkObject(block), type: block.type }));
  return problem === undefined ? { blocks: filled } : { problem };
}
