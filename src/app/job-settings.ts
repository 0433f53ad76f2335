import { isOfFolder, mergeSettings, type MergedSettings, type SettingsLayer } from '../core/merge-settings.ts';
import { mergeRules, type RuleLayer, unknownToolWarnings } from '../permissions/rules.ts';
import type { LadderStep } from '../shapes/ladder.ts';
import type { Rules, Warning } from '../shapes/permission.ts';
import type { ConfigProblem, PromptStep } from '../shapes/settings.ts';
import { type CliError, usageError } from './cli-error.ts';
import { isWithheld } from './job-variables.ts';
import { spanMs } from './limit-flags.ts';
import type { ConfigRead } from './read-config.ts';
import { checkRuleFlags, type RuleFlags } from './rule-flags.ts';

/** What the settings of a folder come to for a job in it. */
export type JobSettings = Omit<MergedSettings, 'ignored'> & {
  rules: Rules;
  ladder: LadderStep[];
  warnings: ConfigProblem[];
};

/**
 * Lays the settings files and the rules of the command line together. `trusted` takes the folder for trusted whatever its
 * user said. Throws a usage error that lists all problems with which no job may start.
 */
export function jobSettings(
  read: ConfigRead,
  options: { flags?: RuleFlags; tools?: readonly string[]; trusted?: boolean } = {},
): JobSettings {
  if (options.flags !== undefined) checkRuleFlags(options.flags);
  const stops = read.problems.filter(({ stops }) => stops);
  if (stops.length > 0) throw settingsError(stops);
  const trusted = options.trusted ?? read.trust.trusted;
  const { ignored, ...merged } = mergeSettings(read.layers, { trusted });
  const rules = rulesOf(read, options.flags, trusted);
  const about = [...rules.warnings, ...unknownToolWarnings(rules, options.tools ?? [])];
  return {
    ...merged,
    rules: { ...rules, warnings: [], guarded: guardedBy(read) },
    ladder: ladderOf(merged.nightshift.prompts ?? []),
    warnings: [
      ...read.problems,
      ...ignored.map(({ source, keys }) => ({
        file: source.file ?? source.base,
        text: inVain(keys, read),
        stops: false,
      })),
      ...about.map((warning) => problemOf(warning, read)),
      ...withheld(read, trusted),
    ],
  };
}

/** Why no job can start, and where. */
export function settingsError(problems: readonly ConfigProblem[]): CliError {
  const what =
    problems.length === 1 ? 'a settings file is wrong' : `the settings files are wrong in ${problems.length} places`;
  return usageError(
    [`${what}, and a job must not start without rules that somebody relies on`, ...problems.map(problemText)].join(
      '\n  ',
    ),
    'Mend it and start the job again. nightshift config show says how all settings are understood.',
  );
}

/** A problem as compilers write theirs: `file:line:column: text`. */
export function problemText({ file, line, column, text }: ConfigProblem): string {
  return `${[file, line, column].filter((part) => part !== undefined).join(':')}: ${text}`;
}

function inVain(keys: readonly string[], { trust }: ConfigRead): string {
  return `Before this folder is trusted these do not count: ${keys.join(', ')}. To trust it: nightshift trust ${quoted(trust.root)}`;
}

function quoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}

function rulesOf(read: ConfigRead, flags: RuleFlags | undefined, trusted: boolean): Rules {
  const typed: RuleLayer[] = flags === undefined ? [] : [{ source: { kind: 'cli', base: read.cwd }, ...flags }];
  const layers = read.layers.map((layer) => ruleLayer(layer, trusted));
  const isManaged = ({ source }: RuleLayer): boolean => source.kind === 'managed';
  return mergeRules([...layers.filter(isManaged), ...typed, ...layers.filter((layer) => !isManaged(layer))], {
    trusted,
    root: read.dir,
    home: read.home,
  });
}

/** Where settings come from that are not called so: whoever may change them makes the rules of the next job. */
function guardedBy({ layers, userConfig }: ConfigRead): string[] {
  const named = layers.filter(({ source }) => source.kind === 'flagFile').flatMap(({ source }) => source.file ?? []);
  return [...new Set([userConfig, ...named])];
}

/** Of a folder that is not trusted only what forbids is handed on. */
function ruleLayer({ source, settings }: SettingsLayer, trusted: boolean): RuleLayer {
  const { allow, ask, deny, defaultMode, additionalDirectories, disableBypassPermissionsMode } =
    settings.permissions ?? {};
  const gives = trusted || !isOfFolder(source);
  return {
    source,
    ...(ask ? { ask } : {}),
    ...(deny ? { deny } : {}),
    ...(defaultMode === undefined ? {} : { defaultMode }),
    ...(disableBypassPermissionsMode ? { disableBypass: true } : {}),
    ...(gives && allow ? { allow } : {}),
    ...(gives && additionalDirectories ? { additionalDirectories } : {}),
    ...(source.kind === 'managed' && settings.allowManagedPermissionRulesOnly ? { managedOnly: true } : {}),
  };
}

function problemOf({ text, rule, list, source }: Warning, read: ConfigRead): ConfigProblem {
  const layer = read.layers.find((layer) => layer.source === source);
  const rules = list === undefined ? undefined : layer?.settings.permissions?.[list];
  const path =
    list === undefined ? ['permissions', 'defaultMode'] : ['permissions', list, rules?.indexOf(rule ?? '') ?? 0];
  const place = layer === undefined ? undefined : read.placeOf(layer, path);
  return { file: source?.file ?? 'command line', ...place, text, stops: false };
}

/** Says which variables of `env` blocks never reach a job. */
function withheld(read: ConfigRead, trusted: boolean): ConfigProblem[] {
  return read.layers
    .filter((layer) => trusted || !isOfFolder(layer.source))
    .flatMap((layer) =>
      Object.keys(layer.settings.env ?? {})
        .filter(isWithheld)
        .map((name) => ({
          file: layer.source.file ?? '--settings',
          ...read.placeOf(layer, ['env', name]),
          text: `env.${name} does not count: it is for the service. Export it in the shell that runs: nightshift up`,
          stops: false,
        })),
    );
}

/** Steps in the order of time; the first that ends a question is the last. */
function ladderOf(steps: readonly PromptStep[]): LadderStep[] {
  const timed = steps.map(({ after, ...step }) => ({ ...step, afterMs: spanMs(after) ?? 0 }));
  const sorted = timed.toSorted((a, b) => a.afterMs - b.afterMs);
  const end = sorted.findIndex((step) => step.then !== undefined);
  return end < 0 ? sorted : sorted.slice(0, end + 1);
}
