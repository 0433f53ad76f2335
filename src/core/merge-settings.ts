import type { Hook } from '../shapes/hook.ts';
import type { RuleSource } from '../shapes/permission.ts';
import type { NightshiftSettings, Settings } from '../shapes/settings.ts';
import { distinct } from './hooks.ts';

/** What one place contributes, as far as it could be understood. */
export type SettingsLayer = { source: RuleSource; settings: Settings; hooks: Hook[] };

/** What all places come to together. */
export type MergedSettings = {
  /** Variables for the job's processes. */
  env: Record<string, string>;
  model?: string;
  /** In force, the strongest place first, no two alike. */
  hooks: Hook[];
  nightshift: Required<Pick<NightshiftSettings, 'allowDescribed'>> & NightshiftSettings;
  /** What a folder that is not trusted asks for in vain. */
  ignored: { source: RuleSource; keys: string[] }[];
};

/**
 * Lays settings together, given from the strongest place to the weakest: of a single value the strongest counts, lists and
 * variables add up. A folder that is not trusted contributes nothing here; its deny and ask rules are for the rules to take.
 */
export function mergeSettings(layers: readonly SettingsLayer[], at: { trusted: boolean }): MergedSettings {
  const counting = layers.filter((layer) => at.trusted || !isOfFolder(layer.source));
  const first = <T>(pick: (settings: Settings) => T | undefined): T | undefined =>
    counting.map(({ settings }) => pick(settings)).find((value) => value !== undefined);
  const model = first(({ model }) => model);
  const own = <K extends keyof NightshiftSettings>(key: K): NightshiftSettings[K] | undefined =>
    first(({ nightshift }) => nightshift?.[key]);
  const single = {
    prompts: own('prompts'),
    siblingAbort: own('siblingAbort'),
    classifierModel: own('classifierModel'),
    prices: merged(counting.map(({ settings }) => settings.nightshift?.prices)),
  };
  return {
    env: merged(counting.map(({ settings }) => settings.env)) ?? {},
    ...(model === undefined ? {} : { model }),
    hooks: hooksOf(counting),
    nightshift: {
      ...Object.fromEntries(Object.entries(single).filter(([, value]) => value !== undefined)),
      allowDescribed: [...new Set(counting.flatMap(({ settings }) => settings.nightshift?.allowDescribed ?? []))],
    },
    ignored: layers
      .filter((layer) => !counting.includes(layer))
      .map(({ source, settings, hooks }) => ({ source, keys: ignoredKeys(settings, hooks) }))
      .filter(({ keys }) => keys.length > 0),
  };
}

/** Whether a place belongs to the folder that the job works in, so that whoever filled the folder wrote it. */
export function isOfFolder({ kind }: RuleSource): boolean {
  return kind === 'project' || kind === 'local';
}

/** Servers of a folder's `.mcp.json` that some settings switch off, which nothing can undo. */
export function disabledServers(layers: readonly SettingsLayer[]): ReadonlySet<string> {
  return new Set(layers.flatMap(({ settings }) => settings.disabledMcpjsonServers ?? []));
}

/** Keys of a folder's settings that count although nobody trusts it: they only ever forbid. */
const ALWAYS = new Set(['deny', 'ask', 'disableBypassPermissionsMode']);
/** Keys that do nothing by themselves. */
const IDLE = new Set(['$schema', 'permissions', 'disabledMcpjsonServers']);

function ignoredKeys(settings: Settings, hooks: readonly Hook[]): string[] {
  return [
    ...Object.keys(settings.permissions ?? {})
      .filter((key) => !ALWAYS.has(key) && key !== 'defaultMode')
      .map((key) => `permissions.${key}`),
    ...(hooks.length > 0 ? ['hooks'] : []),
    ...Object.keys(settings).filter((key) => !IDLE.has(key)),
  ];
}

/** By key, the strongest place first. */
function merged<V>(records: readonly (Readonly<Record<string, V>> | undefined)[]): Record<string, V> | undefined {
  const given = records.filter((record) => record !== undefined);
  return given.length === 0 ? undefined : Object.assign({}, ...given.toReversed());
}

/** `disableAllHooks` is a single value like others, but only managed settings can switch off what they bring. */
function hooksOf(layers: readonly SettingsLayer[]): Hook[] {
  const managed = layers.filter(({ source }) => source.kind === 'managed');
  const first = <T>(from: readonly SettingsLayer[], pick: (settings: Settings) => T | undefined): T | undefined =>
    from.map(({ settings }) => pick(settings)).find((value) => value !== undefined);
  const off = first(layers, ({ disableAllHooks }) => disableAllHooks) === true;
  const managedOff = first(managed, ({ disableAllHooks }) => disableAllHooks) === true;
  const onlyManaged = first(managed, ({ allowManagedHooksOnly }) => allowManagedHooksOnly) === true;
  const counting = layers.filter(({ source }) =>
    source.kind === 'managed' ? !managedOff : !off && !managedOff && !onlyManaged,
  );
  return distinct(counting.flatMap(({ hooks }) => hooks).flatMap((hook) => narrowed(hook, layers)));
}

/** An http hook as the lists of allowed addresses and variables let it be. */
function narrowed(hook: Hook, layers: readonly SettingsLayer[]): Hook[] {
  if (hook.type !== 'http') return [hook];
  const urls = listed(layers, ({ allowedHttpHookUrls }) => allowedHttpHookUrls);
  if (urls && !urls.some((pattern) => fits(pattern, hook.url))) return [];
  const names = listed(layers, ({ httpHookAllowedEnvVars }) => httpHookAllowedEnvVars);
  if (!names || hook.allowedEnvVars === undefined) return [hook];
  return [{ ...hook, allowedEnvVars: hook.allowedEnvVars.filter((name) => names.includes(name)) }];
}

/** All entries of a list that several places may give; `undefined` when none does. */
function listed(
  layers: readonly SettingsLayer[],
  pick: (settings: Settings) => string[] | undefined,
): string[] | undefined {
  const lists = layers.map(({ settings }) => pick(settings)).filter((list) => list !== undefined);
  return lists.length === 0 ? undefined : lists.flat();
}

/** Whether an address fits a pattern in which `*` stands for anything. */
function fits(pattern: string, url: string): boolean {
  const expression = pattern.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${expression.join('.*')}$`, 's').test(url);
}
