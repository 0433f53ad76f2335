import type { Tool } from './tool.ts';

/**
 * Whether a call may run beside its neighbours: its tool is known, its input parses, and the tool answers exactly `true`.
 * Anything else (a promise, `undefined`, a truthy value, an exception) is a no.
 */
export function isSafe(tool: Tool | undefined, input: unknown): boolean {
  if (tool === undefined) return false;
  try {
    const parsed = tool.input.safeParse(input);
    if (!parsed.success) return false;
    const answer: unknown = tool.isConcurrencySafe(parsed.data);
    // A rejected promise is no answer either, and must not bring the process down.
    if (answer instanceof Promise) answer.catch(() => undefined);
    return answer === true;
  } catch {
    return false;
  }
}
