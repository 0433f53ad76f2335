import type { Tool } from '../core/tool.ts';

type Optional = 'aliases' | 'interrupt' | 'runs' | 'maxChars' | 'isConcurrencySafe';

/** A tool as its author writes it: what is left out gets the careful default. */
export type ToolSpec<I> = Omit<Tool<I>, Optional> & Partial<Pick<Tool<I>, Optional>>;

/** Completes a tool: runs alone, on the workspace's host, may end when interrupted, results up to 50,000 characters in place. */
export function defineTool<I>(spec: ToolSpec<I>): Tool<I> {
  return {
    aliases: [],
    interrupt: 'block',
    runs: 'host',
    maxChars: 50_000,
    isConcurrencySafe: () => false,
    ...spec,
  };
}
