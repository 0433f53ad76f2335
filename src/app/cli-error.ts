import { StoreError, isLost } from '../core/store-error.ts';

/** Exit codes that scripts rely on. */
export const Exit = {
  ok: 0,
  failed: 1,
  usage: 2,
  unknown: 3,
  service: 4,
  limit: 5,
  cancelled: 6,
  interrupted: 130,
} as const;
export type Exit = (typeof Exit)[keyof typeof Exit];

/** Ends a command with its own exit code: what is wrong, and in `fix` what to do about it. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: Exit;
  readonly fix: string | undefined;

  constructor(exitCode: Exit, message: string, fix?: string) {
    super(message);
    this.exitCode = exitCode;
    this.fix = fix;
  }
}

/** Wrong usage, or something that is wrong before a job exists. */
export function usageError(message: string, fix?: string): CliError {
  return new CliError(Exit.usage, message, fix);
}

/** No such job or prompt. */
export function unknownError(message: string, fix?: string): CliError {
  return new CliError(Exit.unknown, message, fix);
}

/** Whether the service could not be had: no server, or none that answers. */
export function isServiceError(error: unknown): error is Error {
  return error instanceof Error && 'exitCode' in error && error.exitCode === Exit.service;
}

/** Whether it stays until a person does something about it. */
export function isLasting(error: unknown): boolean {
  return error instanceof Error && 'lasting' in error && error.lasting === true;
}

/** What a person reads of an error, and the exit code. Errors of ours carry `exitCode`; anything else is a bug. */
export function explainError(error: unknown, debug: boolean): { exitCode: number; text: string } {
  if (error instanceof Error && 'exitCode' in error && typeof error.exitCode === 'number') {
    const fix = 'fix' in error && typeof error.fix === 'string' ? `\n${error.fix}` : '';
    return { exitCode: error.exitCode, text: `error: ${error.message}${fix}` };
  }
  if (error instanceof StoreError) {
    return { exitCode: isLost(error) ? Exit.failed : Exit.service, text: `error: ${error.message}` };
  }
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const stack = error instanceof Error && error.stack !== undefined ? error.stack : what;
  const hint = debug ? stack : 'Run the command again with NIGHTSHIFT_DEBUG=1 to see where it comes from.';
  return { exitCode: Exit.failed, text: `error: ${what}\nThis is a bug in nightshift. ${hint}` };
}
