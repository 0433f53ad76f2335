import { traitsOf } from '../../activities/call-facts.ts';
import type { Registry } from '../core/tool.ts';
import type { CallTraits } from '../permissions/call.ts';

/** A call's traits as its tool gives them; `refused`: the tool does not take this input, so the call would not run. */
export type TraitsFound = { kind: 'found'; aliases: string[]; traits: CallTraits } | { kind: 'refused'; text: string };

/** What MCP servers say of a tool. */
export type ToolMeta = { _meta?: Record<string, unknown>; annotations?: Record<string, unknown> };

/** Looks at a call as a job would, also when its tool is one that only some jobs have. */
export function findTraits(
  registry: Registry,
  name: string,
  input: Record<string, unknown>,
  place: { cwd: string; meta?: ToolMeta | undefined },
): TraitsFound {
  const found = asGiven(registry, name, input, place);
  const broken = found.kind === 'found' && found.traits.paths.some(({ path }) => path.includes('\0'));
  return broken ? { kind: 'refused', text: 'The path holds a NUL character, which no file name can.' } : found;
}

function asGiven(
  registry: Registry,
  name: string,
  input: Record<string, unknown>,
  { cwd, meta }: { cwd: string; meta?: ToolMeta | undefined },
): TraitsFound {
  const tool = registry.get(name);
  if (!tool) return { kind: 'found', aliases: [], traits: foreignTraits(name, input, meta) };
  const parsed = tool.input.safeParse(input);
  if (parsed.success) {
    const asks = tool.asks ? { requiresInteraction: true } : {};
    return { kind: 'found', aliases: tool.aliases, traits: { ...traitsOf(tool.access(parsed.data, cwd)), ...asks } };
  }
  const issues = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'input'}: ${issue.message}`);
  return { kind: 'refused', text: `The input of ${tool.name} is not valid: ${issues.join('; ')}` };
}

/** Tools that act on nothing but the job. */
const HARMLESS = new Set(['Agent', 'Task', 'TodoWrite', 'ToolSearch']);
/** Tools that are a question to a person. */
const QUESTIONS = new Set(['AskUserQuestion', 'ExitPlanMode']);

function foreignTraits(name: string, input: Record<string, unknown>, meta: ToolMeta | undefined): CallTraits {
  if (name === 'WebFetch' && typeof input['url'] === 'string') return { access: 'fetch', paths: [], url: input['url'] };
  if (name === 'NotebookEdit' && typeof input['notebook_path'] === 'string')
    return { access: 'edit', paths: [{ path: input['notebook_path'], use: 'edit' }] };
  if (QUESTIONS.has(name)) return { access: 'none', paths: [], requiresInteraction: true };
  if (HARMLESS.has(name)) return { access: 'none', paths: [] };
  const server = /^mcp__(.+?)__/.exec(name)?.[1];
  const asks = meta?.['_meta']?.['anthropic/requiresUserInteraction'] === true;
  return {
    access: 'other',
    paths: [],
    ...(asks ? { requiresInteraction: true } : {}),
    ...(server === undefined ? {} : { mcp: { server, readOnly: meta?.annotations?.['readOnlyHint'] === true } }),
  };
}
