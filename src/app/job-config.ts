import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { DEFAULT_MODEL, modelNamed } from '../core/model-alias.ts';
import { JobId } from '../shapes/ids.ts';
import type { JobConfig } from '../shapes/job.ts';
import type { Limits } from '../shapes/limits.ts';
import { modeNamed } from '../permissions/modes.ts';
import { Mode, type Rules } from '../shapes/permission.ts';
import type { PriceOverride } from '../shapes/price.ts';
import { usageError } from './cli-error.ts';
import type { Env } from './io.ts';
import { type LimitFlags, parseLimits } from './limit-flags.ts';
import { problemText, type JobSettings } from './job-settings.ts';
import { CONCURRENCY, jobVariables } from './job-variables.ts';
import { idFromTitle, titleOf } from './prompt-text.ts';

/** The flags of `run` and `start` that make up a job. */
export type JobFlags = LimitFlags & {
  dir?: string;
  name?: string;
  model?: string;
  permissionMode?: string;
  allow?: string[];
  deny?: string[];
  ask?: string[];
  settings?: string;
  appendSystemPrompt?: string;
  onLimit?: string;
  stay?: boolean;
};

/** What a job's settings are made from; nothing else is read. */
export type JobSources = {
  prompt: string;
  flags: JobFlags;
  /** Absolute path of the workspace. */
  dir: string;
  /** What the settings files and the rules that were typed come to. */
  settings: JobSettings;
  env: Env;
  /** Of the user, where the system has such numbers. */
  uid: number | undefined;
  /** Milliseconds since the epoch. */
  now: number;
  /** A few characters of a-z 0-9 that make the id unique. */
  random: string;
  /** Whether the price of a model is known. */
  priced: (model: string, own?: PriceOverride) => boolean;
};

const DEFAULT_CONCURRENCY = 10;

/** The settings snapshot of a new job. Throws a usage error (2) for the first thing that is wrong, before any job exists. */
export function buildJobConfig(sources: JobSources): JobConfig {
  const { prompt, flags, dir, now, settings } = sources;
  const { rules, hooks, ladder, nightshift } = settings;
  const warnings = settings.warnings.map(problemText);
  const title = titleOf(prompt);
  const mode = permissionMode(flags.permissionMode, rules, sources);
  const env = { ...sources.env, ...jobVariables(settings.env, sources.env) };
  if (flags.model?.trim() === '')
    throw usageError('--model "": it takes the name of a model', 'Leave it out for the default.');
  const model = modelNamed(flags.model ?? (env['ANTHROPIC_MODEL'] || settings.model || DEFAULT_MODEL));
  const limits: Limits = { ...parseLimits(flags, now), concurrency: concurrency(env, warnings) };
  requirePrice(model, limits, (name) => sources.priced(name, nightshift.prices));
  const maxTokens = count(env, 'CLAUDE_CODE_MAX_OUTPUT_TOKENS', warnings);
  return {
    v: 1,
    id: flags.name === undefined ? idFromTitle(title, sources.random) : jobName(flags.name),
    title,
    dir,
    model,
    rules: { ...rules, mode },
    limits,
    warnings,
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(flags.appendSystemPrompt === undefined ? {} : { appendSystemPrompt: flags.appendSystemPrompt }),
    onLimit: onLimit(flags.onLimit),
    stay: flags.stay ?? false,
    siblingAbort: nightshift.siblingAbort ?? 'bash',
    hooks,
    ladder,
    allowDescribed: nightshift.allowDescribed,
    ...(nightshift.classifierModel === undefined ? {} : { classifierModel: modelNamed(nightshift.classifierModel) }),
    ...(nightshift.prices === undefined ? {} : { prices: nightshift.prices }),
    env: jobVariables(settings.env, sources.env),
  };
}

/** A name that a job can have; throws a usage error for any other. */
export function jobName(name: string): JobId {
  const parsed = JobId.safeParse(name);
  if (parsed.success) return parsed.data;
  throw usageError(
    `--name ${JSON.stringify(name.slice(0, 120))}: ${parsed.error.issues[0]?.message ?? 'not a job name'}`,
  );
}

/** A budget is kept by knowing what each request may cost; throws a usage error where that is not known. */
export function requirePrice(model: string, limits: Partial<Limits>, priced: (model: string) => boolean): void {
  if (limits.budget === undefined || priced(model)) return;
  throw usageError(
    `--max-usd can't be kept: the price of the model ${model} is not known`,
    'Give its price with nightshift.prices in a settings file, take a model with a known one, or bound the job with --max-steps or --deadline instead.',
  );
}

/** The folder that `flag` names, absolute; without it the current one. Throws a usage error where there is none. */
export function workspace(dir: string | undefined, cwd: string, flag = '--dir'): string {
  const path = resolve(cwd, dir ?? '.');
  const stat = lookAt(path);
  if (stat === 'folder') return path;
  throw usageError(
    stat === 'other' ? `${flag} ${path} is a file, not a folder` : `${flag} ${path}: there is no such folder`,
    `Name a folder that exists as ${flag}, or leave it out to mean the current one.`,
  );
}

function lookAt(path: string): 'folder' | 'other' | 'nothing' {
  try {
    return statSync(path).isDirectory() ? 'folder' : 'other';
  } catch {
    return 'nothing';
  }
}

/** The mode that was typed, else that of the settings. */
function permissionMode(text: string | undefined, rules: Rules, { env, uid }: JobSources): Mode {
  const mode = text === undefined ? rules.mode : modeNamed(text);
  if (mode === undefined) throw usageError(`--permission-mode ${text}: it is one of ${Mode.options.join(', ')}`);
  if (mode !== 'bypassPermissions') return mode;
  if (rules.disableBypass) {
    throw usageError(
      'bypassPermissions is forbidden by permissions.disableBypassPermissionsMode of a settings file',
      'Take another mode, with rules for what need not be asked: --permission-mode acceptEdits --allow RULE',
    );
  }
  if (uid === 0 && env['IS_SANDBOX'] !== '1') {
    throw usageError(
      'bypassPermissions is refused for root: nothing would stand between the model and this machine',
      'Run as another user, or set IS_SANDBOX=1 where the machine is there to be thrown away.',
    );
  }
  return mode;
}

function onLimit(text: string | undefined): 'end' | 'ask' {
  if (text === undefined || text === 'end') return 'end';
  if (text === 'ask') return 'ask';
  throw usageError(`--on-limit ${text}: it is one of end, ask`);
}

/** The first of the two variables that is set counts, also when it is wrong: a typo must not wake the other one. */
function concurrency(env: Env, warnings: string[]): number {
  const name = CONCURRENCY.find((name) => env[name] !== undefined && env[name] !== '');
  return (
    (name && count(env, name, warnings, `${DEFAULT_CONCURRENCY} calls run at once at most`)) ?? DEFAULT_CONCURRENCY
  );
}

function count(env: Env, name: string, warnings: string[], instead = 'it is left out'): number | undefined {
  const text = env[name];
  if (text === undefined || text === '') return undefined;
  const value = /^\d+$/.test(text.trim()) ? Number(text) : 0;
  if (Number.isSafeInteger(value) && value > 0) return value;
  warnings.push(`${name}=${text} is not a whole number above 0; ${instead}`);
  return undefined;
}
