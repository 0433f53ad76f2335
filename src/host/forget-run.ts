import { readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { ifThere } from './if-there.ts';
import { TICKET } from './supervisor.ts';

/** What a run leaves in its folder, but for the record by which it is found. */
const LEFT = ['command', 'prelude', 'output', 'why', 'exit', 'exit.new', 'session', 'ended', 'cwd'];

/**
 * Makes the folder of a run that is `gone` ready for another one. The record goes last: until then it is still gone, and
 * from then on it has never started; a supervisor that nobody could see ends its command when it misses the record.
 */
export async function forgetRun(dir: string): Promise<void> {
  const names = (await ifThere(readdir(dir))) ?? [];
  for (const name of names) {
    if (LEFT.includes(name) || name.startsWith(TICKET)) await ifThere(unlink(join(dir, name)));
  }
  await ifThere(unlink(join(dir, 'process')));
}
