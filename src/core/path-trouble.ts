const TROUBLE: Record<string, string> = {
  EACCES: 'permission denied for the user that runs this job',
  EPERM: 'the operation is not permitted for the user that runs this job',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full; free some space first',
  EDQUOT: 'the disk quota is used up; free some space first',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is a file, not a folder',
  EEXIST: 'a part of the path is a file, not a folder',
  ENOENT: 'it does not exist (any more)',
  ELOOP: 'its links lead in a circle',
  ENAMETOOLONG: 'the name is too long for the file system',
  EINVAL: 'it is nothing that the file system can do this with',
  ETXTBSY: 'it is a program that runs at the moment',
};

/** The longest path that is told whole, in characters. */
const TOLD = 500;

/** What is wrong with a path, for the model, when an operation on its file failed for a reason that it can act on. */
export function pathTrouble(error: unknown, path: string): string | undefined {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const what = TROUBLE[code];
  if (what === undefined) return undefined;
  const shown = path.length > TOLD ? `${path.slice(0, TOLD)}… (${path.length} characters)` : path;
  return `${shown}: ${what} (${code}).`;
}
