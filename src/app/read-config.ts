import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { MANAGED_DIR, readSettingsFiles, type SettingsFiles } from '../host/config-files.ts';
import { userFolders } from '../host/memory.ts';
import { readTrust, type Trust } from '../host/trust.ts';
import type { Env } from './io.ts';
import { homePath } from './service/home.ts';

/** Everything that settings files say for a folder, and whether the folder's own may act. Nothing has been decided yet. */
export type ConfigRead = SettingsFiles & {
  trust: Trust;
  dir: string;
  cwd: string;
  home: string;
  /** Folder of the user's settings. */
  userConfig: string;
};

/** Where configuration is looked for. */
export type ConfigQuery = {
  /** The folder to work in; absolute. */
  dir: string;
  cwd: string;
  env: Env;
  /** Value of `--settings`. */
  settings?: string;
  /** Another person's home than that of the environment. */
  home?: string;
  /** Folder of the administrator's settings. */
  managedDir?: string;
};

/** Reads the settings files of a folder. What is wrong with them is in `problems`. */
export async function readConfig(query: ConfigQuery): Promise<ConfigRead> {
  const { dir, cwd, env, settings, managedDir = MANAGED_DIR } = query;
  const home = query.home ?? (env['HOME'] || homedir());
  const userConfig = userConfigDir(query);
  const files = await readSettingsFiles({
    dir,
    cwd,
    userConfig,
    managedDir,
    ...(settings === undefined ? {} : { flag: settings }),
  });
  const trust = await readTrust(dir, {
    trustFile: trustFile(env),
    claudeState: claudeStateFiles(query),
  });
  return { ...files, problems: [...files.problems, ...trust.problems], trust, dir, cwd, home, userConfig };
}

/** Folder of a person's settings. A home that is named has its own. */
export function userConfigDir({ env, home }: Pick<ConfigQuery, 'env' | 'home'>): string {
  return home === undefined ? userFolders(env, env['HOME'] || homedir()).config : join(home, '.claude');
}

/** Where Claude Code keeps its own state for a person; the first that exists counts. */
export function claudeStateFiles(query: Pick<ConfigQuery, 'env' | 'home'>): string[] {
  const home = query.home ?? (query.env['HOME'] || homedir());
  return [join(userConfigDir(query), '.claude.json'), join(home, '.claude.json')];
}

/** The list of trusted folders of a home. */
export function trustFile(env: Env): string {
  return join(homePath(env), 'trust.json');
}

/** A folder with its links resolved, if there is one. */
export function realFolder(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
