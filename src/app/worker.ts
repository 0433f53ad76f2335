import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import { createActivities } from '../../activities/index.ts';
import { heldTokens } from '../host/held-tokens.ts';
import { type Reaper, startReaper } from '../host/reaper.ts';
import { buildId, bundleFile } from './build-id.ts';
import { callStanding, jobStanding } from './call-standing.ts';
import { watchForDead } from './fast-recovery.ts';
import { createHosts } from './hosts.ts';
import { watchHosts } from './watch-hosts.ts';
import { LOCAL_SERVER, connectionConfig } from './service/connection.ts';
import { type Env, homePath, openHome, taskQueue } from './service/home.ts';
import { recordBuild } from './service/last-build.ts';
import { thisHost } from './service/this-host.ts';
import { announceWorker } from './service/worker-folder.ts';
import { wakeLocked } from './wake-locked.ts';

/** Workflows kept in memory; a woken one that is not there replays its short history. */
const CACHED_WORKFLOWS = 200;
/** Calls that run at once in one worker, over all jobs. A call that waits for somebody holds no slot. */
const ACTIVITIES = 200;
/** By these the worker is told to stop. */
const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * Runs a worker of a home until it is told to stop (SIGTERM, SIGINT): what only waits for a command leaves it to the next
 * worker at once, other activities get ten seconds to end.
 */
export async function runWorker(env: Env, log: (line: string) => void): Promise<void> {
  const home = openHome(homePath(env));
  Runtime.install({
    shutdownSignals: [...STOP_SIGNALS],
    logger: new DefaultLogger('WARN', ({ level, message, meta }) => {
      log(`${level.toLowerCase()}: ${message}${meta?.['error'] ? ` ${String(meta['error'])}` : ''}`);
    }),
    telemetryOptions: { logging: { filter: { core: 'WARN', other: 'WARN' }, forward: {} } },
  });
  const { connectionOptions, namespace } = await connectionConfig(env);
  const queue = taskQueue(home.id);
  const tokens = join(home.home, 'tokens');
  const held = heldTokens(tokens);
  const [connection, clientConnection] = await Promise.all([
    NativeConnection.connect(connectionOptions),
    Connection.connect(connectionOptions),
  ]);
  const client = new Client({ connection: clientConnection, ...(namespace === undefined ? {} : { namespace }) });
  // The local service has one machine; a server of the user's own may have workers of several.
  const host = env[LOCAL_SERVER] ? undefined : thisHost(home.id, env);
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal); // one for each activity
  for (const signal of STOP_SIGNALS) process.once(signal, () => stopping.abort());
  let reaper: Reaper | undefined;
  const hosts = createHosts({
    home,
    env,
    host,
    holdToken: (token) => held.hold(token),
    stopping: stopping.signal,
    activityLost: () => reaper?.wake(),
    log,
  });
  const stopWatching = watchForDead({ client, tokens, taskQueue: queue, log });
  try {
    const common = {
      connection,
      ...(namespace === undefined ? {} : { namespace }),
      activities: createActivities(hosts),
      maxConcurrentActivityTaskExecutions: ACTIVITIES,
      activityTaskPollerBehavior: { type: 'autoscaling', initial: 2 },
      workflowTaskPollerBehavior: { type: 'autoscaling', initial: 2 },
      maxHeartbeatThrottleInterval: '1s',
      shutdownGraceTime: '10s',
      shutdownForceTime: '30s',
    } satisfies Partial<WorkerOptions>;
    const workers = await Promise.all([
      Worker.create({
        ...common,
        taskQueue: queue,
        workflowBundle: { codePath: bundleFile() },
        maxCachedWorkflows: CACHED_WORKFLOWS,
        maxEagerActivityReservationsPerWorkflowTask: 10,
        stickyQueueScheduleToStartTimeout: '1s',
      }),
      ...(host === undefined ? [] : [Worker.create({ ...common, taskQueue: host.queue })]),
    ]);
    const running = Promise.all(workers.map((worker) => worker.run()));
    const build = buildId();
    recordBuild(home.home, build);
    const leave = announceWorker(home.workers, build);
    wakeLocked(client, queue).catch((error: unknown) =>
      log(`jobs that wait for credentials were not woken: ${String(error)}`),
    );
    reaper = startReaper({
      home: home.home,
      homeKey: hosts.homeKey,
      standing: (call) => callStanding(client, queue, call),
      jobStanding: (job) => jobStanding(client, queue, job),
      log,
    });
    const stopHosts =
      host === undefined
        ? (): void => undefined
        : watchHosts({ client, taskQueue: queue, host, ...hostPatience(env), log });
    await running.finally(() => {
      reaper?.stop();
      stopHosts();
      leave();
    });
  } finally {
    stopWatching();
    held.close();
  }
}

/** See `HostWatchOptions`, in ms. */
function hostPatience(env: Env): { patience: number; lostAfter: number } {
  const given = (name: string, usual: number): number => {
    const ms = Number(env[name]);
    return Number.isFinite(ms) && ms > 0 ? ms : usual;
  };
  return {
    patience: given('NIGHTSHIFT_HOST_PATIENCE_MS', 60_000),
    lostAfter: given('NIGHTSHIFT_HOST_LOST_MS', 300_000),
  };
}
