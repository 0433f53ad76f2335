import type { PermissionContext, ResolvedPath } from './call.ts';
import { isInside, joinPath, normalisePath } from './paths.ts';

const remembering = new WeakSet<PermissionContext>();

/** The same context for one decision: each path is looked up on the disk once, not once for each rule. */
export function withMemory(ctx: PermissionContext): PermissionContext {
  const known = new Map<string, ResolvedPath>();
  const resolve = (path: string): ResolvedPath => {
    const found = known.get(path) ?? plain(path, ctx);
    known.set(path, found);
    return found;
  };
  const memory = { ...ctx, resolve };
  remembering.add(memory);
  return memory;
}

/** Resolves a path of a call, which starts at the working directory unless it is absolute. */
export function locate(path: string, ctx: PermissionContext): ResolvedPath {
  const home = path === '~' || path.startsWith('~/') ? ctx.home + path.slice(1) : path;
  const joined = joinPath(ctx.cwd, home);
  return remembering.has(ctx) ? ctx.resolve(joined) : plain(joined, ctx);
}

function plain(path: string, ctx: PermissionContext): ResolvedPath {
  return { path: normalisePath(path), real: normalisePath(ctx.resolve(path).real) };
}

/** Whether a path lies in one of the folders, by its name and by where its links lead. */
export function isWithin(at: ResolvedPath, folders: readonly string[], ctx: PermissionContext): boolean {
  const all = folders.map((folder) => locate(folder, ctx));
  return (
    all.some((folder) => isInside(at.path, folder.path) || isInside(at.path, folder.real)) &&
    all.some((folder) => isInside(at.real, folder.real))
  );
}
