import { lstat, mkdir, readFile, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { applyEdits, modify } from 'jsonc-parser';
import type { Files, SavedRules } from '../core/ports.ts';
import { errorCode } from './durable-file.ts';
import { ifThere } from './if-there.ts';
import { type JsonObject, parseJson, pathText } from './json-file.ts';

/** Takes a lock and returns the function that gives it back; `undefined`: somebody else has it just now. */
export type TryLock = (path: string) => Promise<(() => void) | undefined>;

const FOLDER = '.claude';
const FILE = 'settings.local.json';
const LIST = ['permissions', 'allow'] as const;
/** Whoever has the lock needs it for a moment only. */
const PATIENCE_MS = 10_000;
const LOOK_MS = 25;

/**
 * Adds allow rules to a workspace's own settings, `.claude/settings.local.json`. What stands there stays as it is, with
 * its comments and its format; a rule that is there already is not added. Several savers at once lose nothing. What can't
 * be done safely is not done, and the answer says why.
 */
export async function saveRules(
  dir: string,
  rules: readonly string[],
  { files, tryLock }: { files: Pick<Files, 'write'>; tryLock: TryLock },
): Promise<SavedRules> {
  const file = join(dir, FOLDER, FILE);
  try {
    const objection = await elsewhere(dir);
    if (objection !== undefined) return { kind: 'refused', file, why: objection };
    await mkdir(join(dir, FOLDER), { recursive: true });
    const release = await untilLocked(join(dir, FOLDER, `.${FILE}.lock`), tryLock);
    if (!release) return { kind: 'refused', file, why: `another program keeps its lock .${FILE}.lock; try again` };
    try {
      return await addTo(file, rules, files);
    } finally {
      release();
    }
  } catch (error) {
    return { kind: 'refused', file, why: error instanceof Error ? error.message : String(error) };
  }
}

/** A folder that somebody made lead elsewhere would carry a rule for this workspace to other places. */
async function elsewhere(dir: string): Promise<string | undefined> {
  if (!(await ifThere(stat(dir)))?.isDirectory()) return `there is no folder ${dir} any more`;
  const folder = join(dir, FOLDER);
  for (const path of [folder, join(folder, FILE)]) {
    const found = await ifThere(lstat(path));
    if (found?.isSymbolicLink()) return `${path} is a link to ${await target(path)}; put a real one in its place`;
  }
  return undefined;
}

const target = (path: string): Promise<string> =>
  realpath(path).catch((error: unknown) => errorCode(error) ?? 'nowhere');

async function untilLocked(path: string, tryLock: TryLock): Promise<(() => void) | undefined> {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    const release = await tryLock(path);
    if (release || performance.now() > end) return release;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

async function addTo(file: string, rules: readonly string[], files: Pick<Files, 'write'>): Promise<SavedRules> {
  const old = (await ifThere(readFile(file, 'utf8'))) ?? '';
  const bom = old.startsWith('\ufeff') ? '\ufeff' : '';
  const text = old.slice(bom.length);
  const before = text.trim() === '' ? {} : valueOf(text, file);
  if (typeof before === 'string') return { kind: 'refused', file, why: before };
  const known = allowed(before);
  if (known === undefined) return { kind: 'refused', file, why: `its ${pathText(LIST)} is no list of rules` };
  const fresh = [...new Set(rules)].filter((rule) => !known.includes(rule));
  if (fresh.length === 0) return { kind: 'saved', file, added: [] };
  const next = withRules(text.trim() === '' ? '{}\n' : text, fresh);
  // An odd file may hold a key twice: only what reads back as meant is written.
  const after = valueOf(next, file);
  const isMeant = typeof after !== 'string' && JSON.stringify(allowed(after)) === JSON.stringify([...known, ...fresh]);
  if (!isMeant) return { kind: 'refused', file, why: 'it holds keys twice; put them together first' };
  await files.write(file, bom + next);
  return { kind: 'saved', file, added: fresh };
}

/** The value of a file, or why it can't be read. */
function valueOf(text: string, file: string): JsonObject | string {
  const read = parseJson(text, file);
  if (read.kind === 'read') return read.value;
  if (read.kind === 'nothing') return {};
  const { line, text: what } = read.problem;
  return line === undefined ? what : `line ${line}: ${what}`;
}

/** The rules that stand there; `undefined`: something else stands in their place. */
function allowed(value: JsonObject): string[] | undefined {
  const permissions = value[LIST[0]] ?? {};
  if (typeof permissions !== 'object' || Array.isArray(permissions)) return undefined;
  const list = 'allow' in permissions ? permissions.allow : [];
  return Array.isArray(list) && list.every((one) => typeof one === 'string') ? list : undefined;
}

function withRules(text: string, rules: readonly string[]): string {
  const indent = /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ';
  const formattingOptions = {
    insertSpaces: !indent.startsWith('\t'),
    tabSize: indent.startsWith('\t') ? 1 : indent.length,
    eol: text.includes('\r\n') ? '\r\n' : '\n',
  };
  const end = [...LIST, -1];
  return rules.reduce((rest, rule) => applyEdits(rest, modify(rest, end, rule, { formattingOptions })), text);
}
