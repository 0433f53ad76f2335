import { spawn } from 'node:child_process';
import { closeSync, existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type OwnServer, proveReachable } from './connection.ts';
import { type KeeperState, askKeeper } from './control.ts';
import { distFile } from './dist-file.ts';
import type { Env, Home } from './home.ts';
import { holder, killKeeper } from './keeper-end.ts';
import { ANOTHER_KEEPER, type KeeperSpec } from './keeper-spec.ts';
import { lastLines, openLog } from './log-file.ts';
import { findTemporal, notFoundText } from './server-finder.ts';
import { ServiceError } from './service-error.ts';
import { watchChild } from './watched.ts';

/** How a service is brought up. */
export interface EnsureOptions {
  readonly env: Env;
  /** Told what is going on, line by line. */
  readonly progress?: (line: string) => void;
  /** Whether to serve Temporal's own web page; only a service that is not up yet can be given one. */
  readonly ui?: boolean;
  /** Whether to keep a second worker; a service that is up is given one too. */
  readonly standby?: boolean;
  /** Whether to go on with a home that was put back from an older copy; without it that is refused. */
  readonly restored?: boolean;
  /** Compiled programs in place of the package's own. */
  readonly files?: Partial<ServiceFiles>;
  /** See KeeperSpec. */
  readonly silentAfter?: number;
  /** Given, a server that answers is enough, and the first worker is not started before this settles or five seconds have gone. */
  readonly said?: Promise<void>;
}

/** The compiled programs of a service. */
export interface ServiceFiles {
  readonly keeper: string;
  readonly worker: string;
}

const START_LIMIT = 90_000;
const LOOK_EVERY = 20;
/** A keeper listens all its life; whoever has a home for this long and can't be asked hangs. Longer than ending what a dead keeper left may take. */
const MUTE_AFTER = 20_000;
/** Node hands on descriptors it inherited itself when their numbers are high, so they are closed before the keeper runs. */
const CLOSE_AND_RUN =
  'for fd in /proc/$$/fd/*; do fd=${fd##*/}; [ "$fd" -gt 2 ] && eval "exec $fd>&-"; done; exec "$@"';

/** The state of a keeper that is there, when server and worker answer; `undefined` when there is none, or none that lives. `said`: see EnsureOptions. */
export async function waitForKeeper(
  home: Home,
  progress: (line: string) => void,
  said?: Promise<void>,
): Promise<KeeperState | undefined> {
  const asked = await askKeeper(home.socket, { cmd: 'wait', ...(said && { first: true }) }, progress, undefined, said);
  if (asked.kind === 'answer') return asked.state;
  if (asked.kind === 'silent') await killKeeper(home, progress);
  return undefined;
}

/** Starts a keeper and resolves when the service of the home answers, be it this keeper's or another's. */
export async function startKeeper(
  home: Home,
  own: OwnServer | undefined,
  options: EnsureOptions,
  progress: (line: string) => void,
): Promise<KeeperState> {
  const spec = await keeperSpec(home, own, options);
  const log = join(home.logs, 'keeper.log');
  const limit = performance.now() + START_LIMIT;
  let keeper = await spawnKeeper(home, spec, options, log);
  let muteSince: number | undefined;
  while (performance.now() < limit) {
    const listens = existsSync(home.socket);
    const state = await waitForKeeper(home, progress, options.said);
    if (state !== undefined) return state;
    muteSince = listens ? undefined : (muteSince ?? performance.now());
    const { ended } = keeper;
    if (ended !== undefined && ended !== `exit ${ANOTHER_KEEPER}`) {
      const said = lastLines(log, keeper.logged);
      throw new ServiceError(
        `The service did not start: its keeper ended with ${ended}.\n${said}`,
        `Look at ${log}, and run: nightshift doctor`,
      );
    }
    const isMute = muteSince !== undefined && performance.now() - muteSince > MUTE_AFTER;
    if (ended !== undefined && isMute) await killKeeper(home, progress);
    // The one that had the home is gone again: it was being stopped.
    if (ended !== undefined && (await holder(home)) === undefined) keeper = await spawnKeeper(home, spec, options, log);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY));
  }
  throw new ServiceError(
    `The service did not start within ${START_LIMIT / 1000} s.`,
    `Look at ${log}, and run: nightshift down --now && nightshift up`,
  );
}

/** What the keeper of a service is to be started with; finds, and if need be downloads, the server's program. */
export async function keeperSpec(home: Home, own: OwnServer | undefined, options: EnsureOptions): Promise<KeeperSpec> {
  const { env, files = {}, ui = false, standby = false, restored = false, silentAfter, progress = () => {} } = options;
  const common = {
    home: home.home,
    workerFile: files.worker ?? distFile('src/app/worker-main.js'),
    ...(standby ? { standby } : {}),
    ...(restored ? { restored } : {}),
    ...(silentAfter === undefined ? {} : { silentAfter }),
  };
  if (own !== undefined) {
    progress(`connecting to ${own.address} …`);
    await proveReachable(env, own);
    return { ...common, server: { kind: 'own', ...own } };
  }
  const fixedPort = serverPort(env);
  const found = await findTemporal(env, { install: true, progress });
  if (found.kind === 'not-found') {
    const fix = `Any of these mends it:\n${found.remedies.map((line) => `  ${line}`).join('\n')}`;
    throw new ServiceError(notFoundText(found), fix);
  }
  const { program, version } = found;
  return {
    ...common,
    server: { kind: 'local', program, version, ui, ...(fixedPort === undefined ? {} : { fixedPort }) },
  };
}

/** The keeper's child gets a session of its own and nothing of the shell: no terminal, no pipe, no folder. */
async function spawnKeeper(
  home: Home,
  spec: KeeperSpec,
  options: EnsureOptions,
  logFile: string,
): Promise<{ ended: string | undefined; logged: number }> {
  const log = openLog(logFile);
  try {
    const logged = statSync(logFile).size;
    const file = options.files?.keeper ?? distFile('src/app/service/keeper-main.js');
    const args = ['-c', CLOSE_AND_RUN, 'nightshift', process.execPath, file, JSON.stringify(spec)];
    const child = spawn('/bin/bash', args, {
      cwd: home.home,
      detached: true,
      env: { ...options.env },
      stdio: ['ignore', log, log],
    });
    const watched = await watchChild(child);
    child.unref();
    const keeper: { ended: string | undefined; logged: number } = { ended: undefined, logged };
    void watched.ended.then((how) => (keeper.ended = how));
    return keeper;
  } finally {
    closeSync(log);
  }
}

function serverPort(env: Env): number | undefined {
  const text = env['NIGHTSHIFT_SERVER_PORT'];
  if (!text) return undefined;
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new ServiceError(
    `NIGHTSHIFT_SERVER_PORT is "${text}", which is no port.`,
    'Set it to a number from 1 to 65535, or unset it and have a free one found.',
  );
}
