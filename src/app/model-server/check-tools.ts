import { CustomTool, describeShapeFault, type CountRequest } from './request.ts';

/** The tool definitions and what refers to them. */
export function checkTools(request: CountRequest): string | undefined {
  const tools = request.tools ?? [];
  const names = new Set<string>();
  for (const [i, tool] of tools.entries()) {
    const type: unknown = tool.type;
    const isCustom = type === undefined || type === null || type === 'custom';
    if (isCustom) {
      const shaped = CustomTool.safeParse(tool);
      if (!shaped.success) return describeShapeFault(shaped.error, tool, `tools.${i}.custom`);
    } else if (typeof type !== 'string') {
      return `tools.${i}.type: Input should be a valid string`;
    }
    if (typeof tool.name === 'string') {
      if (names.has(tool.name)) return 'tools: Tool names must be unique.';
      names.add(tool.name);
    }
    if (tool.defer_loading && tool.cache_control) {
      return `tools.${i}: Tools with defer_loading=true cannot use prompt caching (cache_control)`;
    }
  }
  if (tools.length > 0 && tools.every((tool) => tool.defer_loading)) {
    return 'At least one tool must have defer_loading=false.';
  }
  const choice = request.tool_choice;
  if ((choice?.type === 'any' || choice?.type === 'tool') && tools.length === 0) {
    return 'tool_choice: may only be specified while providing `tools`';
  }
  if (choice?.type === 'tool' && !names.has(choice.name)) {
    return `tool_choice: Tool '${choice.name}' not found in provided tools`;
  }
  return checkReferences(request, names);
}

function checkReferences(request: CountRequest, names: ReadonlySet<string>): string | undefined {
  for (const [i, message] of request.messages.entries()) {
    for (const [k, block] of message.content.entries()) {
      if (block.type !== 'tool_result') continue;
      for (const inner of block.content ?? []) {
        if (inner.type !== 'tool_reference' || names.has(inner.tool_name)) continue;
        return `messages.${i}.content.${k}: Tool reference '${inner.tool_name}' not found in available tools`;
      }
    }
  }
  return undefined;
}
