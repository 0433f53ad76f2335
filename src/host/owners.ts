import { randomUUID } from 'node:crypto';
import { link, readdir, readFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode, writeError } from './durable-file.ts';
import { readFact } from './fact.ts';
import { liveness, ProcessIdentity } from './identity.ts';
import { ifThere } from './if-there.ts';

/** A process that has, or had, a call. `identity` is absent when its record cannot be read. `waited`: it only waited when it was last heard of. */
export interface Owner {
  readonly number: number;
  readonly path: string;
  readonly identity: ProcessIdentity | undefined;
  readonly waited: boolean;
}

export const ownerPath = (dir: string, number: number): string => join(dir, `owner.${number}`);
export const waitsPath = (dir: string, number: number): string => join(dir, `waits.${number}`);

/** Whether a living process has the call of this folder and is not done with it. */
export async function isOwned(dir: string): Promise<boolean> {
  return (await hasLivingOwner(dir)) && (await readFact(join(dir, 'result'))).kind !== 'there';
}

/** Whether the last process that had the call of this folder lives, be it done with it or not. */
export async function hasLivingOwner(dir: string): Promise<boolean> {
  const last = (await ifThere(readOwners(dir)))?.at(-1);
  return last?.identity !== undefined && liveness(last.identity) !== 'dead';
}

/** All owners that did not give the call back, in order; all but the last are dead. */
export async function readOwners(dir: string): Promise<Owner[]> {
  const names = await readdir(dir);
  const numbers = names
    .map((name) => Number(/^owner\.(\d+)$/.exec(name)?.[1]))
    .filter((number) => !Number.isNaN(number))
    .sort((a, b) => a - b);
  const owners = await Promise.all(
    numbers.map(async (number) => {
      const path = ownerPath(dir, number);
      const text = await ifThere(readFile(path, 'utf8'));
      // One that is gone by now was given back.
      return text === undefined
        ? []
        : [{ number, path, identity: parseOwner(text), waited: names.includes(`waits.${number}`) }];
    }),
  );
  return owners.flat();
}

function parseOwner(text: string): ProcessIdentity | undefined {
  try {
    return ProcessIdentity.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/**
 * Makes this process the owner of that number; false when another one was faster. Without fsync: a power cut ends every
 * owner, so what it takes of these records is not missed.
 */
export async function linkOwner(dir: string, number: number, self: ProcessIdentity): Promise<boolean> {
  const temp = join(dir, `.owner.${randomUUID()}.tmp`);
  try {
    await writeFile(temp, JSON.stringify(self), { flag: 'wx', mode: 0o600 });
    await link(temp, ownerPath(dir, number));
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw writeError(ownerPath(dir, number), error);
  } finally {
    await ifThere(unlink(temp));
  }
}
