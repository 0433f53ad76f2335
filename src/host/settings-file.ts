import type { SettingsLayer } from '../core/merge-settings.ts';
import type { RuleSource } from '../shapes/permission.ts';
import { type ConfigProblem, NightshiftSettings, PermissionSettings, Settings } from '../shapes/settings.ts';
import { readHooks } from './hook-settings.ts';
import { issueText } from './issue-text.ts';
import {
  type JsonFile,
  type JsonObject,
  type JsonPath,
  type Place,
  parseJson,
  pathText,
  readJsonFile,
} from './json-file.ts';

/** A settings file as a layer, where it could be read at all, and what is wrong with it. */
export type SettingsRead = { layer?: SettingsLayer; problems: ConfigProblem[]; at?: (path: JsonPath) => Place };

/** Reads a settings file; without one there is no layer and no problem. */
export async function readSettingsFile(path: string, source: RuleSource): Promise<SettingsRead> {
  return readSettings(await readJsonFile(path, { once: guards }), path, source);
}

/** Reads settings from a text; `name` stands for the file in what is said about it. */
export function readSettingsText(text: string, name: string, source: RuleSource): SettingsRead {
  return readSettings(parseJson(text, name, guards), name, source);
}

function readSettings(json: JsonFile, file: string, source: RuleSource): SettingsRead {
  if (json.kind === 'nothing') return { problems: [] };
  if (json.kind === 'broken') return { problems: [json.problem] };
  const problems = [...json.warnings];
  const complain = (path: JsonPath, text: string, stops: boolean): void => {
    problems.push({ file, ...json.at(path), text: `${pathText(path)} ${text}.`, stops });
  };
  const settings = readKnown(json.value, complain);
  const hooks = readHooks(json.value['hooks'], file, (path, text, stops) => complain(['hooks', ...path], text, stops));
  problems.sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
  return { layer: { source, settings, hooks }, problems, at: json.at };
}

/** Keys whose value decides what a job may do: with a wrong one no job starts. Others are left out when they are wrong. */
const GUARDS = new Set<string>([
  'permissions',
  'nightshift',
  'disableAllHooks',
  'allowManagedHooksOnly',
  'allowManagedPermissionRulesOnly',
  'allowedHttpHookUrls',
  'httpHookAllowedEnvVars',
  'disabledMcpjsonServers',
] satisfies (keyof typeof Settings.shape)[]);

/** Whether a part of a file belongs to what guards a job: of two lists of rules or hooks none may get lost. */
const guards = ([top]: JsonPath): boolean => top === 'hooks' || GUARDS.has(String(top));

type Complain = (path: JsonPath, text: string, stops: boolean) => void;

function readKnown(value: JsonObject, complain: Complain): Settings {
  const settings: JsonObject = {};
  for (const [key, part] of Object.entries(value)) {
    if (key === 'hooks') continue;
    if (!isKnown(key)) {
      if (!PASSED_OVER.has(key)) complain([key], 'is no setting that nightshift knows; it has no effect', false);
      settings[key] = part;
      continue;
    }
    const parsed = Settings.shape[key].safeParse(part);
    if (parsed.success) settings[key] = parsed.data;
    else {
      const stops = GUARDS.has(key);
      for (const issue of parsed.error.issues) {
        const at = [key, ...issue.path.map((part) => (typeof part === 'number' ? part : String(part)))];
        complain(at, `${issueText(issue)}${remedyOf(at)}${stops ? '' : '; it is left out'}`, stops);
      }
    }
  }
  unknownInside(settings['permissions'], 'permissions', PERMISSION_KEYS, complain);
  unknownInside(settings['nightshift'], 'nightshift', NIGHTSHIFT_KEYS, complain);
  for (const [key, text] of unmet(settings)) complain([key], text, false);
  return settings;
}

const PERMISSION_KEYS = new Set([
  ...Object.keys(PermissionSettings.shape),
  'disableAutoMode',
  'skipDangerousModePermissionPrompt',
]);
const NIGHTSHIFT_KEYS = new Set(Object.keys(NightshiftSettings.shape));

function unknownInside(value: unknown, name: string, known: ReadonlySet<string>, complain: Complain): void {
  if (typeof value !== 'object' || value === null) return;
  for (const key of Object.keys(value).filter((key) => !known.has(key)))
    complain([name, key], 'is no setting that nightshift knows; it has no effect', false);
}

function isKnown(key: string): key is keyof typeof Settings.shape {
  return Object.hasOwn(Settings.shape, key);
}

/** How a list of rules is written, where there is another thing in its place. */
function remedyOf(path: JsonPath): string {
  const [top, list] = path;
  if (top !== 'permissions') return '';
  if (path.length <= 3 && (list === 'allow' || list === 'ask' || list === 'deny'))
    return `; write "${list}": ["Bash(npm test)", "Read(docs/**)"]`;
  return list === 'additionalDirectories' ? '; write ["../other"]' : '';
}

/** What a file asks for that does not happen, and that somebody may count on. */
function* unmet(settings: JsonObject): Generator<[string, string]> {
  const { sandbox } = settings;
  if (typeof sandbox === 'object' && sandbox !== null && 'enabled' in sandbox && sandbox.enabled === true)
    yield ['sandbox', 'is not applied: commands run without a sandbox, under the permission rules alone'];
  if (settings['apiKeyHelper'] !== undefined)
    yield ['apiKeyHelper', 'is not run: give the service its key with ANTHROPIC_API_KEY'];
}

/** Settings of Claude Code that mean nothing for an unattended job, or are read elsewhere: no word about them. */
const PASSED_OVER = new Set(
  [
    '$schema agent alwaysThinkingEnabled apiKeyHelper attribution autoCompactEnabled autoCompactWindow autoMemoryDirectory',
    'autoMemoryEnabled autoMode autoUpdatesChannel availableModels awsAuthRefresh awsCredentialExport blockedMarketplaces',
    'allowedMcpServers deniedMcpServers allowManagedMcpServersOnly allowedChannelPlugins channelsEnabled claudeMdExcludes',
    'cleanupPeriodDays companyAnnouncements defaultShell disableAutoMode disableDeepLinkRegistration',
    'disableSkillShellExecution editorMode effortLevel enabledPlugins extraKnownMarketplaces fallbackModel',
    'fastModePerSessionOptIn feedbackSurveyRate fileSuggestion forceLoginMethod forceLoginOrgUUID forceRemoteSettingsRefresh',
    'includeCoAuthoredBy includeGitInstructions language minimumVersion modelOverrides otelHeadersHelper outputStyle',
    'plansDirectory pluginConfigs pluginTrustMessage prefersReducedMotion respectGitignore sandbox showThinkingSummaries',
    'showTurnDuration skipDangerousModePermissionPrompt skipWebFetchPreflight spinnerTipsEnabled spinnerTipsOverride',
    'spinnerVerbs sshConfigs statusLine strictKnownMarketplaces teammateMode terminalProgressBarEnabled theme tui',
    'useAutoModeDuringPlan verbose viewMode voiceEnabled worktree wslInheritsWindowsSettings',
  ].flatMap((line) => line.split(' ')),
);
