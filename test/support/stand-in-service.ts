import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Env } from '../../src/app/service/home.ts';
import { stopService } from '../../src/app/service/service.ts';
import { temporalProgram } from './temporal.ts';

/** A worker that does no work, for tests of what starts and watches workers. */
export const standInWorker = fileURLToPath(new URL('./stand-in-worker.mjs', import.meta.url));

/** A folder of its own, and the environment of a home in it. */
export type ServiceHome = { root: string; env: Env };

/** Makes one; the service starts with whatever asks for it. */
export async function openServiceHome(name: string): Promise<ServiceHome> {
  const root = mkdtempSync(join(tmpdir(), `nightshift-${name}-`));
  const { program } = await temporalProgram();
  const { PATH, HOME } = process.env;
  const own = { NIGHTSHIFT_HOME: join(root, 'home'), XDG_CACHE_HOME: join(root, 'cache') };
  return { root, env: { PATH, HOME, ...own, NIGHTSHIFT_TEMPORAL_CLI: program } };
}

/** Ends its service, and removes the folder. */
export async function closeServiceHome({ root, env }: ServiceHome): Promise<void> {
  await stopService({ env, now: true });
  rmSync(root, { recursive: true, force: true });
}
