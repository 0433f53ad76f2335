import type { Block, ToolUseBlock } from '../shapes/message.ts';

/** Longest id of a call that every API accepts. */
const MAX_ID = 64;
/** Longest name of a tool that the API accepts. */
const MAX_NAME = 128;

/**
 * The same content with call ids that the API accepts and that `used` does not hold yet; they are added to `used`. A
 * model or a gateway may repeat an id, and the call that comes second must not be taken for the first. Other blocks and
 * good ids stay as they are; equal arguments give equal ids.
 */
export function uniqueCalls(content: readonly Block[], used: Set<string>): Block[] {
  return content.map((block) => (block.type === 'tool_use' ? renamed(block, used) : block));
}

/** The ids of all calls in these messages: what `used` starts with. */
export function callIds(messages: Iterable<{ content: readonly Block[] }>): Set<string> {
  const ids = new Set<string>();
  for (const { content } of messages) for (const block of content) if (block.type === 'tool_use') ids.add(block.id);
  return ids;
}

function renamed(block: ToolUseBlock, used: Set<string>): ToolUseBlock {
  const plain = block.id.replace(/[^a-zA-Z0-9_-]/g, '_') || 'call';
  let id = plain.slice(0, MAX_ID);
  for (let n = 2; used.has(id); n++) {
    const suffix = `_${n}`;
    id = plain.slice(0, MAX_ID - suffix.length) + suffix;
  }
  used.add(id);
  // A name that no tool can have is refused by the API when it is sent back.
  const name = block.name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, MAX_NAME) || 'unnamed';
  return id === block.id && name === block.name ? block : { ...block, id, name };
}
