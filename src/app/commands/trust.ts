import { setTimeout as pause } from 'node:timers/promises';
import { TrustError, writeTrust } from '../../host/trust.ts';
import { refuseBelowJob } from '../below-job.ts';
import { CliError, Exit } from '../cli-error.ts';
import { type Io, print, printJson } from '../io.ts';
import { workspace } from '../job-config.ts';
import { realFolder, trustFile } from '../read-config.ts';
import { homePath, openHome } from '../service/home.ts';
import { lockHolder, takeLock } from '../service/lock.ts';

export type TrustOptions = { revoke?: boolean; json?: boolean };

/** So long another `trust` of the same home may take, in ms. */
const PATIENCE_MS = 30_000;

/** `trust [DIR] [--revoke]`: whether what a folder's own settings ask for counts. */
export async function trust(dir: string | undefined, options: TrustOptions, io: Io): Promise<number> {
  refuseBelowJob('trust', io.env);
  const folder = workspace(dir, io.cwd, 'DIR');
  openHome(homePath(io.env));
  const trusted = options.revoke !== true;
  const root = await alone(`${trustFile(io.env)}.lock`, () =>
    writeTrust(trustFile(io.env), folder, trusted, new Date().toISOString()),
  ).catch((error: unknown) => {
    throw error instanceof TrustError ? new CliError(Exit.failed, error.message) : error;
  });
  if (options.json === true) printJson(io, { dir: root, trusted });
  else {
    const whole = root === realFolder(folder) ? '' : `, the repository that holds ${folder}`;
    print(io, `${root}${whole}: ${trusted ? 'trusted' : 'no longer trusted'}`);
    print(
      io,
      trusted
        ? 'Its allow rules, hooks, variables and MCP servers count for jobs that start from now on.'
        : 'Only its deny and ask rules count for jobs that start from now on.',
    );
  }
  return Exit.ok;
}

/** Runs while nobody else of this home changes the same file. */
async function alone<T>(path: string, change: () => Promise<T>): Promise<T> {
  const isForeignAlive = (): Promise<boolean> => Promise.resolve(true);
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    // To look costs little; to take writes to the disk.
    const holder = await lockHolder(path, isForeignAlive);
    const lock = holder === undefined ? await takeLock(path, isForeignAlive) : undefined;
    if (lock?.kind === 'taken') {
      try {
        return await change();
      } finally {
        lock.release();
      }
    }
    const { pid } = (lock?.holder ?? holder!).identity;
    if (Date.now() > until)
      throw new CliError(
        Exit.failed,
        `another nightshift has held ${path} for ${PATIENCE_MS / 1_000} seconds (pid ${pid})`,
        'Wait for it to end, then run the command again.',
      );
    await pause(10 + Math.random() * 20);
  }
}
