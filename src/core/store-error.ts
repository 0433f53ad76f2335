/** `missing`: it is not there. `corrupt`: its bytes are not what they were. `full`: no room. `unwritable`: disk or rights refuse, also to read. */
export type StoreErrorCode = 'missing' | 'corrupt' | 'full' | 'unwritable';

const REMEDY: Record<StoreErrorCode, string> = {
  missing:
    'A file of the job is gone: put it back from a backup of the home, or start the job again under a new name; other jobs are not affected.',
  corrupt:
    'Its bytes changed after they were written: restore this one file from a backup of the home, or start the job again under a new name; other jobs are not affected.',
  full: 'The disk that holds the home is full: free some space there; nothing was lost and the write is tried again.',
  unwritable: 'Check owner, rights and mount of the folder that holds the home; it is tried again.',
};

/** Trouble with a job's files on disk. The message names the file, what is wrong with it and what to do. */
export class StoreError extends Error {
  readonly code: StoreErrorCode;
  /** Absolute path of the file; the hash of a node of a transcript. */
  readonly path: string;

  constructor(code: StoreErrorCode, path: string, what: string, cause?: unknown) {
    super(`${what}: ${path}. ${REMEDY[code]}`, cause === undefined ? undefined : { cause });
    this.name = 'StoreError';
    this.code = code;
    this.path = path;
  }
}

/** True for what cannot be mended by trying again: the file has to come back first. */
export const isLost = (error: unknown): error is StoreError =>
  error instanceof StoreError && (error.code === 'missing' || error.code === 'corrupt');
