import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CrashWindow } from '../../src/host/crash-windows.ts';
import { namesIn, textOf, untilSeen } from '../chaos/files.ts';

/** Where the workers that get `env` stop, to be killed there. */
export type Pauses = {
  env: Record<string, string>;
  /** The next process that reaches the window stays there, and who stayed there before is let go; `block`: with its event loop. */
  arm(window: CrashWindow, how?: 'block'): void;
  /** Resolves with the pid of the process that stays at the window. */
  held(window: CrashWindow): Promise<number>;
  /** Forgets every pause, and lets go who is held. */
  disarm(): void;
  close(): void;
};

/** Pauses for the workers of one rig. */
export function openPauses(): Pauses {
  const folder = mkdtempSync(join(tmpdir(), 'nightshift-pauses-'));
  return {
    env: { NIGHTSHIFT_PAUSE: folder },
    arm(window, how) {
      rmSync(join(folder, `${window}.held`), { force: true });
      writeFileSync(join(folder, window), how ?? '');
    },
    async held(window) {
      const path = join(folder, `${window}.held`);
      await untilSeen(path, () => /^\d+\n/.test(textOf(path)), `a process at ${window}`);
      return Number.parseInt(textOf(path), 10);
    },
    disarm() {
      for (const name of namesIn(folder)) rmSync(join(folder, name), { force: true });
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}
