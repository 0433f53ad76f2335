import type { Block, Message } from '../../src/shapes/message.ts';

/** What a strict Messages API would refuse in these messages, in words; empty when it would take them. */
export function complaints(messages: readonly Message[]): string[] {
  const found: string[] = [];
  const ids = new Set<string>();
  let open: string[] = [];
  if (messages.length > 0 && messages[0]!.role !== 'user') found.push('the first message is not of the user');
  for (const [at, { role, content }] of messages.entries()) {
    const say = (what: string): unknown => found.push(`message ${at}: ${what}`);
    if (content.length === 0) say('empty content');
    if (messages[at - 1]?.role === role) say('two messages of one role in a row');
    if (content.some((block) => block.type === 'text' && block.text.trim() === '')) say('a blank text');
    const results = content.flatMap((block) => (block.type === 'tool_result' ? [block.tool_use_id] : []));
    if (role === 'user') {
      if (results.join() !== open.join()) say(`results [${results.join()}] for calls [${open.join()}]`);
      if (content.slice(0, results.length).some((block) => block.type !== 'tool_result'))
        say('results do not come first');
      if (content.some(isOfAssistant)) say('a block of the assistant');
      open = [];
      continue;
    }
    if (open.length > 0) say(`calls without results: ${open.join()}`);
    if (results.length > 0) say('a result in a reply');
    const last = content.at(-1)?.type;
    if (last === 'thinking' || last === 'redacted_thinking') say('ends in thinking');
    open = content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []));
    for (const id of open) {
      if (!/^[a-zA-Z0-9_-]{1,64}$/.test(id)) say(`bad id ${id}`);
      if (ids.has(id)) say(`id ${id} for the second time`);
      ids.add(id);
    }
  }
  if (open.length > 0) found.push(`calls without results at the end: ${open.join()}`);
  return found;
}

const isOfAssistant = ({ type }: Block): boolean =>
  type === 'tool_use' || type === 'thinking' || type === 'redacted_thinking';
