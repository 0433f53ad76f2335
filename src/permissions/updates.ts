import type { Behavior, Mode, Rule, Rules, RuleSource } from '../shapes/permission.ts';
import type { Destination, PermissionUpdate, SettingsChange } from '../shapes/permission-update.ts';
import { modeNamed } from './modes.ts';
import { absolute, parseRule, withRules } from './rules.ts';

/** Who asks for a change, and of which job. `bypass`: the job was started in `bypassPermissions`. */
export type Updating = { by: string; root: string; home: string; bypass: boolean };

/**
 * What a change comes to: the job's rules after it, its new mode, what a settings file has to take over, in words what
 * was done, and what of it could not be done.
 */
export type Updated = { rules: Rules; mode?: Mode; keep?: SettingsChange; said?: string; problems: string[] };

type Of<T extends PermissionUpdate['type']> = Extract<PermissionUpdate, { type: T }>;

/** Settings files by the change that goes there. */
const FILES: Record<Exclude<Destination, 'session'>, { kind: RuleSource['kind']; name: string }> = {
  localSettings: { kind: 'local', name: 'local' },
  projectSettings: { kind: 'project', name: 'project' },
  userSettings: { kind: 'user', name: 'user' },
};

/**
 * Applies one change that a hook asks for. It can do what a person could: give rules, modes and folders for the rest of
 * the job, and take back what was given so. Deny and ask rules that the job was started with stay, whatever is removed
 * from their file. Applying a change twice is the same as once.
 */
export function applyUpdate(rules: Rules, update: PermissionUpdate, by: Updating): Updated {
  switch (update.type) {
    case 'addRules':
    case 'replaceRules':
    case 'removeRules':
      return changeRules(rules, update, by);
    case 'setMode':
      return changeMode(rules, update, by);
    case 'addDirectories':
    case 'removeDirectories':
      return changeFolders(rules, update, by);
  }
}

function changeRules(rules: Rules, update: Of<'addRules' | 'replaceRules' | 'removeRules'>, by: Updating): Updated {
  const { type, behavior, destination } = update;
  if (type !== 'removeRules' && behavior === 'allow' && rules.managedOnly === true)
    return { rules, problems: ['managed settings let no allow rules count but their own'] };
  const source: RuleSource = { kind: 'session', base: by.root, hook: by.by };
  const read = update.rules.map((rule) => parseRule(textOf(rule), behavior, source));
  const good = read.filter((one) => 'tool' in one);
  const problems = read.flatMap((one) => ('tool' in one ? [] : one.text));
  if (good.length === 0 && !(type === 'replaceRules' && update.rules.length === 0)) return { rules, problems };
  const texts = good.map(({ text }) => text);
  const next = type === 'addRules' ? rules : without(rules, update, type === 'removeRules' ? good : undefined);
  const list = next[behavior];
  const fresh = good.filter((rule) => !list.some((known) => known.source.kind === 'session' && isSame(known, rule)));
  const verb = { addRules: '', replaceRules: 'nothing but ', removeRules: 'no longer ' }[type];
  return {
    rules: type === 'removeRules' ? next : withRules(next, { [behavior]: fresh.map(({ text }) => text) }, source),
    ...kept(destination, { kind: KINDS[type], list: behavior, values: texts }),
    said: `${verb}${behavior} ${texts.join(', ') || 'nothing'}${where(destination)}`,
    problems,
  };
}

const KINDS = { addRules: 'add', replaceRules: 'replace', removeRules: 'remove' } as const;

/** Without what was given in this job; of what its files brought, without what they allow. No `which`: all of the list. */
function without(
  rules: Rules,
  { behavior, destination }: { behavior: Behavior; destination: Destination },
  which: readonly Rule[] | undefined,
): Rules {
  const ofFile = destination === 'session' || behavior !== 'allow' ? undefined : FILES[destination].kind;
  const goes = (rule: Rule): boolean =>
    (rule.source.kind === 'session' || rule.source.kind === ofFile) &&
    (which === undefined || which.some((one) => isSame(one, rule)));
  return { ...rules, [behavior]: rules[behavior].filter((rule) => !goes(rule)) };
}

const isSame = (a: Rule, b: Rule): boolean => a.tool === b.tool && a.specifier === b.specifier;

function changeMode(rules: Rules, { mode: wanted, destination }: Of<'setMode'>, { bypass }: Updating): Updated {
  const mode = modeNamed(wanted);
  const refused = (why: string): Updated => ({ rules, problems: [`the mode ${wanted}: ${why}`] });
  if (mode === undefined) return refused('nightshift has no such mode');
  if (mode === 'bypassPermissions') {
    if (rules.disableBypass) return refused('the settings forbid it');
    if (!bypass) return refused('only a job that was started in it may come back to it');
    if (destination !== 'session') return refused('it is never written into settings; say "destination": "session"');
  }
  return {
    rules: { ...rules, mode },
    mode,
    ...kept(destination, { kind: 'mode', mode }),
    said: `the mode ${mode}${where(destination)}`,
    problems: [],
  };
}

function changeFolders(
  rules: Rules,
  { type, directories, destination }: Of<'addDirectories' | 'removeDirectories'>,
  by: Updating,
): Updated {
  const folders = directories.map((path) => absolute(path, by));
  if (folders.length === 0) return { rules, problems: [] };
  const adds = type === 'addDirectories';
  if (adds && rules.managedOnly === true)
    return { rules, problems: ['managed settings let no directories count but their own'] };
  const rest = rules.directories.filter((folder) => !folders.includes(folder));
  return {
    rules: { ...rules, directories: adds ? [...rest, ...folders] : rest },
    ...kept(destination, { kind: adds ? 'add' : 'remove', list: 'additionalDirectories', values: directories }),
    said: `${adds ? '' : 'no longer '}the folder ${folders.join(', ')}${where(destination)}`,
    problems: [],
  };
}

const kept = (destination: Destination, change: SettingsChange): Pick<Updated, 'keep'> =>
  destination === 'session' ? {} : { keep: change };

const where = (destination: Destination): string =>
  destination === 'session' ? ' for this job' : ` for this job and in the ${FILES[destination].name} settings`;

const textOf = ({ toolName, ruleContent }: { toolName: string; ruleContent?: string | null | undefined }): string =>
  ruleContent === undefined || ruleContent === null ? toolName : `${toolName}(${ruleContent})`;

/** Suggested allow rules as the change that gives them to the job, for hooks to hand back. */
export function asUpdates(suggestions: readonly string[], root: string): PermissionUpdate[] {
  const rules = suggestions
    .map((text) => parseRule(text, 'allow', { kind: 'session', base: root }))
    .flatMap((rule) => ('tool' in rule ? rule : []))
    .map(({ tool, specifier }) => ({ toolName: tool, ...(specifier === undefined ? {} : { ruleContent: specifier }) }));
  return rules.length === 0 ? [] : [{ type: 'addRules', rules, behavior: 'allow', destination: 'session' }];
}
