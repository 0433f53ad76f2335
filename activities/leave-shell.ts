import type { Shell, ShellRun } from '../src/core/ports.ts';

/**
 * A shell in which nobody waits for a command any more once `leave` aborts: such a wait never settles, so whoever waits
 * does nothing more, and `left` rejects with the signal's reason. The command itself is not touched; a cancel or a time
 * limit of the waiting one comes first.
 */
export function leaveShell(shell: Shell, leave: AbortSignal): { shell: Shell; left: Promise<never> } {
  let reject: (reason: unknown) => void = () => undefined;
  const left = new Promise<never>((_, refuse) => {
    reject = refuse;
  });
  left.catch(() => undefined); // whoever has nothing to leave does not ask
  const leaving = (run: ShellRun): ShellRun => ({
    ...run,
    async exit(signal, onProgress) {
      try {
        return await run.exit(AbortSignal.any([signal, leave]), onProgress);
      } catch (error) {
        if (signal.aborted || !leave.aborted) throw error;
        reject(leave.reason);
        return new Promise<never>(() => undefined);
      }
    },
  });
  return {
    left,
    shell: {
      ...shell,
      start: async (dir, spec) => leaving(await shell.start(dir, spec)),
      async adopt(dir) {
        const found = await shell.adopt(dir);
        return found.kind === 'running' ? { ...found, run: leaving(found.run) } : found;
      },
    },
  };
}
