import { join } from 'node:path';
import type { ShellSpec } from '../core/ports.ts';

const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** File in the run's folder that holds what the files ahead of a command complained about. */
export const COMPLAINTS = 'setup-errors';

/**
 * What bash runs before the command: variables that the supervisor needed for itself get the command's values, the files of
 * `setup` are run, and the last working directory is written down unless the command sets an EXIT trap itself. By the names of their files in
 * the run's folder `dir`; `prelude` is the one to begin with.
 */
export function preludes(dir: string, { env, setup = [] }: ShellSpec): Record<string, string> {
  const bashEnv = env['BASH_ENV'];
  const own = [bashEnv === undefined ? 'unset BASH_ENV' : `BASH_ENV=${quoted(bashEnv)}`];
  const last = [
    `trap ${quoted(`{ pwd -P >${quoted(join(dir, 'cwd'))}; } 2>/dev/null`)} EXIT`,
    ...(bashEnv === undefined ? [] : ['if [ -r "$BASH_ENV" ]; then . "$BASH_ENV"; fi']),
  ];
  const path = `PATH=${quoted(env['PATH'] ?? DEFAULT_PATH)}`;
  const text = (lines: string[]): string => `${lines.join('\n')}\n`;
  if (setup.length === 0) return { prelude: text([path, ...own, ...last]) };
  return {
    prelude: text([path, ...own, ...setupLines(dir, setup), ...last]),
    'prelude-after-exit': text([...own, ...last]),
  };
}

/** Runs files with their complaints kept aside. One that ends the shell does not end the command: it begins anew in its place. */
function setupLines(dir: string, setup: readonly string[]): string[] {
  const complaints = quoted(join(dir, COMPLAINTS));
  const back = 'exec >&8 2>&9 8>&- 9>&-';
  const anew = [
    `echo "it ended the shell with exit code $?" >>${complaints}`,
    back,
    `BASH_ENV=${quoted(join(dir, 'prelude-after-exit'))} exec /bin/bash -c "$BASH_EXECUTION_STRING" bash`,
  ];
  return [
    `exec 8>&1 9>&2 >/dev/null 2>${complaints}`,
    `trap ${quoted(anew.join('; '))} EXIT`,
    ...setup.map((file) => `. ${quoted(file)}`),
    back,
    'trap - EXIT',
  ];
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
