import { factsOf } from './call-facts.ts';
import type { Checked, Site } from './site.ts';

/** The paths of a call, each with where its links lead. */
export type LedTo = Record<string, string>;

/** Where the paths of a call lead now. */
export function ledTo(site: Site, checked: Checked): LedTo {
  const { call } = factsOf(site, checked);
  return Object.fromEntries(call.traits.paths.map(({ path }) => [path, site.hosts.files.real(path)]));
}

/** What the model is told when a path leads elsewhere than it did when somebody was asked about it; undefined when none does. */
export function ledAstray(site: Site, checked: Checked, before: LedTo): string | undefined {
  const now = ledTo(site, checked);
  const path = Object.keys(now).find((one) => Object.hasOwn(before, one) && before[one] !== now[one]);
  if (path === undefined) return undefined;
  return `${path} led to ${before[path]} when this ${checked.tool.name} call was asked about, and leads to ${now[path]} now. It was not run. Look at what changed; to do it there, call the tool again.`;
}
