import { execFile } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { z } from 'zod';
import { buildId } from './build-id.ts';
import { CliError, Exit } from './cli-error.ts';
import { LOCAL_SERVER } from './service/connection.ts';
import { askKeeper } from './service/control.ts';
import { distFile } from './service/dist-file.ts';
import type { Env } from './service/home.ts';
import { hasCredentials, modelVariables } from './service/model-variables.ts';
import { type Service, connectClient } from './service/service.ts';
import { errorText } from './service/service-error.ts';
import { isNotFound } from './temporal-door.ts';
import { many } from './text.ts';

const Line = z.union([
  z.object({ job: z.string(), workflowId: z.string(), error: z.string() }),
  z.object({ replayed: z.int() }),
]);
type Misfit = { job: string; workflowId: string; error: string };

const LOOK_EVERY = 1_000;
const CHARACTERS = 160;

/** How a service is taken to this build. */
export type UpgradeOptions = {
  env: Env;
  progress: (line: string) => void;
  /** How long jobs that don't fit may take to reach a point where they do, in ms. */
  patience: number;
  workerFile: string;
};

/**
 * Gives a running service the worker of this build, where it has another one, once every open job can go on with it. Jobs
 * that can't are asked to begin a fresh run with the old worker first. Throws (1), with the old worker at work, when some
 * still can't after that.
 */
export async function upgrade(service: Service, options: UpgradeOptions): Promise<Service> {
  const { env, progress, workerFile } = options;
  const running = service.state.record.worker?.build;
  const ours = buildId();
  if (running === undefined || running === ours) return service;
  progress(`the worker is of build ${running}: seeing whether its jobs can go on with ${ours} …`);
  const first = await misfits(service, env);
  progress(
    `${many(first.replayed, 'open workflow')} replayed, ${first.misfits.length} of them can't go on as they are`,
  );
  await rollOver(service, env, first.misfits, progress);
  await untilAllFit(service, first.misfits, options);
  const variables = modelVariables(env);
  const asked = await askKeeper(
    service.home.socket,
    { cmd: 'restart-worker', workerFile, ...(hasCredentials(variables) ? { variables } : {}) },
    progress,
  );
  if (asked.kind !== 'answer') {
    throw new CliError(Exit.service, 'the service went away while its worker was replaced', 'nightshift up');
  }
  return { ...service, state: asked.state, credentials: asked.state.credentials };
}

/**
 * What of a service that was down before can't go on with this build; the jobs are unharmed, and wait for a build that
 * they fit.
 */
export async function misfitText(service: Service, env: Env, before: string): Promise<string | undefined> {
  const { misfits: found } = await misfits(service, env);
  if (found.length === 0) return undefined;
  return `${refusal(found)}\nThey wait unharmed. To let them go on, put build ${before} back: nightshift down, install it, nightshift up`;
}

async function untilAllFit(service: Service, first: Misfit[], { env, patience }: UpgradeOptions): Promise<void> {
  const limit = performance.now() + patience;
  for (let left = first; left.length > 0;) {
    if (performance.now() >= limit) {
      throw new CliError(
        Exit.failed,
        `the worker of build ${service.state.record.worker?.build} works on, because with ${buildId()} it would break running jobs.\n${refusal(left)}`,
        'Let these jobs end, answer what they wait for (nightshift inbox), or cancel them, then: nightshift up\nnightshift up --wait 600   # gives them ten minutes to get there',
      );
    }
    await pause(Math.min(LOOK_EVERY, Math.max(0, limit - performance.now())));
    left = (await misfits(service, env, jobsOf(left))).misfits;
  }
}

async function rollOver(service: Service, env: Env, found: Misfit[], progress: (line: string) => void): Promise<void> {
  if (found.length === 0) return;
  const client = await connectClient(service, env);
  try {
    for (const job of jobsOf(found)) {
      progress(`${job}: ${reason(found.find((misfit) => misfit.job === job)!)}; asking it to begin a fresh run`);
      await client.workflow
        .getHandle(job)
        .signal('rollOver')
        .catch((error: unknown) => {
          if (!isNotFound(error)) throw error;
        });
    }
  } finally {
    await client.connection.close();
  }
}

/** In a process of its own: a bundle that is broken must not end this one. */
async function misfits(service: Service, env: Env, jobs?: string[]): Promise<{ misfits: Misfit[]; replayed: number }> {
  const spec = JSON.stringify({ taskQueue: service.taskQueue, ...(jobs === undefined ? {} : { jobs }) });
  const local = service.own ? {} : { [LOCAL_SERVER]: service.address };
  let out: string;
  try {
    const options = { env: { ...env, ...local }, maxBuffer: 64 * 1024 * 1024 };
    out = (await promisify(execFile)(process.execPath, [distFile('src/app/replay-main.js'), spec], options)).stdout;
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr) : '';
    const line = said.split('\n').find((line) => /^\w*Error\b/.test(line)) ?? errorText(error);
    throw new CliError(
      Exit.failed,
      `the worker of build ${service.state.record.worker?.build} works on: open jobs could not be replayed with ${buildId()}. ${line.slice(0, CHARACTERS)}`,
      'nightshift doctor   # Is this installation whole?',
    );
  }
  const lines = out.split('\n').flatMap((line) => (line === '' ? [] : [Line.parse(JSON.parse(line))]));
  return {
    misfits: lines.filter((line) => 'job' in line),
    replayed: lines.reduce((sum, line) => sum + ('replayed' in line ? line.replayed : 0), 0),
  };
}

const jobsOf = (found: Misfit[]): string[] => [...new Set(found.map(({ job }) => job))];

const reason = ({ workflowId, error }: Misfit): string =>
  `${workflowId} does not fit (${error.replaceAll(/\s+/g, ' ').slice(0, CHARACTERS)})`;

const refusal = (found: Misfit[]): string => found.map((misfit) => `  ${misfit.job}: ${reason(misfit)}`).join('\n');
