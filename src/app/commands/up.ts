import { CliError, Exit } from '../cli-error.ts';
import { type Io, print, printJson, tell } from '../io.ts';
import { ownServer } from '../service/connection.ts';
import { homePath, openHome } from '../service/home.ts';
import { type EnsureOptions, keeperSpec } from '../service/keeper-start.ts';
import { ANOTHER_KEEPER } from '../service/keeper-spec.ts';
import { runKeeper } from '../service/keeper.ts';
import { serviceStatus } from '../service/service-status.ts';
import { currentService, ensureService, keepStandby, renewVariables } from '../service/service.ts';
import { lastBuild } from '../service/last-build.ts';
import { distFile } from '../service/dist-file.ts';
import { misfitText, upgrade } from '../upgrade.ts';
import { untilInterrupted } from '../until-interrupted.ts';
import { statusText } from './status.ts';

export type UpOptions = {
  foreground?: boolean;
  ui?: boolean;
  standby?: boolean;
  /** Goes on with a home that was put back from an older copy. */
  restored?: boolean;
  /** Seconds that running jobs get to fit an upgrade. */
  wait?: number;
  json?: boolean;
  files?: EnsureOptions['files'];
};

const USUAL_WAIT = 60;

/** `up`: starts the service where none runs, and gives a running one this build and the model variables of this shell. */
export async function up(options: UpOptions, io: Io): Promise<number> {
  const { ui = false, standby = false, restored = false, wait = USUAL_WAIT, files } = options;
  const progress = (line: string): void => tell(io, line);
  const wanted: EnsureOptions = { env: io.env, progress, ui, standby, restored, ...(files && { files }) };
  if (options.foreground === true) return foreground(wanted, io);
  const before = lastBuild(io.env);
  const wasUp = (await currentService(io.env)) !== undefined;
  const found = await untilInterrupted(io, ensureService(wanted));
  const workerFile = files?.worker ?? distFile('src/app/worker-main.js');
  const upgraded = await upgrade(found, { env: io.env, progress, patience: wait * 1000, workerFile });
  const renewed = await renewVariables(upgraded, io.env, progress);
  const service = standby ? await keepStandby(renewed, progress) : renewed;
  const status = await serviceStatus(io.env);
  if (options.json === true) printJson(io, status);
  else print(io, statusText(status));
  if (ui && status.server?.uiUrl === null) {
    tell(io, "The running service serves no web page of Temporal's: nightshift down && nightshift up --ui");
  }
  if (!service.credentials) {
    tell(io, 'The service has no credentials for the model API: export ANTHROPIC_API_KEY=… && nightshift up');
  }
  const now = service.state.record.worker?.build;
  if (!wasUp && before !== undefined && now !== undefined && before !== now) {
    const misfits = await misfitText(service, io.env, before);
    if (misfits !== undefined)
      throw new CliError(Exit.failed, `jobs of build ${before} can't go on with ${now}.\n${misfits}`);
  }
  return Exit.ok;
}

/** Keeps the service in this process until Ctrl-C or SIGTERM ends it. */
async function foreground(options: EnsureOptions, io: Io): Promise<number> {
  const log = (line: string): void => tell(io, line);
  const home = openHome(homePath(io.env));
  const spec = await keeperSpec(home, await ownServer(io.env), options);
  const stop = new AbortController();
  const abort = (): void => stop.abort();
  const release = io.onInterrupt(abort);
  process.on('SIGTERM', abort);
  try {
    const code = await runKeeper({ spec, env: io.env, log, signal: stop.signal });
    if (code !== ANOTHER_KEEPER) return code;
    throw new CliError(
      Exit.service,
      `the service of ${home.home} runs already`,
      'nightshift status   # or: nightshift down',
    );
  } finally {
    process.off('SIGTERM', abort);
    release();
  }
}
