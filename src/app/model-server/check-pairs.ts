import type { Block, Message } from './request.ts';

/** Neighbouring messages of one role, which the API takes as one turn. */
interface TurnBlocks {
  role: Message['role'];
  /** Of its first message. */
  index: number;
  blocks: Array<{ block: Block; path: string }>;
}

/** Each tool_use has exactly one tool_result at the start of the very next user turn, and each tool_result a tool_use. */
export function checkPairs(messages: readonly Message[]): string | undefined {
  const turns = asTurns(messages);
  const seen = new Set<string>();
  for (const [t, turn] of turns.entries()) {
    for (const { block, path } of turn.blocks) {
      if (block.type !== 'tool_use') continue;
      if (seen.has(block.id)) return `${path}: \`tool_use\` ids must be unique`;
      seen.add(block.id);
    }
    const fault = faultOfResults(turn, turns[t - 1]) ?? faultOfUses(turn, turns[t + 1]);
    if (fault) return fault;
  }
  return undefined;
}

function faultOfResults(turn: TurnBlocks, before: TurnBlocks | undefined): string | undefined {
  const offered = new Set(before ? usesOf(before) : []);
  const answered = new Set<string>();
  for (const { block, path } of turn.blocks) {
    if (block.type !== 'tool_result') continue;
    const id = block.tool_use_id;
    if (!offered.has(id)) {
      return `${path}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
    }
    if (answered.has(id)) {
      return `${path}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`;
    }
    answered.add(id);
  }
  return undefined;
}

function faultOfUses(turn: TurnBlocks, next: TurnBlocks | undefined): string | undefined {
  const leading = new Set<string>();
  for (const { block } of next?.blocks ?? []) {
    if (block.type !== 'tool_result') break;
    leading.add(block.tool_use_id);
  }
  const open = usesOf(turn).filter((id) => !leading.has(id));
  if (open.length === 0) return undefined;
  return `messages.${next?.index ?? turn.index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message, before any other content.`;
}

function usesOf(turn: TurnBlocks): string[] {
  return turn.blocks.flatMap(({ block }) => (block.type === 'tool_use' ? [block.id] : []));
}

function asTurns(messages: readonly Message[]): TurnBlocks[] {
  const turns: TurnBlocks[] = [];
  for (const [index, message] of messages.entries()) {
    const blocks = message.content.map((block, k) => ({ block, path: `messages.${index}.content.${k}` }));
    const last = turns.at(-1);
    if (last?.role === message.role) last.blocks.push(...blocks);
    else turns.push({ role: message.role, index, blocks });
  }
  return turns;
}
