import type { Destination, SettingsChange } from '../shapes/permission-update.ts';
import type { Host } from '../shapes/host.ts';
import type { Sha } from '../shapes/ids.ts';
import type { Delivery, Files, HookRunner, JobFiles, ModelClient, SavedRules, Search, Shell } from './ports.ts';
import type { Scrub } from './scrub.ts';
import type { Registry } from './tool.ts';

/** What activities are given: every door to the outside. */
export interface Hosts {
  home: string;
  /** Stands in the mark of every process of this home. */
  homeKey: string;
  /** This machine, where jobs have to stay on the one that opened them. */
  host?: Host;
  hostName: string;
  job(id: string): Promise<JobFiles>;
  model: ModelClient;
  files: Files;
  search: Search;
  shell: Shell;
  hooks: HookRunner;
  registry: Registry;
  /** Instruction files (`CLAUDE.md` and what it imports) for a workspace, and warnings about them. */
  memory(dir: string): Promise<{ text: string; warnings: string[] }>;
  /** Facts about the workspace for the system prompt. */
  environment(dir: string): Promise<{ git: boolean; platform: string; today: string }>;
  sha(bytes: Uint8Array | string): Sha;
  /** Keeps allow rules in the workspace's own settings. */
  saveRules(dir: string, rules: readonly string[]): Promise<SavedRules>;
  /** Changes the permissions in a settings file of the workspace, or in the user's. */
  changeSettings(
    dir: string,
    destination: Exclude<Destination, 'session'>,
    changes: readonly SettingsChange[],
  ): Promise<SavedRules>;
  /** Posts JSON to an address that a person gave; `key` is the same whenever the same thing is told. */
  post(url: string, body: string, options: { key: string; signal: AbortSignal }): Promise<Delivery>;
  /** Takes the runner's own credentials out of a text. */
  scrub: Scrub;
  /** The environment that a job's child processes get: no key, no address of ours. */
  childEnv(env: Record<string, string>, mark: string): Record<string, string>;
  /** The person's home folder. */
  userHome: string;
  /** Keeps a running activity's task token where it is found when this process dies; the function removes it. */
  holdToken(token: string): () => void;
  /** Aborts when this process is told to stop: what only waits leaves at once and is the next one's. */
  stopping: AbortSignal;
  /** Told when an activity was lost, as it is when somebody terminates its workflow: what it started may not be wanted any more. */
  activityLost(): void;
  now(): number;
}
