import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { ProcessIdentity } from '../../host/identity.ts';

const Server = z.object({
  address: z.string(),
  /** Null for a server of the user's own, which no keeper starts. */
  identity: ProcessIdentity.nullable(),
  version: z.string().nullable(),
  uiUrl: z.string().nullable(),
  startedAt: z.iso.datetime().nullable(),
});

const Worker = z.object({
  identity: ProcessIdentity,
  startedAt: z.iso.datetime(),
  restarts: z.int().nonnegative(),
  /** Of the workflows it runs; a worker need not say so. */
  build: z.string().optional(),
});

/** What the keeper says of its service: `service.json` in the home, and the answer on its socket. Never a value of a model variable. */
export const ServiceRecord = z.object({
  v: z.literal(1),
  phase: z.enum(['starting', 'ready', 'stopping']),
  namespace: z.string(),
  keeper: z.object({ identity: ProcessIdentity, startedAt: z.iso.datetime() }),
  /** Null while it is down. */
  server: Server.nullable(),
  worker: Worker.nullable(),
  /** A second worker, where one was asked for. */
  standby: Worker.nullable().default(null),
});
export type ServiceRecord = z.infer<typeof ServiceRecord>;

/** Replaces the record as a whole: a reader sees the old one or the new one. */
export function writeRecord(path: string, record: ServiceRecord): void {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(record, undefined, 2)}\n`, { mode: 0o600 });
  renameSync(draft, path);
}

/** The last record; `undefined` when there is none that can be read. */
export function readRecord(path: string): ServiceRecord | undefined {
  try {
    return ServiceRecord.safeParse(JSON.parse(readFileSync(path, 'utf8'))).data;
  } catch {
    return undefined;
  }
}
