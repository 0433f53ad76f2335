import { lstatSync, readlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { CallTraits, CheckedCall, PermissionContext, ResolvedPath } from '../../src/permissions/call.ts';

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
  return { cwd: root, root, home, resolve: resolvePath, ...more };
}
