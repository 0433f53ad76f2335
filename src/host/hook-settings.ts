import { hookProblem } from '../core/hooks.ts';
import { Hook, HookEvent } from '../shapes/hook.ts';
import { issueText } from './issue-text.ts';
import type { JsonObject, JsonPath } from './json-file.ts';

/** Says what is wrong at a place below `hooks`; with `stops` no job may start. */
export type Complain = (path: JsonPath, text: string, stops: boolean) => void;

/**
 * Reads the `hooks` of a settings file. One entry that can't run is left out with a warning; a shape in which somebody
 * meant a guard and none would stand stops the job.
 */
export function readHooks(value: unknown, origin: string, complain: Complain): Hook[] {
  if (value === undefined) return [];
  if (!isObject(value)) {
    complain([], `must be an object of events, such as {"PreToolUse": [${EXAMPLE}]}`, true);
    return [];
  }
  return Object.entries(value).flatMap(([event, groups]) => {
    const known = HookEvent.safeParse(event);
    if (known.success) return readGroups(known.data, groups, origin, complain);
    const meant = HookEvent.options.find((name) => name.toLowerCase() === event.toLowerCase());
    const hint = meant === undefined ? '' : `; write ${meant} if that is meant`;
    complain([event], `is no moment at which nightshift runs hooks; they are left out${hint}`, false);
    return [];
  });
}

const EXAMPLE = '{"matcher": "Bash", "hooks": [{"type": "command", "command": "./check.sh"}]}';

function readGroups(event: HookEvent, groups: unknown, origin: string, complain: Complain): Hook[] {
  if (!Array.isArray(groups)) {
    complain([event], `must be a list, such as [${EXAMPLE}]`, true);
    return [];
  }
  return groups.flatMap((group: unknown, i) => readGroup(event, group, [event, i], origin, complain));
}

function readGroup(event: HookEvent, group: unknown, path: JsonPath, origin: string, complain: Complain): Hook[] {
  if (!isObject(group)) {
    complain(path, `must be an object with a "hooks" list, such as ${EXAMPLE}`, true);
    return [];
  }
  const { matcher, hooks } = group;
  if (matcher !== undefined && typeof matcher !== 'string') {
    const names = Array.isArray(matcher) && matcher.every((name) => typeof name === 'string');
    const instead = names ? JSON.stringify(matcher.join('|')) : '"Bash" or "Edit|Write"';
    complain([...path, 'matcher'], `must be one string; write ${instead}`, true);
    return [];
  }
  if (!Array.isArray(hooks)) {
    complain(path, `needs a "hooks" list around its hooks: write ${EXAMPLE}. As it is nothing would run`, true);
    return [];
  }
  const server = serverFault(matcher ?? '');
  if (server !== undefined) complain([...path, 'matcher'], server, false);
  const odd = hookProblem({ event, ...(matcher === undefined ? {} : { matcher }) });
  if (odd !== undefined) complain([...path, 'matcher'], `has no effect. ${odd.replace(/\.$/, '')}`, false);
  return hooks.flatMap((hook: unknown, i) => {
    const at = [...path, 'hooks', i];
    const read = readHook(event, hook, at, complain);
    return read === undefined ? [] : [{ ...read, ...(matcher === undefined ? {} : { matcher }), origin }];
  });
}

/** A server's name alone looks like all of its tools and is none. */
function serverFault(matcher: string): string | undefined {
  if (!/^[\w\-, |]+$/.test(matcher)) return undefined;
  const server = matcher
    .split(/[|,]/)
    .map((name) => name.trim())
    .find((name) => /^mcp__(?:(?!__)[\w-])*(?:__)?$/.test(name));
  if (server === undefined) return undefined;
  const tools = server === 'mcp__' ? 'mcp__.*' : `${server.replace(/__$/, '')}__.*`;
  return `names no tool: for all tools of a server write ${JSON.stringify(tools)}`;
}

const [CommandHook, HttpHook] = Hook.options;
const ofGroup = { event: true, matcher: true, origin: true } as const;
const Command = CommandHook.omit(ofGroup);
const Http = HttpHook.omit(ofGroup);
/** Types of hooks that others have. */
const ELSEWHERE = new Set(['mcp_tool', 'prompt', 'agent']);

type Without<H> = H extends unknown ? Omit<H, 'origin' | 'matcher'> : never;

function readHook(event: HookEvent, hook: unknown, path: JsonPath, complain: Complain): Without<Hook> | undefined {
  if (!isObject(hook)) {
    complain(path, 'must be an object, such as {"type": "command", "command": "./check.sh"}', true);
    return undefined;
  }
  const { type } = hook;
  if (type !== 'command' && type !== 'http') {
    complain([...path, ...(type === undefined ? [] : ['type'])], typeFault(type), typeof type !== 'string');
    return undefined;
  }
  const fault = cantRun(event, hook) ?? emptyFault(hook);
  if (fault !== undefined) {
    complain(path, fault.text, fault.stops);
    return undefined;
  }
  const parsed = (type === 'command' ? Command : Http).safeParse(hook);
  if (!parsed.success) {
    for (const issue of parsed.error.issues) complain([...path, ...keysOf(issue.path)], issueText(issue), true);
    return undefined;
  }
  for (const [key, text] of remarks(hook)) complain([...path, key], text, false);
  const runsBeside = hook['asyncRewake'] === true ? { async: true } : {};
  return { event, ...parsed.data, ...runsBeside };
}

function typeFault(type: unknown): string {
  if (type === undefined) return 'needs "type": "command" or "type": "http"';
  if (typeof type !== 'string') return 'must be "command" or "http"';
  return ELSEWHERE.has(type)
    ? `is "${type}", which nightshift does not run: this hook is left out. Write a command or http hook`
    : `is ${JSON.stringify(type)}, which is no type of hook: it is left out. Write "command" or "http"`;
}

function cantRun(event: HookEvent, hook: JsonObject): { text: string; stops: false } | undefined {
  const aboutTools = /ToolUse|^Permission/.test(event);
  if (hook['if'] !== undefined && !aboutTools)
    return { text: `has an "if", which only fits events about tool calls: on ${event} it never runs`, stops: false };
  if (hook['type'] === 'http' && event === 'SessionStart')
    return { text: 'is an http hook: SessionStart takes commands only, so it is left out', stops: false };
  if (hook['shell'] === 'powershell')
    return { text: 'asks for PowerShell, which nightshift does not run; it is left out', stops: false };
  return undefined;
}

function emptyFault(hook: JsonObject): { text: string; stops: true } | undefined {
  if (hook['type'] === 'command' && String(hook['command']).trim() === '')
    return { text: 'has an empty command; say what to run', stops: true };
  if (hook['type'] === 'http' && !/^https?:\/\/[^/]/.test(String(hook['url'])))
    return { text: 'needs a url that begins with http:// or https://', stops: true };
  return undefined;
}

/** What of a hook has no effect here. */
function* remarks(hook: JsonObject): Generator<[string, string]> {
  if (hook['once'] !== undefined) yield ['once', 'has no effect in a settings file: the hook runs every time'];
  if (hook['asyncRewake'] !== undefined) yield ['asyncRewake', 'has no effect: the hook wakes nobody when it ends'];
}

const keysOf = (path: readonly PropertyKey[]): JsonPath =>
  path.map((key) => (typeof key === 'number' ? key : String(key)));

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
