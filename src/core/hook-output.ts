import type { HookDecision, HookEvent, HookOutcome, HookRun } from '../shapes/hook.ts';
import { clipBytes } from './preview.ts';

/** Bytes of an error or a message for people. */
const SAID = 2_000;
/** Events whose plain output is something for the model. */
const TALKING: readonly HookEvent[] = ['UserPromptSubmit', 'SessionStart'];
/** Events that take neither a stop nor a message. */
const MUTE: readonly HookEvent[] = ['Notification', 'SessionEnd'];
/** What exit code 2, or a top-level `block`, means where it means anything. */
const BLOCKS: Partial<Record<HookEvent, HookDecision>> = {
  PreToolUse: 'deny',
  UserPromptSubmit: 'block',
  Stop: 'block',
};

/** What a handler's end means for its event. What did not work decides nothing, as long as `onFailure` does not say `block`. */
export function outcomeOf(event: HookEvent, run: HookRun, onFailure?: 'block'): HookOutcome {
  if (run.aborted) return { status: 'cancelled' };
  const outcome = ended(event, run);
  const decision = BLOCKS[event];
  if (outcome.status === 'ok' || onFailure !== 'block' || decision === undefined) return outcome;
  return { ...outcome, decision, reason: `a hook that must work did not: ${outcome.error ?? outcome.status}` };
}

function ended(event: HookEvent, run: HookRun): HookOutcome {
  if (run.timedOut) return { status: 'timeout', error: `it took longer than ${seconds(run.ms)} and was ended` };
  if (run.failed !== undefined) return broken(run.failed);
  const said = read(event, run.stdout);
  if (run.exit === 2) return refused(event, run, said.kind === 'json' ? said.outcome : { status: 'ok' });
  if (said.kind === 'json') return said.outcome;
  if (run.exit !== 0) return broken(`${howEnded(run)}${run.stderr.trim() && `: ${run.stderr.trim()}`}`);
  if (said.kind === 'invalid') return broken(said.why);
  return TALKING.includes(event) && said.text !== '' ? { status: 'ok', context: said.text } : { status: 'ok' };
}

/** Exit code 2: an objection where the event takes one, and something to read for the model or the user elsewhere. */
function refused(event: HookEvent, run: HookRun, said: HookOutcome): HookOutcome {
  const words = run.stderr.trim();
  const decision = BLOCKS[event];
  if (decision !== undefined) {
    const reason = said.decision === decision ? said.reason : undefined;
    return { ...said, decision, reason: reason ?? (words || 'the hook gave no reason') };
  }
  if (words === '') return said;
  if (event === 'PostToolUse' || event === 'PostToolUseFailure')
    return { ...said, context: said.context === undefined ? words : `${said.context}\n${words}` };
  return event === 'SessionStart' ? { ...said, message: clipBytes(words, SAID) } : said;
}

type Said = { kind: 'json'; outcome: HookOutcome } | { kind: 'text'; text: string } | { kind: 'invalid'; why: string };
type Fields = Record<string, unknown>;

