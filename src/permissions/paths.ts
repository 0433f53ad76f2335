/** Joins an absolute folder and a path; an absolute path wins. Neither `.` nor `..` is taken out: links decide what they mean. */
export function joinPath(base: string, path: string): string {
  if (path.startsWith('/')) return path;
  return base.endsWith('/') ? base + path : `${base}/${path}`;
}

/** An absolute path without empty parts, `.` and `..`, by its text alone. */
export function normalisePath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}

/** The parts of an absolute path. */
export function segmentsOf(path: string): string[] {
  return path.split('/').filter((part) => part !== '');
}

/** Whether an absolute path is a folder or lies below it. */
export function isInside(path: string, folder: string): boolean {
  if (folder === '/') return path.startsWith('/');
  return path === folder || path.startsWith(`${folder}/`);
}

/** The path from a folder to what lies below it, `''` for the folder itself, `undefined` for anything else. */
export function relativePath(path: string, folder: string): string | undefined {
  if (!isInside(path, folder)) return undefined;
  return path.slice(folder === '/' ? 1 : folder.length + 1);
}

/** The folder of an absolute path. */
export function parentPath(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/';
}
