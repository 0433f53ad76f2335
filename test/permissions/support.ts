import { lstatSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { CallTraits, CheckedCall, PermissionContext, ResolvedPath } from '../../src/permissions/call.ts';
import { decide } from '../../src/permissions/chain.ts';
import { mergeRules } from '../../src/permissions/rules.ts';
import type { Behavior, Decision, Rules } from '../../src/shapes/permission.ts';

/** Follows every link of a path on the real file system, also one that leads to nothing yet. */
export function resolvePath(path: string): ResolvedPath {
  return { path: resolve(path), real: follow(path, 0) };
}

function follow(path: string, depth: number): string {
  if (depth > 40) return path;
  let at = '/';
  const parts = path.split('/').filter((part) => part !== '');
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i]!;
    if (part === '.') continue;
    const next = part === '..' ? dirname(at) : join(at, part);
    if (part !== '..' && isLink(next))
      return follow(join(resolve(at, readlinkSync(next)), ...parts.slice(i + 1)), depth + 1);
    at = next;
  }
  return at;
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}

/** The names in a folder of the real file system. */
export function listNames(folder: string): string[] {
  const at = statSync(folder, { throwIfNoEntry: false });
  return at?.isDirectory() ? readdirSync(folder) : [];
}

/** What each built-in tool says of its input. */
export function checkedCall(
  tool: string,
  input: Record<string, unknown>,
  cwd: string,
  meta?: Record<string, unknown>,
): CheckedCall {
  return { tool, input, traits: traitsOf(tool, input, cwd, meta) };
}

function traitsOf(
  tool: string,
  input: Record<string, unknown>,
  cwd: string,
  meta?: Record<string, unknown>,
): CallTraits {
  const text = (name: string): string => (typeof input[name] === 'string' ? input[name] : '');
  switch (tool) {
    case 'Bash':
      return { access: 'bash', paths: [], command: text('command') };
    case 'Read':
      return { access: 'read', paths: [{ path: text('file_path'), use: 'read' }] };
    case 'Grep':
    case 'Glob':
      return { access: 'read', paths: [{ path: text('path') || cwd, use: 'search' }] };
    case 'Edit':
    case 'Write':
      return { access: 'edit', paths: [{ path: text('file_path'), use: 'edit' }] };
    case 'WebFetch':
      return { access: 'fetch', paths: [], url: text('url') };
    case 'Agent':
    case 'TodoWrite':
      return { access: 'none', paths: [] };
    case 'AskUserQuestion':
      return { access: 'none', paths: [], requiresInteraction: true };
    default: {
      const interactive = meta?.['anthropic/requiresUserInteraction'] === true;
      return { access: 'other', paths: [], ...(interactive ? { requiresInteraction: true } : {}) };
    }
  }
}

/** A context over the real file system. */
export function contextAt(root: string, home: string, more: Partial<PermissionContext> = {}): PermissionContext {
  return { cwd: root, root, home, resolve: resolvePath, list: listNames, ...more };
}

/** Settings of a user, and what else a decision depends on. */
export type Setting = {
  allow?: string[];
  ask?: string[];
  deny?: string[];
  mode?: string;
  directories?: string[];
  /** Whether a person trusts the folder; true when absent. */
  trusted?: boolean;
  hook?: CheckedCall['hook'];
  context?: Partial<PermissionContext>;
  meta?: Record<string, unknown>;
};

/** A folder that exists only by its name: no links, nothing on a disk. */
export const place = { root: '/work/proj', home: '/home/dev' };

/** Rules of a user's settings. */
export function rulesOf({ allow, ask, deny, mode, directories, trusted = true }: Setting): Rules {
  const source = { kind: 'user', base: `${place.home}/.claude` } as const;
  const layer = {
    source,
    ...(allow ? { allow } : {}),
    ...(ask ? { ask } : {}),
    ...(deny ? { deny } : {}),
    ...(directories ? { additionalDirectories: directories } : {}),
  };
  return mergeRules([mode === undefined ? layer : { ...layer, defaultMode: mode }], { trusted, ...place });
}

/** A context in which every path is what it seems. */
export function plainContext(more: Partial<PermissionContext> = {}): PermissionContext {
  return { cwd: place.root, ...place, resolve: (path) => ({ path: resolve(path), real: resolve(path) }), ...more };
}

/** The decision about a call under settings. */
export function decisionOf(setting: Setting, tool: string, input: Record<string, unknown>): Decision {
  const { hook, meta } = setting;
  const call = { ...checkedCall(tool, input, place.root, meta), ...(hook ? { hook } : {}) };
  return decide(call, rulesOf(setting), plainContext(setting.context));
}

/** What becomes of a command under settings. */
export function bashVerdict(setting: Setting, command: string): Behavior {
  return decisionOf(setting, 'Bash', { command }).behavior;
}
