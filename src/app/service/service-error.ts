/** Something about the local service that the caller cannot go on from: what is wrong, and the command or change that mends it. */
export class ServiceError extends Error {
  override readonly name: string = 'ServiceError';
  /** What to do about it: one or more lines, commands as they are typed. */
  readonly fix: string;
  /** The command line's code for "no server, it can't be reached, or the home can't be used". */
  readonly exitCode = 4;
  /** Whether it stays until a person does something about it, so that there is no use in waiting. */
  readonly lasting: boolean;

  constructor(message: string, fix: string, lasting = false) {
    super(message);
    this.fix = fix;
    this.lasting = lasting;
  }
}

/** The folder of all state cannot be used. */
export class HomeError extends ServiceError {
  override readonly name = 'HomeError';
}

/** The `code` of a system error, as in `ENOENT`. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** The text of whatever was thrown. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
