import { lstat, mkdir, readFile, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { applyEdits, modify } from 'jsonc-parser';
import type { Files, SavedRules } from '../core/ports.ts';
import type { Destination, SettingsChange } from '../shapes/permission-update.ts';
import { errorCode } from './durable-file.ts';
import { ifThere } from './if-there.ts';
import { type JsonObject, parseJson, pathText } from './json-file.ts';
import { gitRoot } from './trust.ts';

/** Takes a lock and returns the function that gives it back; `undefined`: somebody else has it just now. */
export type TryLock = (path: string) => Promise<(() => void) | undefined>;

const FOLDER = '.claude';
/** Whoever has the lock needs it for a moment only. */
const PATIENCE_MS = 10_000;
const LOOK_MS = 25;

type Doors = { files: Pick<Files, 'write'>; tryLock: TryLock };

/** Where settings lie that a job may change: its workspace, and the folder of the user's settings. Absolute. */
type ChangeablePlaces = { dir: string; userConfig: string };

/**
 * Adds allow rules to a workspace's own settings, `.claude/settings.local.json`. What stands there stays as it is, with
 * its comments and its format; a rule that is there already is not added. Several savers at once lose nothing. What can't
 * be done safely is not done, and the answer says why.
 */
export function saveRules(dir: string, rules: readonly string[], doors: Doors): Promise<SavedRules> {
  const add: SettingsChange = { kind: 'add', list: 'allow', values: [...rules] };
  return changeSettings('localSettings', [add], { dir, userConfig: '' }, doors);
}

/** The same for any change of the permissions in any settings file that is the user's own; all of them or none. */
export async function changeSettings(
  destination: Exclude<Destination, 'session'>,
  changes: readonly SettingsChange[],
  { dir, userConfig }: ChangeablePlaces,
  { files, tryLock }: Doors,
): Promise<SavedRules> {
  const isUsers = destination === 'userSettings';
  const folder = isUsers ? userConfig : join(destination === 'localSettings' ? (gitRoot(dir) ?? dir) : dir, FOLDER);
  const name = destination === 'localSettings' ? 'settings.local.json' : 'settings.json';
  const file = join(folder, name);
  try {
    // The user's own file may well be a link to where they keep such files.
    const objection = isUsers ? undefined : await elsewhere(dir, [folder, file]);
    if (objection !== undefined) return { kind: 'refused', file, why: objection };
    await mkdir(folder, { recursive: true });
    const release = await untilLocked(join(folder, `.${name}.lock`), tryLock);
    if (!release) return { kind: 'refused', file, why: `another program keeps its lock .${name}.lock; try again` };
    try {
      return await change(file, changes, files);
    } finally {
      release();
    }
  } catch (error) {
    return { kind: 'refused', file, why: error instanceof Error ? error.message : String(error) };
  }
}

/** A folder that somebody made lead elsewhere would carry a rule for this workspace to other places. */
async function elsewhere(dir: string, paths: readonly string[]): Promise<string | undefined> {
  if (!(await ifThere(stat(dir)))?.isDirectory()) return `there is no folder ${dir} any more`;
  for (const path of paths) {
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

async function change(
  file: string,
  changes: readonly SettingsChange[],
  files: Pick<Files, 'write'>,
): Promise<SavedRules> {
  const old = (await ifThere(readFile(file, 'utf8'))) ?? '';
  const bom = old.startsWith('\ufeff') ? '\ufeff' : '';
  const before = old.slice(bom.length);
  const refused = (why: string): SavedRules => ({ kind: 'refused', file, why });
  let text = before.trim() === '' ? '{}\n' : before;
  const added: string[] = [];
  for (const one of changes) {
    const step = applied(text, one, file);
    if (typeof step === 'string') return refused(step);
    text = step.text;
    added.push(...step.added);
  }
  if (text !== before && !(before.trim() === '' && text === '{}\n')) await files.write(file, bom + text);
  return { kind: 'saved', file, added };
}

/** The text with one change in it and what was added to a list, or why it can't be changed. */
function applied(text: string, one: SettingsChange, file: string): { text: string; added: string[] } | string {
  const value = valueOf(text, file);
  if (typeof value === 'string') return value;
  const path = ['permissions', one.kind === 'mode' ? 'defaultMode' : one.list];
  const old = valueAt(value, path);
  if (old === 'odd' || (one.kind !== 'mode' && old !== undefined && !isTexts(old)))
    return `its ${pathText(path)} is no list of ${path[1] === 'additionalDirectories' ? 'folders' : 'rules'}`;
  const next = wanted(one, isTexts(old) ? old : []);
  if (JSON.stringify(next) === JSON.stringify(old ?? [])) return { text, added: [] };
  const changed = edited(text, path, one, isTexts(old) ? old : [], next);
  // An odd file may hold a key twice: only what reads back as meant is written.
  const after = valueOf(changed, file);
  const isMeant = typeof after !== 'string' && JSON.stringify(valueAt(after, path)) === JSON.stringify(next);
  if (!isMeant) return 'it holds keys twice; put them together first';
  const added = isTexts(next) ? next.filter((entry) => !isTexts(old) || !old.includes(entry)) : [];
  return { text: changed, added };
}

function wanted(one: SettingsChange, old: readonly string[]): string[] | string {
  switch (one.kind) {
    case 'mode':
      return one.mode;
    case 'add':
      return [...old, ...new Set(one.values.filter((entry) => !old.includes(entry)))];
    case 'remove':
      return old.filter((entry) => !one.values.includes(entry));
    case 'replace':
      return [...new Set(one.values)];
  }
}

/** Entry by entry where that is possible, so that comments between the others stay. */
function edited(
  text: string,
  path: readonly string[],
  one: SettingsChange,
  old: readonly string[],
  next: string[] | string,
): string {
  const edit = (rest: string, at: (string | number)[], value: unknown): string =>
    applyEdits(rest, modify(rest, at, value, { formattingOptions: formatOf(text) }));
  if (one.kind === 'add' && isTexts(next))
    return next.slice(old.length).reduce((rest, entry) => edit(rest, [...path, -1], entry), text);
  if (one.kind !== 'remove') return edit(text, [...path], next);
  return old.reduceRight(
    (rest, entry, at) => (one.values.includes(entry) ? edit(rest, [...path, at], undefined) : rest),
    text,
  );
}

function formatOf(text: string): { insertSpaces: boolean; tabSize: number; eol: string } {
  const indent = /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ';
  const tabs = indent.startsWith('\t');
  return { insertSpaces: !tabs, tabSize: tabs ? 1 : indent.length, eol: text.includes('\r\n') ? '\r\n' : '\n' };
}

/** The value of a file, or why it can't be read. */
function valueOf(text: string, file: string): JsonObject | string {
  const read = parseJson(text, file);
  if (read.kind === 'read') return read.value;
  if (read.kind === 'nothing') return {};
  const { line, text: what } = read.problem;
  return line === undefined ? what : `line ${line}: ${what}`;
}

/** What stands at a path of two keys; `odd`: the first one holds no object. */
function valueAt(value: JsonObject, [first, second]: readonly string[]): unknown {
  const outer = value[first!] ?? {};
  if (typeof outer !== 'object' || Array.isArray(outer)) return 'odd';
  return (outer as JsonObject)[second!];
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');
