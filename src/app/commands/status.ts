import { Exit } from '../cli-error.ts';
import { type Io, print, printJson } from '../io.ts';
import { type ServiceStatus, serviceStatus } from '../service/service-status.ts';

export type StatusOptions = { json?: boolean };

/** `status`: what runs of the service; exits with 4 when nothing does. */
export async function status(options: StatusOptions, io: Io): Promise<number> {
  const found = await serviceStatus(io.env);
  if (options.json === true) printJson(io, found);
  else print(io, statusText(found));
  return found.server === null && found.worker === null ? Exit.service : Exit.ok;
}

/** The status for people. */
export function statusText(found: ServiceStatus): string {
  const { server, worker, workers } = found;
  const rows = [
    ['home', found.home],
    [
      'server',
      server === null ? 'down' : [server.address, pidText(server.pid), server.version ?? ''].filter(Boolean).join('  '),
    ],
    [
      'worker',
      worker === null
        ? 'down'
        : `${pidText(worker.pid)}  ${keeperText(worker.supervisorPid)}  restarts ${worker.restarts}`,
    ],
    ...workers
      .filter(({ pid }) => pid !== worker?.pid)
      .map(({ pid, host }) => ['worker', `${pidText(pid)}  on ${host}`]),
    ...(server?.uiUrl ? [['web page', server.uiUrl]] : []),
  ];
  const lines = rows.map(([name = '', text = '']) => `${name.padEnd(9)} ${text}`);
  if (found.phase === 'down') lines.push('The service is not running: nightshift up');
  else if (found.phase !== 'ready') lines.push(`The service is ${found.phase}.`);
  return lines.join('\n');
}

function keeperText(pid: number | null): string {
  return pid === null ? 'its keeper is gone' : `kept by ${pidText(pid)}`;
}

function pidText(pid: number | null): string {
  return pid === null ? '' : `pid ${pid}`;
}
