import { z } from 'zod';

/** The moments of a job at which a user's own handlers run. */
export const HookEvent = z.enum([
  'PreToolUse',
  'PermissionRequest',
  'PermissionDenied',
  'PostToolUse',
  'PostToolUseFailure',
  'UserPromptSubmit',
  'SessionStart',
  'SessionEnd',
  'Stop',
  'StopFailure',
  'Notification',
]);
export type HookEvent = z.infer<typeof HookEvent>;

const shared = {
  event: HookEvent,
  /** What the event is about, such as a tool's name: a name, a list of names, or a regular expression; absent: everything. */
  matcher: z.string().optional(),
  /** One permission rule; the handler runs only for calls that it covers. */
  if: z.string().optional(),
  /** Seconds; absent: what the event gives. */
  timeout: z.number().positive().optional(),
  /** What a handler that could not do its work means; absent: nothing. */
  onFailure: z.literal('block').optional(),
  /** Where it was written, for people, such as `/home/ada/.claude/settings.json`. */
  origin: z.string(),
};

/**
 * One handler with its matcher, as the settings had it when the job started. With `args` a command is a program that is
 * started as it stands, without them a line for the shell (`sh`, or the `shell` it names).
 */
export const Hook = z.discriminatedUnion('type', [
  z.object({
    ...shared,
    type: z.literal('command'),
    command: z.string().min(1),
    args: z.array(z.string()).optional(),
    shell: z.literal('bash').optional(),
    /** Nobody waits for it, and it decides nothing. */
    async: z.boolean().optional(),
  }),
  z.object({
    ...shared,
    type: z.literal('http'),
    url: z.url({ protocol: /^https?$/ }),
    /** `$NAME` and `${NAME}` in values stand for variables of `allowedEnvVars`; of any other they are empty. */
    headers: z.record(z.string(), z.string()).optional(),
    allowedEnvVars: z.array(z.string()).optional(),
  }),
]);
export type Hook = z.infer<typeof Hook>;

/** What a handler gets as JSON; beside the common fields those of its event. */
export type HookInput = {
  hook_event_name: HookEvent;
  session_id: string;
  /** Absolute. */
  transcript_path: string;
  cwd: string;
  permission_mode?: string;
} & Record<string, unknown>;

/** How the process or request of one handler ended. `failed`: why it could not do its work. */
export type HookRun = {
  exit: number | null;
  signal?: string;
  stdout: string;
  stderr: string;
  ms: number;
  timedOut?: true;
  aborted?: true;
  failed?: string;
};

/** The word of hooks about what they were asked: each event takes some of them. */
export type HookDecision = 'allow' | 'ask' | 'defer' | 'deny' | 'block';

/** What one handler came to. `status` is for people: what did not work decides nothing, unless the handler says otherwise. */
export type HookOutcome = {
  status: 'ok' | 'error' | 'timeout' | 'cancelled';
  /** Why it did not work. */
  error?: string;
  decision?: HookDecision;
  reason?: string;
  /** The call's whole new input. */
  input?: Record<string, unknown>;
  /** What the model gets instead of the tool's output. */
  output?: unknown;
  context?: string;
  /** A first input of the job, ahead of all others. */
  prompt?: string;
  /** The turn ends after this; the text is the reason, for people. */
  stop?: string;
  /** For people. */
  message?: string;
  /** A denied call also ends the turn. */
  interrupt?: true;
  /** The model may try a denied call again. */
  retry?: true;
  /** Changes of permissions that come with an allow, as the handler wrote them. */
  updates?: unknown[];
  /** The handler, as people know it; where its name has to be on record. */
  by?: string;
};

/** What all handlers of one event came to together. */
export type HookVerdict = Omit<
  HookOutcome,
  'status' | 'error' | 'context' | 'prompt' | 'message' | 'updates' | 'by'
> & {
  contexts: string[];
  messages: string[];
  prompts?: string[];
  updates?: HookUpdates[];
};

/** The changes of permissions that one handler asks for; each entry is still to be read. */
export type HookUpdates = { by: string; entries: unknown[] };
