import type { Block, Message, ToolResultBlock, ToolUseBlock } from '../shapes/message.ts';
import { uniqueCalls } from './rename-calls.ts';

const NO_RESULT =
  'No result of this call was recorded: it may have run, in part or in whole. Check what it did before you do it again.';
const NO_START = 'The start of this conversation is missing.';

/**
 * The messages of a request, from the nodes of a transcript in order: always a request that the API accepts. Neighbours
 * of one role are joined; a call without a result gets one that says so; results come first, in call order; a result
 * without its call, an empty text and thinking at the end of a reply are left out. Blocks that stay are not touched.
 */
export function fold(nodes: readonly { message: Message }[]): { messages: Message[] } {
  const messages: Message[] = [];
  const used = new Set<string>();
  let open: OpenCall[] = [];

  for (const { role, content } of joined(nodes)) {
    if (role === 'assistant') {
      const kept = uniqueCalls(withoutTrailingThinking(content), used);
      if (kept.length === 0) continue;
      if (messages.length === 0) messages.push({ role: 'user', content: [{ type: 'text', text: NO_START }] });
      settle(open, messages);
      open = callsOf(content, kept);
      append(messages, { role, content: kept });
      continue;
    }
    const answered = answer(open, content);
    open = [];
    if (answered.length > 0) append(messages, { role, content: answered });
  }
  settle(open, messages);
  return { messages };
}

/** A call that waits for its result: `id` as the request has it, `was` as the reply and its result have it. */
type OpenCall = { id: string; was: string };

function callsOf(before: readonly Block[], after: readonly Block[]): OpenCall[] {
  const calls = (blocks: readonly Block[]): ToolUseBlock[] => blocks.filter((b) => b.type === 'tool_use');
  const old = calls(before);
  return calls(after).map(({ id }, n) => ({ id, was: old[n]?.id ?? id }));
}

/** Content of the user message that follows calls: exactly one result for each, then the rest. */
function answer(open: readonly OpenCall[], content: readonly Block[]): Block[] {
  const given = content.filter((block) => block.type === 'tool_result');
  const results = open.map(({ id, was }): ToolResultBlock => {
    const at = given.findIndex((block) => block.tool_use_id === was);
    const [result] = at < 0 ? [] : given.splice(at, 1);
    if (result === undefined) return { type: 'tool_result', tool_use_id: id, content: NO_RESULT, is_error: true };
    return result.tool_use_id === id ? result : { ...result, tool_use_id: id };
  });
  return [...results, ...content.filter((block) => block.type !== 'tool_result')];
}

function settle(open: readonly OpenCall[], messages: Message[]): void {
  if (open.length > 0) append(messages, { role: 'user', content: answer(open, []) });
}

/** Content of neighbours of one role in one list, without blocks that the API refuses in that role. */
function joined(nodes: readonly { message: Message }[]): Message[] {
  const messages: Message[] = [];
  for (const { message } of nodes) {
    const content = message.content.filter((block) => isAllowed(block, message.role));
    if (content.length > 0) append(messages, { role: message.role, content });
  }
  return messages;
}

function append(messages: Message[], message: Message): void {
  const last = messages.at(-1);
  if (last?.role === message.role) last.content.push(...message.content);
  else messages.push({ role: message.role, content: [...message.content] });
}

function isAllowed(block: Block, role: Message['role']): boolean {
  switch (block.type) {
    case 'text':
      return block.text.trim() !== '';
    case 'tool_result':
    case 'image':
      return role === 'user';
    case 'tool_use':
    case 'thinking':
    case 'redacted_thinking':
      return role === 'assistant';
    default:
      return true;
  }
}

/** A reply may not end in thinking; one that does was cut before anything came of it. */
function withoutTrailingThinking(content: readonly Block[]): readonly Block[] {
  const end = content.findLastIndex((block) => block.type !== 'thinking' && block.type !== 'redacted_thinking');
  return content.slice(0, end + 1);
}
