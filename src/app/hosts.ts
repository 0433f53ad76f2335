import { existsSync } from 'node:fs';
import { homedir, hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { rgPath } from '@vscode/ripgrep';
import type { Hosts } from '../core/hosts.ts';
import { scrubber } from '../core/scrub.ts';
import { shaOf } from '../host/blobs.ts';
import { childEnv } from '../host/child-env.ts';
import { type CrashWindow, withCrashWindows } from '../host/crash-windows.ts';
import { createFiles } from '../host/files.ts';
import { createHookRunner } from '../host/hook-runner.ts';
import { currentIdentity } from '../host/identity.ts';
import { createJobOpener } from '../host/job-files.ts';
import { openLedger } from '../host/ledger.ts';
import { loadMemory, userFolders } from '../host/memory.ts';
import { createModelClient } from '../host/model.ts';
import { pauseBy } from '../host/pause.ts';
import { postWebhook } from '../host/post-webhook.ts';
import { changeSettings, saveRules } from '../host/save-rules.ts';
import { createSearch } from '../host/search.ts';
import { secretsOf } from '../host/secrets.ts';
import { createShell } from '../host/shell.ts';
import { builtinTools } from '../tools/builtin.ts';
import { createRegistry } from '../tools/registry.ts';
import { loadPrices } from './load-prices.ts';
import type { Host } from '../shapes/host.ts';
import type { Env, Home } from './service/home.ts';
import { homeKey } from './service/home-key.ts';
import { takeLock } from './service/lock.ts';
import { aliveFile } from './service/worker-folder.ts';

/** A folder by whose files a worker is told to stop at a crash window; see `withCrashWindows`. For tests only. */
const PAUSE = 'NIGHTSHIFT_PAUSE';
/** Milliseconds after which a silent worker is taken for stuck and killed by whoever waits for its call. */
const SILENT_AFTER = 'NIGHTSHIFT_SILENT_AFTER_MS';
/** Milliseconds for which a worker must have waited for a command before its death no longer counts against the call. */
const PROVEN_AFTER = 'NIGHTSHIFT_PROVEN_AFTER_MS';

/** Puts the outside world together for a worker: the one place where every host is chosen. */
export function createHosts(options: {
  home: Home;
  env: Env;
  /** This machine, where jobs have to stay on the one that opened them. */
  host: Host | undefined;
  holdToken: (token: string) => () => void;
  stopping: AbortSignal;
  activityLost: () => void;
  log: (line: string) => void;
}): Hosts {
  const { home, env, host, holdToken, stopping, activityLost, log } = options;
  const userHome = env['HOME'] || homedir();
  const self = currentIdentity();
  const silentAfterMs = milliseconds(env, SILENT_AFTER);
  const provenAfterMs = milliseconds(env, PROVEN_AFTER);
  const ledger = (jobDir: string) =>
    openLedger({
      jobDir,
      self,
      aliveFile: (identity) => aliveFile(home.workers, identity),
      ...(silentAfterMs === undefined ? {} : { silentAfterMs }),
      ...(provenAfterMs === undefined ? {} : { provenAfterMs }),
      warn: log,
    });
  const folder = env[PAUSE];
  const pause = folder ? pauseBy(folder) : undefined;
  const files = createFiles(pause && (() => pause('file.before-rename' satisfies CrashWindow)));
  const scrub = scrubber(secretsOf(env));
  const hosts: Hosts = {
    home: home.home,
    homeKey: homeKey(home),
    ...(host === undefined ? {} : { host }),
    hostName: hostname(),
    job: createJobOpener(home.home, { ledger, scrub }),
    model: createModelClient({ env: () => env, prices: loadPrices() }),
    files,
    search: createSearch(rgPath),
    shell: createShell(),
    hooks: createHookRunner(),
    registry: createRegistry(builtinTools),
    memory: (dir) => loadMemory(dir, userFolders(env, userHome)),
    environment: (dir) =>
      Promise.resolve({
        git: isInRepository(dir),
        platform: process.platform,
        today: new Date().toISOString().slice(0, 10),
      }),
    saveRules: (dir, rules) => saveRules(dir, rules, { files: createFiles(), tryLock }),
    changeSettings(dir, destination, changes) {
      const places = { dir, userConfig: userFolders(env, userHome).config };
      return changeSettings(destination, changes, places, { files, tryLock });
    },
    post: postWebhook,
    sha: shaOf,
    scrub,
    childEnv: (jobEnv, mark) => childEnv(env, jobEnv, mark),
    userHome,
    holdToken,
    stopping,
    activityLost,
    now: Date.now,
  };
  return pause ? withCrashWindows(hosts, pause) : hosts;
}

/** The lock of a process that is gone is taken over; one in another pid namespace is taken to live. */
async function tryLock(path: string): Promise<(() => void) | undefined> {
  const lock = await takeLock(path, () => Promise.resolve(true));
  return lock.kind === 'taken' ? lock.release : undefined;
}

function milliseconds(env: Env, name: string): number | undefined {
  const text = env[name];
  if (!text) return undefined;
  const ms = Number(text);
  if (Number.isSafeInteger(ms) && ms > 0) return ms;
  throw new Error(`${name} is ${JSON.stringify(text)}: write a number of milliseconds above 0, or unset it.`);
}

/** Whether a folder or one above it is a git repository. */
function isInRepository(dir: string): boolean {
  if (existsSync(join(dir, '.git'))) return true;
  const parent = dirname(dir);
  return parent !== dir && isInRepository(parent);
}
