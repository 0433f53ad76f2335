import { callDir, hooksDir } from '../src/core/paths.ts';
import type { ToolOutput } from '../src/core/tool.ts';
import { hookConcerns } from '../src/permissions/hook-if.ts';
import type { Done } from '../src/shapes/call.ts';
import type { HookEvent, HookVerdict } from '../src/shapes/hook.ts';
import { factsOf } from './call-facts.ts';
import { heardHooks, hookNote, runHooks } from './hook-stage.ts';
import { textOf } from './seal-step.ts';
import { at, type Checked, type Site } from './site.ts';

/** The events of a call, in their order. */
const EVENTS = [
  'PreToolUse',
  'PermissionRequest',
  'PermissionDenied',
  'PostToolUse',
  'PostToolUseFailure',
] as const satisfies readonly HookEvent[];
type CallEvent = (typeof EVENTS)[number];

/** Characters of an error that hooks get; the middle gives way. */
const ERROR_LIMIT = 10_000;

/** Runs the hooks of one event of a call. Undefined: they were cut. */
export function callHooks(
  site: Site,
  event: CallEvent,
  checked: Checked,
  fields: Record<string, unknown> = {},
): Promise<HookVerdict | undefined> {
  const { agent, input, rules, place, life } = site;
  const { call, context } = factsOf(site, checked);
  return runHooks(site, {
    ...eventOf(site, event),
    fields: { tool_name: checked.tool.name, tool_input: inputOf(checked, context.cwd), ...fields },
    cwd: input.ctx.cwd ?? agent.dir,
    mode: input.ctx.mode ?? rules.mode,
    place: at(place),
    signal: life.cancelled,
    concerns: (condition) => hookConcerns(condition, call, context),
  });
}

/** What an earlier pass of the call heard from its PreToolUse hooks. */
export const heardBefore = (site: Site): Promise<HookVerdict> => heardHooks(site, eventOf(site, 'PreToolUse'));

/** Whether a tool's output is of interest to any hook. */
export const hasAfterHooks = (site: Site): boolean => has(site, 'PostToolUse') || has(site, 'PostToolUseFailure');

/** Stage 9: hooks see what the tool gave, may put another output in its place and say something about it. */
export async function afterHooks(site: Site, checked: Checked, output: ToolOutput, ms: number): Promise<ToolOutput> {
  const fields = { tool_use_id: site.use.id, duration_ms: ms };
  const text = textOf(output.content);
  if (output.isError) {
    await callHooks(site, 'PostToolUseFailure', checked, { ...fields, error: clipped(text), is_interrupt: false });
    return output;
  }
  const response = responseOf(checked, output, text);
  const said = await callHooks(site, 'PostToolUse', checked, { ...fields, tool_response: response });
  const content = said?.output === undefined ? undefined : replacement(said.output);
  if (content === undefined) return output;
  const { spilled: _whole, told: _unsaid, ...rest } = output;
  return { ...rest, content };
}

/** The end of a call with all that hooks had to say in its course. */
export async function withHooks(site: Site, done: Done): Promise<Done> {
  const heard = await Promise.all(
    EVENTS.map(async (event) => ({
      event,
      verdict: withObjection(event, await heardHooks(site, eventOf(site, event))),
    })),
  );
  const note = await hookNote(site, `${site.use.id}.hooks`, heard);
  const stops = heard.flatMap(({ verdict }) => verdict.stop ?? []);
  return {
    ...done,
    ...(note ? { notes: [...(done.notes ?? []), note] } : {}),
    ...(stops.length > 0 ? { stop: stops.join('\n') } : {}),
  };
}

/** An objection to what has happened already is something for the model to read. */
function withObjection(event: CallEvent, verdict: HookVerdict): HookVerdict {
  const isAfter = event === 'PostToolUse' || event === 'PostToolUseFailure';
  if (!isAfter || verdict.decision !== 'block') return verdict;
  return { ...verdict, contexts: [verdict.reason ?? '', ...verdict.contexts] };
}

const has = ({ agent }: Site, event: CallEvent): boolean => (agent.hooks ?? []).some((hook) => hook.event === event);

/** What an event of this call is about, and where what its hooks come to is kept. */
function eventOf({ hosts, use, place }: Site, event: CallEvent): { event: CallEvent; about: string[]; dir: string } {
  const tool = hosts.registry.get(use.name);
  const dir = hooksDir(callDir(place.turn, place.step, place.index), event);
  return { event, about: tool ? [tool.name, ...tool.aliases] : [], dir };
}

/** Handlers get the paths of files absolute, whatever the model wrote. */
function inputOf({ raw }: Checked, cwd: string): Record<string, unknown> {
  const path = raw['file_path'];
  if (typeof path !== 'string' || path.startsWith('/') || path.startsWith('~')) return raw;
  return { ...raw, file_path: `${cwd}/${path}` };
}

/** The tool's output in the fields that scripts look for, and as the model gets it. */
function responseOf({ tool, raw, input }: Checked, output: ToolOutput, text: string): Record<string, unknown> {
  switch (tool.access(input, '/').kind) {
    case 'bash':
      return { stdout: text, stderr: '', interrupted: false, isImage: false };
    case 'edit':
      return { filePath: raw['file_path'], success: true, content: output.content };
    default:
      return { content: output.content };
  }
}

/** What a hook may put in place of an output: a text, or an object of the shape that it was shown. */
function replacement(output: unknown): string | undefined {
  if (typeof output === 'string') return output;
  if (typeof output !== 'object' || output === null) return undefined;
  const { content, stdout, stderr } = output as Record<string, unknown>;
  if (typeof stdout === 'string') return typeof stderr === 'string' && stderr !== '' ? `${stdout}\n${stderr}` : stdout;
  return typeof content === 'string' ? content : undefined;
}

function clipped(text: string): string {
  if (text.length <= ERROR_LIMIT) return text;
  const half = ERROR_LIMIT / 2;
  return `${text.slice(0, half)}\n[${text.length - ERROR_LIMIT} characters left out]\n${text.slice(-half)}`;
}
