import type { Settings } from '../shapes/settings.ts';
import { isOfFolder, type SettingsLayer } from './merge-settings.ts';

/** One setting as it stands, and where it comes from. `counts: false`: it is there, but its folder is not trusted. */
export type SettingValue = {
  value: unknown;
  origin: string;
  counts: boolean;
  /** Of a list that several places add to: what came from where. */
  items?: { value: unknown; origin: string; counts: boolean }[];
};

/** Lists of which that of the strongest place counts as a whole. */
const WHOLE = new Set(['nightshift.prompts', 'fallbackModel']);
/** Names under which people keep what nobody else may see. */
const SECRET = /KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL/i;

/** Every setting by its path, such as `permissions.defaultMode`; layers from the strongest to the weakest. */
export function settingValues(
  layers: readonly SettingsLayer[],
  at: { trusted: boolean },
): Record<string, SettingValue> {
  const found = new Map<string, SettingValue[]>();
  for (const { source, settings } of layers) {
    const origin = source.file ?? '--settings';
    for (const [path, value] of leaves(settings)) {
      const counts = at.trusted || !isOfFolder(source) || FORBIDS.has(path);
      found.set(path, [...(found.get(path) ?? []), { value: shown(path, value), origin, counts }]);
    }
  }
  return Object.fromEntries([...found].map(([path, values]) => [path, laidTogether(path, values)]));
}

/** What counts although its folder is not trusted. */
const FORBIDS = new Set([
  'permissions.deny',
  'permissions.ask',
  'permissions.disableBypassPermissionsMode',
  'disabledMcpjsonServers',
]);

function laidTogether(path: string, values: readonly SettingValue[]): SettingValue {
  // What counts comes before what does not, and each in the order of strength.
  const sorted = [...values.filter(({ counts }) => counts), ...values.filter(({ counts }) => !counts)];
  const first = sorted[0]!;
  if (!Array.isArray(first.value) || WHOLE.has(path)) return first;
  const items = sorted.flatMap(({ value, origin, counts }) =>
    (Array.isArray(value) ? value : [value]).map((item: unknown) => ({ value: item, origin, counts })),
  );
  const distinct = items.filter((item, i) => items.findIndex((other) => same(other.value, item.value)) === i);
  return {
    value: distinct.map(({ value }) => value),
    origin: [...new Set(sorted.map(({ origin }) => origin))].join(', '),
    counts: first.counts,
    items: distinct,
  };
}

/** Everything but objects is a leaf; an empty object is one too. */
function leaves(settings: Settings): [string, unknown][] {
  const walk = (value: unknown, path: string): [string, unknown][] => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[path, value]];
    const entries = Object.entries(value);
    if (entries.length === 0) return [[path, value]];
    return entries.flatMap(([key, inner]) => walk(inner, path === '' ? key : `${path}.${key}`));
  };
  return Object.keys(settings).length === 0 ? [] : walk(settings, '');
}

function shown(path: string, value: unknown): unknown {
  return path.startsWith('env.') && SECRET.test(path) && typeof value === 'string' && value !== ''
    ? '(not shown)'
    : value;
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
