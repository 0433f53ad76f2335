import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { cleanText } from '../core/clean.ts';
import { parseInstructions } from '../core/instructions.ts';

/** Larger instruction files are left out. */
const MAX_BYTES = 4 * 1024 * 1024;
/** How many hops imports may go. */
const MAX_DEPTH = 4;

/** Whose files count beside the workspace's: the user's home, for `~`, and the folder of the user's settings. */
export type UserFolders = { home: string; config: string };
/** Instruction files in the order in which they count; `text` is empty when there are none. */
export type Memory = { text: string; files: { path: string; bytes: number }[]; warnings: string[] };

/** The user's folders by the environment: `CLAUDE_CONFIG_DIR`, else `~/.claude`. */
export function userFolders(env: Record<string, string | undefined>, home: string): UserFolders {
  return { home, config: env['CLAUDE_CONFIG_DIR'] || join(home, '.claude') };
}

/**
 * Loads the instruction files of a workspace (absolute path): the user's `CLAUDE.md`, then from the root down to the
 * workspace each folder's `CLAUDE.md`, `.claude/CLAUDE.md` and `CLAUDE.local.md`, each followed by what it imports. A
 * file counts once. What can't be read is left out with a warning. A folder's files reach nothing outside of it, also
 * not through a link: an unattended run must not carry a private file to the model because a repository names it.
 */
export async function loadMemory(dir: string, user: UserFolders): Promise<Memory> {
  const parts: Part[] = [];
  const warnings: string[] = [];
  const taken = new Set<string>();

  async function load(path: string, base: string | undefined, depth: number): Promise<void> {
    const found = await readInstructions(path, base, taken);
    if (found.kind === 'refused') warnings.push(found.why);
    if (found.kind !== 'read') return;
    const { text, imports } = parseInstructions(found.source);
    parts.push({ path, bytes: found.bytes, text: cleanText(text).trim() });
    for (const name of imports) await follow(name, path, base, depth + 1);
  }

  async function follow(name: string, from: string, base: string | undefined, depth: number): Promise<void> {
    const path = name.startsWith('~/') ? join(user.home, name.slice(2)) : resolve(dirname(from), name);
    if (base !== undefined && !isWithin(base, path)) {
      warnings.push(
        `${from} imports @${name}, which lies outside of ${base}: left out. Copy it there, or import it from ${join(user.config, 'CLAUDE.md')}.`,
      );
      return;
    }
    const real = await realpath(path).catch(() => undefined);
    if (real === undefined) {
      // A bare word after an @ is rather somebody's name.
      if (/[/.]/.test(name)) warnings.push(`${from} imports @${name}, but there is no ${path}.`);
      return;
    }
    if (depth > MAX_DEPTH && !taken.has(real)) {
      warnings.push(`${from} imports @${name}, which is more than ${MAX_DEPTH} imports deep: left out.`);
      return;
    }
    await load(path, base, depth);
  }

  await load(join(user.config, 'CLAUDE.md'), undefined, 0);
  for (const folder of ancestors(dir)) {
    for (const name of ['CLAUDE.md', '.claude/CLAUDE.md', 'CLAUDE.local.md']) await load(join(folder, name), folder, 0);
  }
  return { text: textOf(parts), files: parts.map(({ path, bytes }) => ({ path, bytes })), warnings };
}

type Part = { path: string; bytes: number; text: string };
type Found = { kind: 'read'; source: string; bytes: number } | { kind: 'nothing' } | { kind: 'refused'; why: string };

async function readInstructions(path: string, base: string | undefined, taken: Set<string>): Promise<Found> {
  const refused = (what: string): Found => ({ kind: 'refused', why: `${path} ${what}: left out.` });
  try {
    const real = await realpath(path);
    if (taken.has(real)) return { kind: 'nothing' };
    if (base !== undefined && !isWithin(await realpath(base), real))
      return refused(`is a link to a file outside of ${base}`);
    const { size, isFile } = await look(real);
    if (!isFile) return refused('is no file');
    if (size > MAX_BYTES) return refused('is larger than 4 MiB');
    const bytes = await readFile(real);
    if (bytes.includes(0)) return refused('is no text');
    taken.add(real);
    return { kind: 'read', source: bytes.toString('utf8'), bytes: bytes.length };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    return code === 'ENOENT' || code === 'ENOTDIR' ? { kind: 'nothing' } : refused(`cannot be read (${code})`);
  }
}

async function look(path: string): Promise<{ size: number; isFile: boolean }> {
  const found = await stat(path);
  return { size: found.size, isFile: found.isFile() };
}

/** From the root down to the folder itself. */
function ancestors(dir: string): string[] {
  const parent = dirname(dir);
  return parent === dir ? [dir] : [...ancestors(parent), dir];
}

function isWithin(base: string, path: string): boolean {
  const way = relative(base, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function textOf(parts: readonly Part[]): string {
  const sections = parts.filter(({ text }) => text !== '').map(({ path, text }) => `Contents of ${path}:\n\n${text}`);
  if (sections.length === 0) return '';
  return [HEADING, ...sections].join('\n\n');
}

/** Whether a text of a conversation is the instruction files of its job, and not what somebody asks for. */
export function isInstructions(text: string): boolean {
  return text.startsWith(HEADING);
}

const HEADING = `# Instructions
The people you work for keep these instruction files for you. Follow them; where two disagree, the later one counts.`;
