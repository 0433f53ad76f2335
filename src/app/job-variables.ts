import { isKeptBack } from '../host/child-env.ts';
import type { Env } from './io.ts';

/** Names of the variable that says how many calls run at once; the first that is set counts. */
export const CONCURRENCY = ['NIGHTSHIFT_MAX_TOOL_CONCURRENCY', 'CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY'] as const;

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
  'CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS',
  'CLAUDE_CODE_STOP_HOOK_BLOCK_CAP',
];

/** Variables of an `env` block that the service keeps for itself: they never reach a job, nor the disk. */
export function isWithheld(name: string): boolean {
  return isKeptBack(name) && !JOB_VARIABLES.includes(name) && name !== 'ANTHROPIC_MODEL';
}

/**
 * The variables of a job: those of the settings' `env` blocks, and the job variables of the shell. The shell wins, but for
 * `PATH`: every shell has one, so that of the settings would never count.
 */
export function jobVariables(block: Readonly<Record<string, string>>, shell: Env): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const [name, value] of Object.entries(block)) {
    if (!isWithheld(name)) variables[name] = name === 'PATH' ? value : (shell[name] ?? value);
  }
  for (const name of JOB_VARIABLES) {
    const value = shell[name];
    if (value !== undefined) variables[name] = value;
  }
  return variables;
}
