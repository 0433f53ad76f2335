import { z } from 'zod';

/** What a keeper is started with: the one argument of its program, as JSON. It holds no secret. */
export const KeeperSpec = z.object({
  home: z.string(),
  server: z.discriminatedUnion('kind', [
    /** A server on the home's database, started and kept by the keeper. */
    z.object({
      kind: z.literal('local'),
      program: z.string(),
      version: z.object({ cli: z.string(), server: z.string() }),
      fixedPort: z.int().min(1).max(65_535).optional(),
      ui: z.boolean(),
    }),
    /** A server of the user's own; only the worker is kept. */
    z.object({ kind: z.literal('own'), address: z.string(), namespace: z.string() }),
  ]),
  /** The compiled worker. */
  workerFile: z.string(),
  /** Whether to keep a second worker, which has what the first one did as soon as that dies. */
  standby: z.boolean().optional(),
  /** Whether a home that was put back from an older copy is to be taken as it is. */
  restored: z.boolean().optional(),
  /** How long a worker may be silent, in ms. */
  silentAfter: z.int().positive().optional(),
});
export type KeeperSpec = z.infer<typeof KeeperSpec>;

/** Exit code of a keeper that found another one in its home. */
export const ANOTHER_KEEPER = 75;
