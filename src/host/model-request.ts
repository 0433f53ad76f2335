import type { MessageCreateParamsStreaming } from '@anthropic-ai/sdk/resources/messages/messages';
import type { Block } from '../shapes/message.ts';
import type { ModelRequest } from '../shapes/model.ts';

const CACHED = { cache_control: { type: 'ephemeral' } } as const;

/**
 * The request as the API takes it, with at most four prompt-cache breakpoints: the last tool, the system prompt, and the
 * last two user messages, of which the earlier one ended the request before this one. Apart from these marks a later
 * request of the same conversation begins with the very same bytes.
 */
export function modelRequestBody(request: ModelRequest): MessageCreateParamsStreaming {
  const { model, maxTokens, system, tools, messages, force } = request;
  const users = messages.flatMap(({ role }, at) => (role === 'user' ? [at] : [])).slice(-2);
  const body = {
    model,
    max_tokens: maxTokens,
    stream: true,
    ...(system.trim() !== '' && { system: [{ type: 'text', text: system, ...CACHED }] }),
    ...(tools.length > 0 && {
      tools: tools.map((tool, at) => (at === tools.length - 1 ? { ...tool, ...CACHED } : tool)),
    }),
    ...(force !== undefined && { tool_choice: { type: 'tool', name: force, disable_parallel_tool_use: true } }),
    messages: messages.map(({ role, content }, at) => ({
      role,
      content: users.includes(at) ? marked(content) : content,
    })),
  };
  return body as MessageCreateParamsStreaming;
}

/** The blocks with a breakpoint on the last one that may carry it: thinking and blank text may not. */
function marked(content: readonly Block[]): Block[] {
  const at = content.findLastIndex((block) =>
    block.type === 'text' ? block.text.trim() !== '' : block.type !== 'thinking' && block.type !== 'redacted_thinking',
  );
  return content.map((block, i) => (i === at ? { ...block, ...CACHED } : block));
}
