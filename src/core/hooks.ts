import type { Hook, HookDecision, HookEvent, HookOutcome, HookVerdict } from '../shapes/hook.ts';

/** Events that are about a call: only there does an `if` mean something. */
const CALL_EVENTS: readonly HookEvent[] = [
  'PreToolUse',
  'PermissionRequest',
  'PermissionDenied',
  'PostToolUse',
  'PostToolUseFailure',
];
/** Events that are about nothing in particular: their matchers are not looked at. */
const UNMATCHED: readonly HookEvent[] = ['UserPromptSubmit', 'Stop'];

/**
 * The handlers of an event. `about`: what it is about, under all its names, such as a tool's name and aliases, the source
 * of a session, the type of a notification. A matcher that is no valid expression matches nothing.
 */
export function matching(hooks: readonly Hook[], event: HookEvent, about: readonly string[]): Hook[] {
  return hooks.filter(
    (hook) =>
      hook.event === event &&
      (hook.if === undefined || CALL_EVENTS.includes(event)) &&
      (UNMATCHED.includes(event) || about.some((name) => covers(hook, name))),
  );
}

function covers({ matcher = '', event }: Hook, name: string): boolean {
  if (matcher === '' || matcher === '*') return true;
  if (isList(matcher, event)) return matcher.split(/[|,]/).some((one) => one.trim() === name);
  return expression(matcher)?.test(name) ?? false;
}

function isList(matcher: string, event: HookEvent): boolean {
  return (event === 'StopFailure' ? /^[\w|]+$/ : /^[\w\-, |]+$/).test(matcher);
}

const expressions = new Map<string, RegExp | undefined>();
/** Each matcher is compiled once; what does not compile is remembered as such. */
function expression(matcher: string): RegExp | undefined {
  if (!expressions.has(matcher)) expressions.set(matcher, compile(matcher));
  return expressions.get(matcher);
}

function compile(matcher: string): RegExp | undefined {
  try {
    return new RegExp(matcher);
  } catch {
    return undefined;
  }
}

/** Why a hook will never run, or hardly as it was meant; for whoever reads settings. */
export function hookProblem(hook: Pick<Hook, 'event' | 'matcher' | 'if'>): string | undefined {
  const { event, matcher = '' } = hook;
  if (hook.if !== undefined && !CALL_EVENTS.includes(event))
    return `"if" is for events about tool calls; on ${event} a hook with it never runs. Leave it out.`;
  if (UNMATCHED.includes(event) || matcher === '' || matcher === '*' || isList(matcher, event)) return undefined;
  if (expression(matcher) === undefined)
    return `The matcher ${JSON.stringify(matcher)} is no valid regular expression, so this hook never runs. Write a tool's name, names joined by |, or an expression.`;
  if (/^\w+\(.*\)$/.test(matcher))
    return `The matcher ${JSON.stringify(matcher)} looks like a permission rule, but a matcher is compared with the tool's name. Put the tool's name there and the rule into "if".`;
  return undefined;
}

/** Without copies: a handler that several settings files bring runs once. */
export function distinct(hooks: readonly Hook[]): Hook[] {
  const known = new Map<string, Hook>();
  for (const hook of hooks) {
    const key = JSON.stringify(handlerOf(hook));
    if (!known.has(key)) known.set(key, hook);
  }
  return [...known.values()];
}

function handlerOf(hook: Hook): unknown[] {
  if (hook.type === 'http') return [hook.url, hook.headers ?? {}, [...(hook.allowedEnvVars ?? [])].sort()];
  return [hook.command, hook.args ?? null, hook.shell ?? 'sh', hook.async === true];
}

/** How a handler is named to people: its command, or its address without what may be secret in it. */
export function hookLabel(hook: Hook): string {
  const text =
    hook.type === 'http' ? hook.url.replace(/[?#].*$/s, '').replace(/\/\/[^/@]*@/, '//') : hook.command.trim();
  return text.length > 120 ? `${text.slice(0, 119)}…` : text;
}

const DEFAULT_MS = 600_000;
const PROMPT_MS = 30_000;
const SESSION_END_MS = 1_500;
const SESSION_END_MAX_MS = 60_000;
/** What a timer can hold. */
const LONGEST_MS = 2_147_483_647;

/**
 * How long a handler may take, in ms. Those of SessionEnd share one span, which the largest of their own time-outs widens
 * up to a minute; `sessionEnd` is that span as the user set it.
 */
export function timeoutMs(hook: Hook, hooks: readonly Hook[], sessionEnd?: number): number {
  const own = hook.timeout === undefined ? undefined : Math.min(hook.timeout * 1000, LONGEST_MS);
  switch (hook.event) {
    case 'UserPromptSubmit':
      return own ?? PROMPT_MS;
    case 'SessionEnd': {
      const asked = hooks.filter(({ event }) => event === 'SessionEnd').map(({ timeout = 0 }) => timeout * 1000);
      const span = sessionEnd ?? Math.min(SESSION_END_MAX_MS, Math.max(SESSION_END_MS, ...asked));
      return Math.min(own ?? span, span);
    }
    default:
      return own ?? DEFAULT_MS;
  }
}

const STRENGTH: Record<HookDecision, number> = { deny: 4, block: 4, defer: 3, ask: 2, allow: 1 };

/**
 * What the handlers of an event came to together, in the order in which they ended: the strongest decision counts, of
 * several new inputs or outputs the last, and all that was said is kept.
 */
export function merge(outcomes: readonly HookOutcome[]): HookVerdict {
  const verdict: HookVerdict = {
    contexts: outcomes.flatMap(({ context }) => context ?? []),
    messages: outcomes.flatMap(({ message }) => message ?? []),
  };
  const decision = outcomes
    .flatMap((outcome) => outcome.decision ?? [])
    .reduce<HookDecision | undefined>((a, b) => (a && STRENGTH[a] >= STRENGTH[b] ? a : b), undefined);
  const deciding = outcomes.filter((outcome) => outcome.decision !== undefined && outcome.decision === decision);
  if (decision) verdict.decision = decision;
  const reasons = deciding.flatMap(({ reason }) => reason ?? []);
  if (reasons.length > 0) verdict.reason = reasons.join('\n');
  const input = outcomes.findLast((outcome) => outcome.input !== undefined)?.input;
  if (input && decision !== 'defer') verdict.input = input;
  const output = outcomes.findLast((outcome) => outcome.output !== undefined);
  if (output) verdict.output = output.output;
  const stops = outcomes.flatMap(({ stop }) => stop ?? []);
  if (stops.length > 0) verdict.stop = stops.filter((stop) => stop !== '').join('\n');
  if (deciding.some(({ interrupt }) => interrupt)) verdict.interrupt = true;
  if (outcomes.some(({ retry }) => retry)) verdict.retry = true;
  const prompts = outcomes.flatMap(({ prompt }) => prompt ?? []);
  if (prompts.length > 0) verdict.prompts = prompts;
  const updates = deciding.flatMap(({ updates: entries, by = 'unknown' }) => (entries ? [{ by, entries }] : []));
  if (updates.length > 0) verdict.updates = updates;
  return verdict;
}
