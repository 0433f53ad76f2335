import type { PermissionContext, ResolvedPath } from './call.ts';
import { isInside, joinPath, normalisePath } from './paths.ts';

/** Resolves a path of a call; a relative one starts at `folder`. */
export function locate(path: string, ctx: PermissionContext, folder = ctx.cwd): ResolvedPath {
  const home = path === '~' || path.startsWith('~/') ? ctx.home + path.slice(1) : path;
  const joined = joinPath(folder, home);
  const { real } = ctx.resolve(joined);
  return { path: normalisePath(joined), real: normalisePath(real) };
}

/** Whether a path lies in one of the folders, by its name and by where its links lead. */
export function isWithin(at: ResolvedPath, folders: readonly string[], ctx: PermissionContext): boolean {
  const all = folders.map((folder) => ({ path: normalisePath(folder), real: normalisePath(ctx.resolve(folder).real) }));
  return (
    all.some((folder) => isInside(at.path, folder.path) || isInside(at.path, folder.real)) &&
    all.some((folder) => isInside(at.real, folder.real))
  );
}
