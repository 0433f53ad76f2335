import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { createActivities } from '../../activities/index.ts';
import { heldTokens } from '../host/held-tokens.ts';
import { startReaper } from '../host/reaper.ts';
import { buildId, bundleFile } from './build-id.ts';
import { callStanding } from './call-standing.ts';
import { watchForDead } from './fast-recovery.ts';
import { createHosts } from './hosts.ts';
import { connectionConfig } from './service/connection.ts';
import { type Env, homePath, openHome, taskQueue } from './service/home.ts';
import { recordBuild } from './service/last-build.ts';
import { announceWorker } from './service/worker-folder.ts';
import { wakeLocked } from './wake-locked.ts';

/** Workflows kept in memory; a woken one that is not there replays its short history. */
const CACHED_WORKFLOWS = 200;
/** Calls that run at once in one worker, over all jobs. A call that waits for somebody holds no slot. */
const ACTIVITIES = 200;

/**
 * Runs a worker of a home until it is told to stop (SIGTERM, SIGINT): running calls get ten seconds to end, commands
 * under their supervisors go on and are adopted by the next worker.
 */
export async function runWorker(env: Env, log: (line: string) => void): Promise<void> {
  const home = openHome(homePath(env));
  Runtime.install({
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
  const hosts = createHosts({ home, env, holdToken: (token) => held.hold(token), log });
  const stopWatching = watchForDead({ client, tokens, taskQueue: queue, log });
  try {
    const worker = await Worker.create({
      connection,
      ...(namespace === undefined ? {} : { namespace }),
      taskQueue: queue,
      workflowBundle: { codePath: bundleFile() },
      activities: createActivities(hosts),
      maxCachedWorkflows: CACHED_WORKFLOWS,
      maxConcurrentActivityTaskExecutions: ACTIVITIES,
      maxEagerActivityReservationsPerWorkflowTask: 10,
      stickyQueueScheduleToStartTimeout: '1s',
      maxHeartbeatThrottleInterval: '1s',
      shutdownGraceTime: '10s',
      shutdownForceTime: '30s',
    });
    const running = worker.run();
    const build = buildId();
    recordBuild(home.home, build);
    const leave = announceWorker(home.workers, build);
    wakeLocked(client, queue).catch((error: unknown) =>
      log(`jobs that wait for credentials were not woken: ${String(error)}`),
    );
    const stopReaper = startReaper({
      home: home.home,
      homeKey: hosts.homeKey,
      standing: (call) => callStanding(client, queue, call),
      log,
    });
    await running.finally(() => {
      stopReaper();
      leave();
    });
  } finally {
    stopWatching();
    held.close();
  }
}
