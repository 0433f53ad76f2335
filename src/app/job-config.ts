import { statSync } from 'node:fs';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { JobId } from '../shapes/ids.ts';
import type { JobConfig } from '../shapes/job.ts';
import type { Limits } from '../shapes/limits.ts';
import { Mode, type Rules } from '../shapes/permission.ts';
import { usageError } from './cli-error.ts';
import type { Env } from './io.ts';
import { type LimitFlags, parseLimits } from './limit-flags.ts';
import { idFromTitle, titleOf } from './prompt-text.ts';
import { parseRules } from './rule-flags.ts';

/** The flags of `run` and `start` that make up a job. */
export type JobFlags = LimitFlags & {
  dir?: string;
  name?: string;
  model?: string;
  permissionMode?: string;
  allow?: string[];
  deny?: string[];
  ask?: string[];
  appendSystemPrompt?: string;
  onLimit?: string;
  stay?: boolean;
};

/** What a job's settings are made from; nothing else is read. */
export type JobSources = {
  prompt: string;
  flags: JobFlags;
  env: Env;
  cwd: string;
  /** Of the user, where the system has such numbers. */
  uid: number | undefined;
  /** Milliseconds since the epoch. */
  now: number;
  /** A few characters of a-z 0-9 that make the id unique. */
  random: string;
  /** Whether the price of a model is known. */
  priced: (model: string) => boolean;
};

const DEFAULT_MODEL = 'claude-sonnet-5-5';
const DEFAULT_CONCURRENCY = 10;
const CONCURRENCY = ['NIGHTSHIFT_MAX_TOOL_CONCURRENCY', 'CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY'] as const;

/** Variables of the shell that are part of a job: recorded when it starts, the same wherever it runs. */
const JOB_VARIABLES: readonly string[] = [
  ...CONCURRENCY,
  'ENABLE_TOOL_SEARCH',
  'ENABLE_SEARCH_EXTRA_TOOLS',
  'BASH_DEFAULT_TIMEOUT_MS',
  'BASH_MAX_TIMEOUT_MS',
  'BASH_MAX_OUTPUT_LENGTH',
  'CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS',
  'CLAUDE_CODE_MAX_OUTPUT_TOKENS',
];

/** The settings snapshot of a new job. Throws a usage error (2) for the first thing that is wrong, before any job exists. */
export function buildJobConfig(sources: JobSources): JobConfig {
  const { prompt, flags, env, cwd, now } = sources;
  const warnings: string[] = [];
  const title = titleOf(prompt);
  const dir = workspace(flags.dir, cwd);
  const mode = permissionMode(flags.permissionMode, env, sources.uid);
  const rules: Rules = {
    ...parseRules(
      { allow: flags.allow ?? [], ask: flags.ask ?? [], deny: flags.deny ?? [] },
      { root: dir, home: env['HOME'] || homedir(), cwd },
    ),
    mode,
  };
  const model = flags.model ?? (env['ANTHROPIC_MODEL'] || DEFAULT_MODEL);
  const limits: Limits = { ...parseLimits(flags, now), concurrency: concurrency(env, warnings) };
  requirePrice(model, limits, sources.priced);
  const maxTokens = count(env, 'CLAUDE_CODE_MAX_OUTPUT_TOKENS', warnings);
  return {
    v: 1,
    id: flags.name === undefined ? idFromTitle(title, sources.random) : jobName(flags.name),
    title,
    dir,
    model,
    rules,
    limits,
    warnings,
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(flags.appendSystemPrompt === undefined ? {} : { appendSystemPrompt: flags.appendSystemPrompt }),
    onLimit: onLimit(flags.onLimit),
    stay: flags.stay ?? false,
    siblingAbort: 'bash',
    hooks: [],
    ladder: [],
    allowDescribed: [],
    env: jobVariables(env),
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
    'Take a model with a known price, or leave --max-usd out and bound the job with --max-steps or --deadline.',
  );
}

function workspace(dir: string | undefined, cwd: string): string {
  const path = resolve(cwd, dir ?? '.');
  const stat = lookAt(path);
  if (stat === 'folder') return path;
  throw usageError(
    stat === 'other' ? `--dir ${path} is a file, not a folder` : `--dir ${path}: there is no such folder`,
    'Name the folder that the job is to work in: --dir PATH',
  );
}

function lookAt(path: string): 'folder' | 'other' | 'nothing' {
  try {
    return statSync(path).isDirectory() ? 'folder' : 'other';
  } catch {
    return 'nothing';
  }
}

function permissionMode(text: string | undefined, env: Env, uid: number | undefined): Mode {
  const parsed = Mode.safeParse(text ?? 'default');
  if (!parsed.success) throw usageError(`--permission-mode ${text}: it is one of ${Mode.options.join(', ')}`);
  if (parsed.data === 'bypassPermissions' && uid === 0 && env['IS_SANDBOX'] !== '1') {
    throw usageError(
      'bypassPermissions is refused for root: nothing would stand between the model and this machine',
      'Run as another user, or set IS_SANDBOX=1 where the machine is there to be thrown away.',
    );
  }
  return parsed.data;
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

function jobVariables(env: Env): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of JOB_VARIABLES) {
    const value = env[name];
    if (value !== undefined) found[name] = value;
  }
  return found;
}
