import type { Behavior, Mode, Rule, Rules, RuleSource, Warning } from '../shapes/permission.ts';
import { modeNamed } from './modes.ts';
import { joinPath, normalisePath } from './paths.ts';

/** Names under which a tool may still be written in rules. */
export const toolAliases: ReadonlyMap<string, string> = new Map([
  ['Task', 'Agent'],
  ['KillShell', 'TaskStop'],
  ['KillBash', 'TaskStop'],
  ['BashOutput', 'TaskOutput'],
]);

/** Fields that a tool's own rule syntax is for; `Tool(field:value)` on them would look like protection and give none. */
const contentFields: ReadonlyMap<string, readonly string[]> = new Map([
  ['Bash', ['command']],
  ['PowerShell', ['command']],
  ['Monitor', ['command']],
  ['Read', ['file_path']],
  ['Edit', ['file_path']],
  ['Write', ['file_path']],
  ['Grep', ['path']],
  ['Glob', ['path']],
  ['NotebookEdit', ['notebook_path']],
  ['WebFetch', ['url']],
]);

/** Tools whose path rules are never looked at; `Read` and `Edit` rules speak for them. */
const spokenFor: ReadonlyMap<string, string> = new Map([
  ['Write', 'Edit'],
  ['MultiEdit', 'Edit'],
  ['NotebookEdit', 'Edit'],
  ['Glob', 'Read'],
  ['Grep', 'Read'],
  ['LS', 'Read'],
]);

/** The parts of a parameter rule `Tool(param:value)`, if a specifier has its form. */
export function parameterOf(specifier: string): { name: string; value: string } | undefined {
  const match = /^\s*([A-Za-z_][\w-]*)\s*:\s*([\s\S]*?)\s*$/.exec(specifier);
  return match ? { name: match[1]!, value: match[2]! } : undefined;
}

/** Reads one rule as written in a settings file, on a command line or in an answer. */
export function parseRule(text: unknown, list: Behavior, source: RuleSource): Rule | Warning {
  const warn = (why: string): Warning => ({ text: why, rule: String(text), list, source });
  if (typeof text !== 'string')
    return warn('A permission rule must be a string such as "Bash(npm test:*)"; this entry is skipped.');
  const match = /^([^\s()]+)(?:\(([\s\S]*)\))?$/.exec(text.trim());
  if (!match) return warn(`"${text}" is not a rule; write Tool or Tool(specifier). It is skipped.`);
  const tool = toolAliases.get(match[1]!) ?? match[1]!;
  const specifier = match[2]?.trim();
  if (tool.includes('*') && list === 'allow' && !/^mcp__[^*]+?__/.test(tool))
    return warn(
      `"${text}" approves nothing: in allow, a * is only good behind a whole server name, as in mcp__server__get_*.`,
    );
  if (tool.includes('*') && specifier !== undefined)
    return warn(`"${text}" is skipped: a rule with a * in the tool's name takes no specifier.`);
  if (specifier === '' && list === 'allow')
    return warn(`"${text}" approves nothing; write ${tool} to allow every use.`);
  const everything = specifier === undefined || specifier === '' || specifier === '*';
  if (everything) return { text, tool, source };
  const useless = uselessRule(text, tool, specifier, list);
  return useless === undefined ? { text, tool, specifier, source } : warn(useless);
}

/** Tools whose rules have a syntax of their own. */
const takesSpecifier = ['Bash', 'Monitor', 'Read', 'Edit', 'WebFetch', 'Agent', 'Skill', 'Cd', 'PowerShell'];

