import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import proto from '@temporalio/proto';

type History = proto.temporal.api.history.v1.IHistory;
const { History } = proto.temporal.api.history.v1;

/** Histories of real jobs by the version that made them. */
const folder = fileURLToPath(new URL('./histories/', import.meta.url));

/** One run of a workflow. Its file is `<workflow id, slashes as dots>.<number of the run>.bin`. */
export type Recorded = { version: string; name: string; workflowId: string; history: History };

/** Everything that was recorded, of all versions. */
export function recorded(): Recorded[] {
  return readdirSync(folder).flatMap((version) =>
    readdirSync(join(folder, version)).map((file) => {
      const [job, ...child] = file.replace(/\.\d+\.bin$/, '').split('.');
      return {
        version,
        name: `${version}/${file}`,
        workflowId: [job, ...child].join('/'),
        history: History.decode(readFileSync(join(folder, version, file))),
      };
    }),
  );
}

/** Takes away what is there of a job in a version, to record it anew. */
export function clear(version: string, job: string): void {
  const place = join(folder, version);
  mkdirSync(place, { recursive: true });
  for (const file of readdirSync(place)) if (file.split('.')[0] === job) rmSync(join(place, file));
}

export function keep(version: string, workflowId: string, run: number, history: History): void {
  const file = `${workflowId.replaceAll('/', '.')}.${run}.bin`;
  writeFileSync(join(folder, version, file), History.encode(anonymous(history)).finish());
}

/** The same without the names of processes and machines, which no replay looks at. */
function anonymous(history: History): History {
  const copy = History.decode(History.encode(history).finish());
  for (const event of copy.events) strip(event);
  return copy;
}

function strip(value: unknown): void {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return;
  for (const [key, inner] of Object.entries(value)) {
    if (typeof inner === 'string') Object.assign(value, { [key]: inner.replace(/^\d+@[\w.-]+/, 'worker') });
    else strip(inner);
  }
}
