import { errorCode } from './durable-file.ts';

/** What a file operation found, or `undefined` when there is no such file; other errors pass. */
export async function ifThere<T>(operation: Promise<T>): Promise<T | undefined> {
  try {
    return await operation;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
