import { patched } from '@temporalio/workflow';

/**
 * Runs what it is given one after the other; the first begins at once. Workflows that began without it go on without it
 * (`patch`), and nothing is added to the history where nothing has to wait.
 */
export function oneByOne(patch: string): (work: () => Promise<void>) => Promise<void> {
  let running: Promise<void> | undefined;
  return async function run(work) {
    if (running && patched(patch)) {
      await running;
      return run(work);
    }
    const mine = work().finally(() => {
      if (running === mine) running = undefined;
    });
    running = mine;
    await mine;
  };
}
