import { CliError, Exit } from './cli-error.ts';
import type { Io } from './io.ts';

/** The end of `work`, which brings up the service; rejects (130) when Ctrl-C comes first, and says what goes on. */
export async function untilInterrupted<T>(io: Io, work: Promise<T>): Promise<T> {
  let release = (): void => {};
  const left = new Promise<never>((_, reject) => {
    release = io.onInterrupt(() =>
      reject(
        new CliError(
          Exit.interrupted,
          'left by Ctrl-C; a service that has begun to start goes on by itself',
          'nightshift status   # what runs\nnightshift down     # ends it',
        ),
      ),
    );
  });
  try {
    return await Promise.race([work, left]);
  } finally {
    release();
  }
}