/** Why a well-formed rule would never decide anything. */
function uselessRule(text: string, tool: string, specifier: string, list: Behavior): string | undefined {
  const parameter = parameterOf(specifier);
  if (parameter && contentFields.get(tool)?.includes(parameter.name))
    return `"${text}" has no effect: ${parameter.name} can't be matched by name; write ${tool === 'WebFetch' ? 'WebFetch(domain:host)' : `${spokenFor.get(tool) ?? tool}(pattern)`}.`;
  const speaker = spokenFor.get(tool);
  if (speaker && !(parameter && list !== 'allow'))
    return `"${text}" has no effect: ${tool} calls follow the path rules of ${speaker}; write ${speaker}(${specifier}).`;
  if ((tool === 'Read' || tool === 'Edit') && specifier.startsWith('!'))
    return `"${text}" has no effect: a rule can't take back what another one says; leave the ! out and use another list.`;
  if (tool === 'WebFetch' && parameter?.name !== 'domain' && !(parameter && list !== 'allow'))
    return `"${text}" has no effect; write WebFetch(domain:host).`;
  if (tool === 'WebFetch' && parameter?.name === 'domain' && parameter.value === '')
    return `"${text}" names no host; write WebFetch(domain:host).`;
  if (takesSpecifier.includes(tool)) return undefined;
  const meant = takesSpecifier.find((name) => name.toLowerCase() === tool.toLowerCase());
  if (meant !== undefined) return `"${text}" has no effect: names are case-sensitive; write ${meant}(${specifier}).`;
  if (list === 'allow')
    return `"${text}" approves nothing: ${tool} takes no specifier in allow; write ${tool} to allow every use.`;
  if (!parameter) return `"${text}" has no effect: write ${tool}, or ${tool}(parameter:value).`;
  return undefined;
}

/** What one place contributes. Layers are given from the strongest to the weakest. */
export type RuleLayer = {
  source: RuleSource;
  allow?: readonly unknown[];
  ask?: readonly unknown[];
  deny?: readonly unknown[];
  defaultMode?: unknown;
  additionalDirectories?: readonly string[];
  disableBypass?: boolean;
  /** Only with a managed source: allow rules and directories of all other layers are dropped. */
  managedOnly?: boolean;
};

/** Lays all layers together. Lists add up, the mode of the strongest layer that names one counts, an untrusted folder gets nothing allowed by its own files. */
export function mergeRules(layers: readonly RuleLayer[], at: { trusted: boolean; root: string; home: string }): Rules {
  const rules: Rules = {
    deny: [],
    ask: [],
    allow: [],
    mode: 'default',
    directories: [],
    trusted: at.trusted,
    disableBypass: false,
    warnings: [],
  };
  const managedOnly = layers.some((layer) => layer.managedOnly && layer.source.kind === 'managed');
  let mode: Mode | undefined;
  const stricter: Mode[] = [];
  for (const layer of layers) {
    const own = layer.source.kind === 'project' || layer.source.kind === 'local';
    const gives = (!managedOnly || layer.source.kind === 'managed') && (at.trusted || !own);
    addRules(rules, 'deny', layer.deny ?? [], layer.source);
    addRules(rules, 'ask', layer.ask ?? [], layer.source);
    if (!managedOnly || layer.source.kind === 'managed') addRules(rules, 'allow', layer.allow ?? [], layer.source);
    if (
      !gives &&
      own &&
      !at.trusted &&
      ((layer.allow?.length ?? 0) > 0 || (layer.additionalDirectories?.length ?? 0) > 0)
    )
      rules.warnings.push({
        text: 'Allow rules and additional directories of this folder do not count before it is trusted: run nightshift trust.',
        source: layer.source,
      });
    if (gives) rules.directories.push(...(layer.additionalDirectories ?? []).map((path) => absolute(path, at)));
    if (layer.disableBypass) rules.disableBypass = true;
    const named = modeOf(layer, rules, at.trusted || !own);
    if (own && !at.trusted) stricter.push(...(named === undefined ? [] : [named]));
    else mode ??= named;
  }
  rules.mode = stricter.reduce(stricterMode, mode ?? 'default');
  rules.directories = [...new Set(rules.directories)];
  if (managedOnly) rules.managedOnly = true;
  return rules;
}

