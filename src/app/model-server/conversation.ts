import { createHash } from 'node:crypto';
import { isInstructions } from '../../host/memory.ts';
import type { Block, MessagesRequest } from './request.ts';

/** One earlier reply with the results that came back for its calls, in call order. */
interface PastStep {
  results: Array<string | undefined>;
}

/** What a request tells about the conversation it belongs to. */
export interface Conversation {
  /** The first user message without reminders and instruction files. */
  prompt: string;
  /** What the runner put into the first user message beside the prompt: reminders and instruction files. */
  reminders: string[];
  /** The same for every request of one conversation. */
  key: string;
  past: PastStep[];
  /** Texts of the tool results in the newest user message, then of its text blocks. */
  newest: string[];
}

/** Reads the state of a conversation from a request; nothing is remembered between requests. */
export function readConversation(request: MessagesRequest): Conversation {
  const first = request.messages[0]?.content ?? [];
  const texts = first.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  const isReminder = (text: string) => text.trimStart().startsWith('<system-reminder>') || isInstructions(text);
  const last = request.messages.findLast((message) => message.role === 'user')?.content ?? [];
  return {
    prompt: texts.filter((text) => !isReminder(text)).join('\n'),
    reminders: texts.filter(isReminder),
    key: createHash('sha256')
      .update(JSON.stringify([texts, request.metadata?.user_id]))
      .digest('hex')
      .slice(0, 16),
    past: pastSteps(request),
    newest: [
      ...last.filter((block) => block.type === 'tool_result').map(textOf),
      ...last.filter((block) => block.type === 'text').map(textOf),
    ],
  };
}

function pastSteps(request: MessagesRequest): PastStep[] {
  const steps: Array<{ ids: string[]; results: Map<string, string> }> = [];
  for (const message of request.messages) {
    if (message.role === 'assistant') {
      const ids = message.content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []));
      steps.push({ ids, results: new Map() });
      continue;
    }
    for (const block of message.content) {
      if (block.type !== 'tool_result') continue;
      steps.findLast((step) => step.ids.includes(block.tool_use_id))?.results.set(block.tool_use_id, textOf(block));
    }
  }
  return steps.map((step) => ({ results: step.ids.map((id) => step.results.get(id)) }));
}

function textOf(block: Block): string {
  if (block.type === 'text') return block.text;
  if (block.type !== 'tool_result') return '';
  return (block.content ?? []).flatMap((inner) => (inner.type === 'text' ? [inner.text] : [])).join('\n');
}
