/** Variables that belong to the runner: credentials for the model and addresses of its own service. A job's commands never get them. */
const KEPT_BACK = [
  /^ANTHROPIC_/,
  /^CLAUDE_API_KEY/,
  /^CLAUDE_CODE_OAUTH/,
  /^CLAUDE_CODE_CLIENT_/,
  /^CLAUDE_CODE_API_KEY/,
  /^AWS_BEARER_TOKEN_BEDROCK$/,
  /^TEMPORAL_/,
  /^NIGHTSHIFT_/,
];

/** Nobody sits at a terminal: whatever would open an editor, a pager or a password prompt must end instead of waiting. */
const UNATTENDED = { GIT_TERMINAL_PROMPT: '0', GIT_EDITOR: 'true', PAGER: 'cat', TERM: 'dumb' };

/**
 * What git takes from nobody but the environment: a folder is a repository only when it is called `.git` or named as one, so
 * that files which a job may write never become a configuration, and the file watcher of a repository, which may be any
 * program and may outlive the call, is not started.
 */
const GIT_CONFIG = [
  ['safe.bareRepository', 'explicit'],
  ['core.fsmonitor', 'false'],
] as const;

type Env = Readonly<Record<string, string | undefined>>;

/**
 * The whole environment of a job's child process: the worker's, then the unattended defaults, then the job's variables;
 * `mark` is the value of `NIGHTSHIFT_CALL`, by which the processes of a call are found.
 */
export function childEnv(processEnv: Env, jobEnv: Env, mark: string): Record<string, string> {
  const env: Record<string, string> = { ...handedOn(processEnv), ...UNATTENDED, ...handedOn(jobEnv) };
  return { ...env, ...gitConfig(env['GIT_CONFIG_COUNT']), CLAUDECODE: '1', NIGHTSHIFT_CALL: mark };
}

/** The settings for git, behind the `count` that the environment has already: of several the last one counts. */
function gitConfig(count = ''): Record<string, string> {
  const first = /^\d+$/.test(count) ? Number(count) : 0;
  const settings = GIT_CONFIG.flatMap(([key, value], i) => [
    [`GIT_CONFIG_KEY_${first + i}`, key],
    [`GIT_CONFIG_VALUE_${first + i}`, value],
  ]);
  return { ...Object.fromEntries(settings), GIT_CONFIG_COUNT: String(first + GIT_CONFIG.length) };
}

function handedOn(env: Env): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && !isKeptBack(name)) kept[name] = value;
  }
  return kept;
}

/** Whether a variable belongs to the runner, so that no process of a job gets it. */
export function isKeptBack(name: string): boolean {
  return KEPT_BACK.some((pattern) => pattern.test(name));
}