function modeOf(layer: RuleLayer, rules: Rules, trusted: boolean): Mode | undefined {
  if (layer.defaultMode === undefined) return undefined;
  const mode = modeNamed(layer.defaultMode);
  if (mode === undefined) {
    rules.warnings.push({
      text: `${JSON.stringify(layer.defaultMode)} is no permission mode that nightshift has; use default, acceptEdits, plan, dontAsk or bypassPermissions.`,
      source: layer.source,
    });
    return undefined;
  }
  if (!trusted && (mode === 'acceptEdits' || mode === 'bypassPermissions')) {
    rules.warnings.push({
      text: `The mode ${mode} of this folder does not count before it is trusted: run nightshift trust.`,
      source: layer.source,
    });
    return undefined;
  }
  return mode;
}

/** From the mode that lets most happen to those that let least. */
const strictness: Readonly<Record<Mode, number>> = {
  bypassPermissions: 0,
  acceptEdits: 1,
  default: 2,
  dontAsk: 3,
  plan: 3,
};

/** A folder that is not trusted may make a mode stricter and never laxer. */
function stricterMode(mode: Mode, wanted: Mode): Mode {
  return strictness[wanted] > strictness[mode] ? wanted : mode;
}

/** A folder as settings name it: relative to the workspace, or to the home folder with a `~`. */
export function absolute(path: string, { root, home }: { root: string; home: string }): string {
  if (path === '~' || path.startsWith('~/')) return normalisePath(`${home}/${path.slice(2)}`);
  return normalisePath(joinPath(root, path));
}

function addRules(rules: Rules, list: Behavior, texts: readonly unknown[], source: RuleSource): void {
  for (const text of texts) {
    const parsed = parseRule(text, list, source);
    if ('tool' in parsed) rules[list].push(parsed);
    else rules.warnings.push(parsed);
  }
}

/** The rules with some more, as an answer or a changed mode adds them. What managed settings keep for themselves nobody adds. */
export function withRules(
  rules: Rules,
  more: {
    allow?: readonly string[];
    ask?: readonly string[];
    deny?: readonly string[];
    directories?: readonly string[];
    mode?: Mode;
  },
  source: RuleSource,
): Rules {
  const next: Rules = {
    ...rules,
    deny: [...rules.deny],
    ask: [...rules.ask],
    allow: [...rules.allow],
    warnings: [...rules.warnings],
    directories: [...new Set([...rules.directories, ...((!rules.managedOnly && more.directories) || [])])],
    mode: more.mode ?? rules.mode,
  };
  for (const list of ['deny', 'ask', 'allow'] as const) {
    if (list === 'allow' && rules.managedOnly) continue;
    addRules(next, list, more[list] ?? [], source);
  }
  return next;
}

/** Warnings about deny and ask rules that name a tool nobody has; names with `_` or `*` may belong to servers and are left alone. */
export function unknownToolWarnings(rules: Rules, toolNames: readonly string[]): Warning[] {
  const known = new Set([
    ...toolNames,
    ...spokenFor.keys(),
    ...contentFields.keys(),
    'Agent',
    'Skill',
    'Cd',
    'WebSearch',
  ]);
  return (['deny', 'ask', 'allow'] as const).flatMap((list) =>
    rules[list]
      .filter((rule) => !/[_*]/.test(rule.tool) && !known.has(rule.tool))
      .map((rule) => ({
        text: `"${rule.text}" names no tool: ${rule.tool} is unknown (names are case-sensitive).`,
        rule: rule.text,
        list,
        source: rule.source,
      })),
  );
}

/** Where a rule came from, for people. */
export function sourceText(source: RuleSource): string {
  const names: Record<RuleSource['kind'], string> = {
    managed: 'managed settings',
    cli: 'command line',
    flagFile: '--settings file',
    local: 'local settings',
    project: 'project settings',
    user: 'user settings',
    session: 'answers given in this job',
  };
  if (source.hook !== undefined) return `PermissionRequest hook ${source.hook}`;
  return source.file === undefined ? names[source.kind] : `${names[source.kind]} (${source.file})`;
}
