import { Exit, isServiceError } from '../cli-error.ts';
import { type Io, print, printJson } from '../io.ts';
import { mapSome } from '../map-some.ts';
import { servedJobs } from '../open-jobs.ts';
import { currentService } from '../service/service.ts';
import { type KeptWorker, type ServiceStatus, serviceStatus } from '../service/service-status.ts';
import { size } from '../text.ts';
import { troubleText } from '../trouble.ts';

export type StatusOptions = { json?: boolean };

/** A job that runs and yet does not go on. Times are ISO 8601. */
type StuckJob = { id: string; text: string; attempts: number; next: string | null };

/** So many jobs are asked at once. */
const ASKED_AT_ONCE = 8;

/** `status`: what runs of the service, and what holds up its jobs; exits with 4 when nothing runs. */
export async function status(options: StatusOptions, io: Io): Promise<number> {
  const found = await serviceStatus(io.env);
  const stuck = found.server === null ? [] : await stuckJobs(io);
  if (options.json === true) printJson(io, { ...found, stuck });
  else {
    const now = Date.now();
    const held = stuck.map((job) => `${job.id} is ${troubleText(job, now)}`);
    print(io, [statusText(found), ...held].join('\n'));
  }
  return found.server === null && found.worker === null && found.standby === null ? Exit.service : Exit.ok;
}

/** None also where nobody answers, which the rest of the status says. */
async function stuckJobs(io: Io): Promise<StuckJob[]> {
  const service = await currentService(io.env).catch(orNothing);
  if (service === undefined) return [];
  const jobs = servedJobs(service, io);
  try {
    const open = await jobs.open();
    const found = await mapSome(open, ASKED_AT_ONCE, async (job) => ({ id: job.id, trouble: await jobs.trouble(job) }));
    return found.flatMap(({ id, trouble }) =>
      trouble ? [{ id, ...trouble, next: trouble.next === null ? null : new Date(trouble.next).toISOString() }] : [],
    );
  } catch (error) {
    return orNothing(error) ?? [];
  } finally {
    await jobs.close();
  }
}

function orNothing(error: unknown): undefined {
  if (!isServiceError(error)) throw error;
}

/** The status for people. */
export function statusText(found: ServiceStatus): string {
  const { server, worker, standby, workers } = found;
  const rows = [
    ['home', found.home],
    [
      'server',
      server === null ? 'down' : [server.address, pidText(server.pid), server.version ?? ''].filter(Boolean).join('  '),
    ],
    ['worker', worker === null ? missingWorker(standby) : workerText(worker)],
    ...(standby === null ? [] : [['standby', workerText(standby)]]),
    ...workers
      .filter(({ pid }) => pid !== worker?.pid && pid !== standby?.pid)
      .map(({ pid, host }) => ['worker', `${pidText(pid)}  on ${host}`]),
    ...(server?.uiUrl ? [['web page', server.uiUrl]] : []),
  ];
  const lines = rows.map(([name = '', text = '']) => `${name.padEnd(9)} ${text}`);
  if (found.disk?.full === true) {
    lines.push(
      `disk      full: ${size(found.disk.freeBytes)} free; free some space, what waits for it goes on by itself`,
    );
  }
  if (found.phase === 'down') lines.push('The service is not running: nightshift up');
  else if (found.phase !== 'ready') lines.push(`The service is ${found.phase}.`);
  return lines.join('\n');
}

function missingWorker(standby: KeptWorker | null): string {
  if (standby === null) return 'down';
  return standby.supervisorPid === null ? 'gone; the standby works on' : 'being started; the standby works meanwhile';
}

function workerText({ pid, supervisorPid, restarts }: KeptWorker): string {
  return `${pidText(pid)}  ${keeperText(supervisorPid)}  restarts ${restarts}`;
}

function keeperText(pid: number | null): string {
  return pid === null ? 'its keeper is gone' : `kept by ${pidText(pid)}`;
}

function pidText(pid: number | null): string {
  return pid === null ? '' : `pid ${pid}`;
}
