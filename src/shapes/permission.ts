import { z } from 'zod';

/** How much a job may do without asking. */
export const Mode = z.enum(['default', 'acceptEdits', 'plan', 'dontAsk', 'bypassPermissions']);
export type Mode = z.infer<typeof Mode>;

/** What becomes of a call: it runs, a person decides, it does not run. */
export const Behavior = z.enum(['allow', 'ask', 'deny']);
export type Behavior = z.infer<typeof Behavior>;

/** Where a rule came from. `base` is the absolute folder that a rule's leading `/` stands for. */
export const RuleSource = z.object({
  kind: z.enum(['managed', 'cli', 'flagFile', 'local', 'project', 'user', 'session']),
  file: z.string().optional(),
  base: z.string(),
  /** Of the kind `session`: the hook that gave it in place of a person. */
  hook: z.string().optional(),
});
export type RuleSource = z.infer<typeof RuleSource>;

/** One permission rule as it was written: `Tool` or `Tool(specifier)`. Without a specifier it covers the whole tool. */
export const Rule = z.object({
  text: z.string(),
  tool: z.string(),
  specifier: z.string().optional(),
  source: RuleSource,
});
export type Rule = z.infer<typeof Rule>;

/** Something in the settings that has no effect, or another effect than it seems; `text` says what to do about it. */
export const Warning = z.object({
  text: z.string(),
  rule: z.string().optional(),
  list: Behavior.optional(),
  source: RuleSource.optional(),
});
export type Warning = z.infer<typeof Warning>;

/** All rules in force for a job: plain JSON, stored as a blob and read again. */
export const Rules = z.object({
  deny: z.array(Rule),
  ask: z.array(Rule),
  allow: z.array(Rule),
  mode: Mode,
  /** Further working directories, absolute. */
  directories: z.array(z.string()),
  /** Whether the workspace's own allow rules count. */
  trusted: z.boolean(),
  /** Files and folders, absolute, that are protected whatever they are called: those that rules are read from. */
  guarded: z.array(z.string()).optional(),
  /** `bypassPermissions` acts as `default`. */
  disableBypass: z.boolean(),
  /** Managed settings let no allow rules and directories count but their own. */
  managedOnly: z.boolean().optional(),
  warnings: z.array(Warning),
});
export type Rules = z.infer<typeof Rules>;

/** Why a decision fell; every kind can be put into one sentence, see `reasonText`. */
export const DecisionReason = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('rule'), rule: z.string(), source: z.string(), behavior: Behavior }),
  z.object({ kind: z.literal('mode'), mode: Mode, text: z.string().optional() }),
  z.object({ kind: z.literal('safety'), text: z.string() }),
  z.object({ kind: z.literal('tool'), text: z.string() }),
  /** `event`: absent for `PreToolUse`. */
  z.object({ kind: z.literal('hook'), text: z.string(), event: z.string().optional() }),
  z.object({ kind: z.literal('default'), text: z.string() }),
  z.object({ kind: z.literal('person'), by: z.string().optional() }),
  z.object({ kind: z.literal('unanswered'), text: z.string() }),
  z.object({ kind: z.literal('described'), description: z.string(), model: z.string() }),
]);
export type DecisionReason = z.infer<typeof DecisionReason>;

/** What may become of a call, and why. */
export const Decision = z.object({ behavior: Behavior, reason: DecisionReason });
export type Decision = z.infer<typeof Decision>;