/** Standard output: JSON when it starts like JSON, else plain text. */
function read(event: HookEvent, stdout: string): Said {
  const text = stdout.trim();
  if (!text.startsWith('{')) return { kind: 'text', text };
  try {
    const fields = JSON.parse(text) as Fields;
    const why = problem(event, fields);
    return why === undefined ? { kind: 'json', outcome: meaning(event, fields) } : { kind: 'invalid', why };
  } catch {
    return { kind: 'invalid', why: `its output starts like JSON and is none: ${clipBytes(text, 200)}` };
  }
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isFlag = (value: unknown): value is boolean => typeof value === 'boolean';
const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isOneOf =
  (...words: string[]) =>
  (value: unknown): boolean =>
    isText(value) && words.includes(value);

/** What each known field must look like; others are let through. */
const TOP: Record<string, [(value: unknown) => boolean, string]> = {
  continue: [isFlag, 'true or false'],
  stopReason: [isText, 'a text'],
  systemMessage: [isText, 'a text'],
  suppressOutput: [isFlag, 'true or false'],
  decision: [isOneOf('approve', 'block'), '"approve" or "block"'],
  reason: [isText, 'a text'],
  hookSpecificOutput: [isObject, 'an object'],
};
const SPECIFIC: Record<string, [(value: unknown) => boolean, string]> = {
  permissionDecision: [isOneOf('allow', 'deny', 'ask', 'defer'), '"allow", "deny", "ask" or "defer"'],
  permissionDecisionReason: [isText, 'a text'],
  updatedInput: [isObject, 'an object'],
  additionalContext: [isText, 'a text'],
  initialUserMessage: [isText, 'a text'],
  retry: [isFlag, 'true or false'],
  decision: [isObject, 'an object'],
};
const ANSWER: Record<string, [(value: unknown) => boolean, string]> = {
  behavior: [isOneOf('allow', 'deny'), '"allow" or "deny"'],
  updatedInput: [isObject, 'an object'],
  updatedPermissions: [Array.isArray, 'a list'],
  message: [isText, 'a text'],
  interrupt: [isFlag, 'true or false'],
};

/** Why a JSON output can't be taken; a wrong field spoils all of it, so that nothing is half understood. */
function problem(event: HookEvent, fields: Fields): string | undefined {
  const specific = fields['hookSpecificOutput'];
  const inner = isObject(specific) ? misfit(specific, SPECIFIC, 'hookSpecificOutput.') : undefined;
  const wrong = misfit(fields, TOP, '') ?? inner;
  if (wrong !== undefined || !isObject(specific)) return wrong;
  if (specific['hookEventName'] !== event)
    return `hookSpecificOutput.hookEventName must be "${event}" in the output of this hook`;
  const answer = specific['decision'];
  return isObject(answer) ? misfit(answer, ANSWER, 'hookSpecificOutput.decision.') : undefined;
}

function misfit(fields: Fields, known: typeof TOP, path: string): string | undefined {
  for (const [name, [fits, expected]] of Object.entries(known)) {
    const value = fields[name];
    if (value !== undefined && !fits(value)) return `${path}${name} of its output must be ${expected}`;
  }
  return undefined;
}

/** The meaning of fields that are known to be well-formed. */
function meaning(event: HookEvent, fields: Fields): HookOutcome {
  if (event === 'StopFailure') return { status: 'ok' };
  const specific = isObject(fields['hookSpecificOutput']) ? fields['hookSpecificOutput'] : {};
  const outcome: HookOutcome = { status: 'ok', ...own(event, fields, specific) };
  const context = text(specific['additionalContext']);
  if (context !== undefined && !MUTE.includes(event)) outcome.context = context;
  if (MUTE.includes(event)) return outcome;
  if (fields['continue'] === false) outcome.stop = text(fields['stopReason']) ?? '';
  const message = text(fields['systemMessage']);
  if (message !== undefined) outcome.message = clipBytes(message, SAID);
  return outcome;
}

/** What an event takes beside the fields that all of them share. */
function own(event: HookEvent, fields: Fields, specific: Fields): Partial<HookOutcome> {
  switch (event) {
    case 'PreToolUse':
      return permission(fields, specific);
    case 'PermissionRequest':
      return request(specific);
    case 'PermissionDenied':
      return specific['retry'] === true ? { retry: true } : {};
    case 'PostToolUse': {
      const output = specific['updatedToolOutput'] ?? specific['updatedMCPToolOutput'];
      return { ...blocks(fields), ...(output === undefined || output === null ? {} : { output }) };
    }
    case 'SessionStart': {
      const prompt = text(specific['initialUserMessage']);
      return prompt === undefined ? {} : { prompt };
    }
    case 'PostToolUseFailure':
    case 'UserPromptSubmit':
    case 'Stop':
      return blocks(fields);
    default:
      return {};
  }
}

function blocks(fields: Fields): Partial<HookOutcome> {
  if (fields['decision'] !== 'block') return {};
  return { decision: 'block', reason: text(fields['reason']) ?? 'the hook gave no reason' };
}

function permission(fields: Fields, specific: Fields): Partial<HookOutcome> {
  const old = { approve: 'allow', block: 'deny' } as const;
  const decision = (specific['permissionDecision'] ?? old[fields['decision'] as keyof typeof old]) as
    | HookDecision
    | undefined;
  if (decision === 'defer') return { decision };
  const reason = text(specific['permissionDecisionReason']) ?? text(fields['reason']);
  const input = specific['updatedInput'] as Fields | undefined;
  return {
    ...(decision === undefined ? {} : { decision, reason: reason ?? 'the hook gave no reason' }),
    ...(input === undefined ? {} : { input }),
  };
}

function request(specific: Fields): Partial<HookOutcome> {
  const answer = specific['decision'];
  if (!isObject(answer)) return {};
  const input = answer['updatedInput'] as Fields | undefined;
  const updates = (answer['updatedPermissions'] ?? []) as unknown[];
  if (answer['behavior'] === 'allow')
    return {
      decision: 'allow',
      ...(input === undefined ? {} : { input }),
      ...(updates.length === 0 ? {} : { updates }),
    };
  if (answer['behavior'] !== 'deny') return {};
  return {
    decision: 'deny',
    reason: text(answer['message']) ?? 'the hook gave no reason',
    ...(answer['interrupt'] === true ? { interrupt: true as const } : {}),
  };
}

/** A text that says something. */
const text = (value: unknown): string | undefined => (isText(value) && value.trim() !== '' ? value : undefined);

const broken = (error: string): HookOutcome => ({ status: 'error', error: clipBytes(error, SAID) });

function howEnded({ exit, signal }: HookRun): string {
  return exit === null ? `it was ended by ${signal ?? 'a signal'}` : `it ended with exit code ${exit}`;
}

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`;
