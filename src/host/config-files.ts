import { readdir, realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { SettingsLayer } from '../core/merge-settings.ts';
import type { RuleSource } from '../shapes/permission.ts';
import type { ConfigProblem } from '../shapes/settings.ts';
import type { JsonPath, Place } from './json-file.ts';
import { readSettingsFile, readSettingsText, type SettingsRead } from './settings-file.ts';
import { gitRoot } from './trust.ts';

/** Where settings may lie. All paths are absolute. */
export type SettingsPlaces = {
  /** The folder to work in. */
  dir: string;
  /** Folder of the user's settings. */
  userConfig: string;
  /** Folder of the settings that an administrator gives. */
  managedDir: string;
  /** Value of `--settings`: a file, or JSON. */
  flag?: string;
  /** Where `--settings FILE` starts. */
  cwd: string;
};

/** Where administrators put settings on this system. */
export const MANAGED_DIR =
  process.platform === 'darwin' ? '/Library/Application Support/ClaudeCode' : '/etc/claude-code';

/** The settings of every place that has some, from the strongest to the weakest, and what is wrong with them. */
export type SettingsFiles = {
  layers: SettingsLayer[];
  problems: ConfigProblem[];
  /** Where a part of a layer stands in its file. */
  placeOf(layer: SettingsLayer, path: JsonPath): Place | undefined;
};

export async function readSettingsFiles(places: SettingsPlaces): Promise<SettingsFiles> {
  const { dir, userConfig } = places;
  const root = gitRoot(dir) ?? dir;
  const user = join(userConfig, 'settings.json');
  const project = join(dir, '.claude', 'settings.json');
  const local = join(root, '.claude', 'settings.local.json');
  const isUsers = await sameFile(project, user);
  const reads = [
    ...(await readManaged(places.managedDir)),
    ...(places.flag === undefined ? [] : [await readFlag(places.flag, places.cwd)]),
    await readSettingsFile(local, { kind: 'local', file: local, base: dir }),
    ...(isUsers ? [] : [await readSettingsFile(project, { kind: 'project', file: project, base: dir })]),
    await readSettingsFile(user, { kind: 'user', file: user, base: userConfig }),
  ];
  return {
    layers: reads.flatMap(({ layer }) => layer ?? []),
    problems: [...reads.flatMap(({ problems }) => problems), ...(root === dir ? [] : await overlooked(dir, root))],
    placeOf: (layer, path) => reads.find((read) => read.layer === layer)?.at?.(path),
  };
}

/** The administrator's file, and those of the folder beside it: of these the last by name is the strongest. */
async function readManaged(folder: string): Promise<SettingsRead[]> {
  const base = join(folder, 'managed-settings.json');
  const drops = join(folder, 'managed-settings.d');
  const names = await readdir(drops).catch(() => []);
  const files = names.filter((name) => name.endsWith('.json') && !name.startsWith('.')).sort();
  const paths = [base, ...files.map((name) => join(drops, name))].toReversed();
  return Promise.all(paths.map((file) => readSettingsFile(file, { kind: 'managed', file, base: folder })));
}

async function readFlag(flag: string, cwd: string): Promise<SettingsRead> {
  if (flag.trimStart().startsWith('{')) {
    const read = readSettingsText(flag, '--settings', { kind: 'flagFile', base: cwd });
    return { ...read, problems: read.problems.map((problem) => ({ ...problem, file: '--settings' })) };
  }
  const file = resolve(cwd, flag);
  const source: RuleSource = { kind: 'flagFile', file, base: dirname(file) };
  const read = await readSettingsFile(file, source);
  if (read.layer || read.problems.length > 0) return read;
  return { problems: [{ file, text: 'There is no such file. Name one: --settings FILE', stops: true }] };
}

/** Files of a repository that look as if they counted, while the job works in one of its folders. */
async function overlooked(dir: string, root: string): Promise<ConfigProblem[]> {
  const problems: ConfigProblem[] = [];
  const warn = (file: string, text: string): number => problems.push({ file, text, stops: false });
  const above = join(root, '.claude', 'settings.json');
  if (await isThere(above)) warn(above, `It does not count for a job in ${dir}. Start the job in ${root} for that.`);
  const below = join(dir, '.claude', 'settings.local.json');
  if (await isThere(below))
    warn(below, `It does not count: local settings are those of ${join(root, '.claude')}. Move it there.`);
  return problems;
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Whether two paths lead to one file: who works in their home has its settings as the project's too. */
async function sameFile(a: string, b: string): Promise<boolean> {
  const [one, other] = await Promise.all([a, b].map((path) => realpath(path).catch(() => path)));
  return one === other;
}
