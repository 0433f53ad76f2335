import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Shell } from '../core/ports.ts';

const run = promisify(execFile);
/** A repository on a disk that does not answer must not hold a call for ever. */
const LIMIT_MS = 10_000;

/** What git answers to a question about a repository, without the last line end; undefined when it fails for any reason. */
export const askGit: Shell['askGit'] = async (args, { cwd, env }) => {
  try {
    const { stdout } = await run('git', [...args], { cwd, env, timeout: LIMIT_MS, killSignal: 'SIGKILL' });
    return stdout.replace(/\n$/, '');
  } catch {
    return undefined;
  }
};
