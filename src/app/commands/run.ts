import type { JobConfig } from '../../shapes/job.ts';
import { Exit } from '../cli-error.ts';
import type { JobClient } from '../client.ts';
import { followEvents, followForPeople } from '../follow.ts';
import { type Io, print, printJson, tell } from '../io.ts';
import { type JobInfo, exitCodeOf } from '../job-info.ts';
import { readResult } from '../job-result.ts';
import { createStreamJson } from '../stream-json.ts';
import { type StartOptions, startJob } from './start.ts';
import { resultJson } from './result.ts';

export type RunOptions = StartOptions & { outputFormat?: 'text' | 'json' | 'stream-json' };

/** `run`: starts a job and follows it to its end; the exit code is the job's. */
export async function run(prompt: string | undefined, options: RunOptions, io: Io): Promise<number> {
  const { id, jobs, config } = await startJob(prompt, options, io);
  try {
    if (options.outputFormat === 'stream-json') return await streamJob(jobs, id, await toolNames(config), io);
    const followed = await followForPeople(jobs, id, io, { told: config.warnings });
    if (followed.kind === 'detached') return Exit.interrupted;
    return await printResult(jobs, followed.info, options.outputFormat ?? 'text', io);
  } finally {
    await jobs.close();
  }
}

async function printResult(jobs: JobClient, info: JobInfo, format: 'text' | 'json', io: Io): Promise<number> {
  const result = await readResult(jobs, info);
  if (format === 'json') printJson(io, resultJson(result));
  // On a terminal the answer has been streamed to it already.
  else if (!(io.isTTY && io.stderr.isTTY === true) && !result.isError) print(io, result.result);
  return exitCodeOf(info, result.interrupted);
}

/** Tools that the model is offered: those that no rule denies altogether, and that have a use in the job's mode. */
async function toolNames({ rules }: JobConfig): Promise<string[]> {
  const { builtinTools } = await import('../../tools/builtin.ts');
  const denied = new Set(rules.deny.filter((rule) => rule.specifier === undefined).map((rule) => rule.tool));
  return builtinTools
    .filter((tool) => !denied.has(tool.name) && tool.offered?.(rules.mode) !== false)
    .map((tool) => tool.name);
}

/** Follows a job as one JSON message per line. */
async function streamJob(jobs: JobClient, id: string, tools: string[], io: Io): Promise<number> {
  const stream = createStreamJson(id, tools);
  const write = (message: unknown): void => void io.stdout.write(`${JSON.stringify(message)}\n`);
  const startedAt = Date.now();
  const followed = await followEvents(jobs, id, io, {
    take: (event) => stream.take(event).forEach(write),
    say: (text) => tell(io, text),
  });
  if (followed.kind === 'detached') return Exit.interrupted;
  const result = await readResult(jobs, followed.info);
  write(stream.end(result, Date.now() - startedAt, result.steps));
  return exitCodeOf(followed.info, result.interrupted);
}
