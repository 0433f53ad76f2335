import { z } from 'zod';
import { Notify, LadderEnd } from './ladder.ts';
import { PriceOverride } from './price.ts';

/** Something in a configuration file that is not as it should be. `stops`: no job may start before it is mended. */
export type ConfigProblem = {
  file: string;
  /** Both count from 1. */
  line?: number;
  column?: number;
  text: string;
  stops: boolean;
};

const List = z.array(z.string());

/** The `permissions` of a settings file. What a rule means is not looked at here. */
export const PermissionSettings = z.looseObject({
  allow: List.optional(),
  ask: List.optional(),
  deny: List.optional(),
  defaultMode: z.string().optional(),
  additionalDirectories: List.optional(),
  disableBypassPermissionsMode: z.literal('disable').optional(),
});
export type PermissionSettings = z.infer<typeof PermissionSettings>;

/** A span of time as people write it: `0s`, `30m`, `1h30m`, `2d`. */
const Span = z.string().regex(/^(\d+(\.\d+)?[smhd])+$/, 'expected a span such as 30s, 15m, 4h or 2d');

/** One step of the question ladder as a settings file gives it. */
export const PromptStep = z.strictObject({
  after: Span,
  notify: z.array(Notify).optional(),
  then: LadderEnd.optional(),
});
export type PromptStep = z.infer<typeof PromptStep>;

/** What nightshift alone reads; it stands in the same files. */
export const NightshiftSettings = z.looseObject({
  prompts: z.array(PromptStep).optional(),
  siblingAbort: z.enum(['bash', 'off']).optional(),
  allowDescribed: z.array(z.string().min(1)).optional(),
  classifierModel: z.string().min(1).optional(),
  prices: PriceOverride.optional(),
});
export type NightshiftSettings = z.infer<typeof NightshiftSettings>;

/** A settings file as far as nightshift understands it; whatever else it holds is kept. Hooks are read apart, entry by entry. */
export const Settings = z.looseObject({
  permissions: PermissionSettings.optional(),
  env: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]).transform(String)).optional(),
  model: z.string().min(1).optional(),
  disableAllHooks: z.boolean().optional(),
  allowManagedHooksOnly: z.boolean().optional(),
  allowManagedPermissionRulesOnly: z.boolean().optional(),
  allowedHttpHookUrls: List.optional(),
  httpHookAllowedEnvVars: List.optional(),
  enableAllProjectMcpServers: z.boolean().optional(),
  enabledMcpjsonServers: List.optional(),
  disabledMcpjsonServers: List.optional(),
  nightshift: NightshiftSettings.optional(),
});
export type Settings = z.infer<typeof Settings>;
