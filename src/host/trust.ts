import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { ConfigProblem } from '../shapes/settings.ts';
import { readClaudeState } from './claude-state.ts';
import { writeDurably } from './durable-file.ts';
import { readJsonFile } from './json-file.ts';

/** `trust.json` of a home: by the real path of a folder, what its user said of it. */
const TrustFile = z.object({
  v: z.literal(1),
  folders: z.record(z.string(), z.object({ trusted: z.boolean(), at: z.string() })),
});
type TrustFile = z.infer<typeof TrustFile>;

/** Whether the settings of a folder may act. `root`: the folder that trust is given to; `by`: whose word it is. */
export type Trust = { root: string; trusted: boolean; by?: 'nightshift' | 'claude'; problems: ConfigProblem[] };

/**
 * The folder that trust is given to: the git repository that holds a folder, else the folder itself, with links resolved.
 * A `.git` file that points elsewhere counts for the place where it lies, since whoever fills a folder can write one.
 */
export function trustRoot(dir: string): string {
  const real = realOf(dir) ?? dir;
  return gitRoot(real) ?? real;
}

/** The nearest folder upwards that is a git work tree; `undefined` outside of one. */
export function gitRoot(dir: string): string | undefined {
  if (existsSync(join(dir, '.git'))) return dir;
  const parent = dirname(dir);
  return parent === dir ? undefined : gitRoot(parent);
}

/** Looks up whether a folder is trusted: what was said to nightshift counts before what was said to Claude Code. */
export async function readTrust(
  dir: string,
  files: { trustFile: string; claudeState: readonly string[] },
): Promise<Trust> {
  const root = trustRoot(dir);
  const said = await readTrustFile(files.trustFile);
  if (said.kind === 'broken') return { root, trusted: false, problems: [said.problem] };
  const own = said.file.folders;
  if (Object.hasOwn(own, root)) return { root, trusted: own[root]!.trusted, by: 'nightshift', problems: [] };
  const flagged = Object.entries((await readClaudeState(files.claudeState))?.projects ?? {}).some(
    ([folder, { hasTrustDialogAccepted }]) => hasTrustDialogAccepted === true && realOf(folder) === root,
  );
  return flagged ? { root, trusted: true, by: 'claude', problems: [] } : { root, trusted: false, problems: [] };
}

/** Writes down whether a folder is trusted; returns the folder that this is about. Throws when the file that is there can't be read. */
export async function writeTrust(trustFile: string, dir: string, trusted: boolean, at: string): Promise<string> {
  const root = trustRoot(dir);
  const said = await readTrustFile(trustFile);
  if (said.kind === 'broken') throw new TrustError(said.problem);
  const file: TrustFile = { v: 1, folders: { ...said.file.folders, [root]: { trusted, at } } };
  await writeDurably(trustFile, `${JSON.stringify(file, null, 2)}\n`);
  return root;
}

/** The list of trusted folders is damaged. */
export class TrustError extends Error {
  override readonly name = 'TrustError';
  constructor({ file, text }: ConfigProblem) {
    super(`the list of trusted folders ${file} can't be used: ${text}`);
  }
}

async function readTrustFile(
  path: string,
): Promise<{ kind: 'read'; file: TrustFile } | { kind: 'broken'; problem: ConfigProblem }> {
  const json = await readJsonFile(path);
  if (json.kind === 'nothing') return { kind: 'read', file: { v: 1, folders: {} } };
  if (json.kind === 'broken') return { kind: 'broken', problem: { ...json.problem, stops: false } };
  const parsed = TrustFile.safeParse(json.value);
  if (parsed.success) return { kind: 'read', file: parsed.data };
  const text = 'It is no list of trusted folders. Take it away and trust your folders again: nightshift trust';
  return { kind: 'broken', problem: { file: path, text, stops: false } };
}

/** A path with links resolved; one that leads nowhere is no folder that could be trusted. */
function realOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
