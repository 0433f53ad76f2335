import { randomInt } from 'node:crypto';
import type { JobConfig } from '../../shapes/job.ts';
import { usageError } from '../cli-error.ts';
import type { JobClient } from '../client.ts';
import { type Io, print, printJson, tell } from '../io.ts';
import { type JobFlags, buildJobConfig, workspace } from '../job-config.ts';
import { jobSettings } from '../job-settings.ts';
import { isPriced } from '../is-priced.ts';
import { openNewJobs } from '../open-jobs.ts';
import { readPrompt } from '../prompt-text.ts';
import { readConfig } from '../read-config.ts';

export type StartOptions = JobFlags & { reuse?: boolean; json?: boolean };

/** `start`: starts a job and prints its id. */
export async function start(prompt: string | undefined, options: StartOptions, io: Io): Promise<number> {
  const { id, jobs } = await startJob(prompt, options, io);
  await jobs.close();
  if (options.json === true) printJson(io, { id });
  else print(io, id);
  return 0;
}

/** Starts a job from what was typed; everything wrong is said before the service is touched. The caller closes `jobs`. */
export async function startJob(
  argument: string | undefined,
  options: StartOptions,
  io: Io,
): Promise<{ id: string; jobs: JobClient; config: JobConfig }> {
  if (options.reuse === true && options.name === undefined)
    throw usageError(
      '--reuse needs the name of the job',
      '--name NAME --reuse   # NAME as it was given the first time',
    );
  const prompt = await readPrompt(argument, io);
  const dir = workspace(options.dir, io.cwd);
  const { settings, allow = [], ask = [], deny = [] } = options;
  const read = await readConfig({ dir, cwd: io.cwd, env: io.env, ...(settings === undefined ? {} : { settings }) });
  const { builtinTools } = await import('../../tools/builtin.ts');
  const tools = builtinTools.flatMap((tool) => [tool.name, ...tool.aliases]);
  const config = buildJobConfig({
    prompt,
    flags: options,
    dir,
    settings: jobSettings(read, { flags: { allow, ask, deny }, tools }),
    env: io.env,
    now: Date.now(),
    priced: isPriced,
    uid: process.getuid?.(),
    random: randomLetters(4),
  });
  for (const text of config.warnings) tell(io, `warning: ${text}`);
  const jobs = await openNewJobs(io);
  try {
    const reused = options.reuse === true && (await jobs.exists(config.id));
    if (!reused) await jobs.start(config, prompt);
    return { id: config.id, jobs, config };
  } catch (error) {
    await jobs.close();
    throw error;
  }
}

/** Letters that can't be taken for one another, and no vowels that make words. */
function randomLetters(length: number): string {
  const letters = 'bcdfghjkmnpqrstvwxz23456789';
  return Array.from({ length }, () => letters[randomInt(letters.length)]).join('');
}
