import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { writeDurably } from './durable-file.ts';
import { ifThere } from './if-there.ts';

/** What a fact's file holds. `corrupt`: it is there and cannot be trusted. */
export type Fact = { kind: 'there'; value: unknown } | { kind: 'absent' } | { kind: 'corrupt' };

/** The hash is that of the value's JSON, so that also a flipped bit is noticed. */
const FactFile = z.object({ sha256: z.string(), value: z.unknown() });

/**
 * Writes a JSON value down, in a folder that is made when it is missing; resolves when it is safe on disk.
 * @throws StoreError when it cannot be written, TypeError when the value is no JSON.
 */
export async function writeFact(path: string, value: unknown): Promise<void> {
  const json = JSON.stringify(value) as string | undefined;
  if (json === undefined) throw new TypeError(`${path} cannot be written: its value is no JSON.`);
  await writeDurably(path, `{"sha256":"${sha256(json)}","value":${json}}\n`, { folders: true });
}

/** Reads what `writeFact` has written. */
export async function readFact(path: string): Promise<Fact> {
  const text = await ifThere(readFile(path, 'utf8'));
  if (text === undefined) return { kind: 'absent' };
  try {
    const fact = FactFile.parse(JSON.parse(text));
    return fact.sha256 === sha256(JSON.stringify(fact.value))
      ? { kind: 'there', value: fact.value }
      : { kind: 'corrupt' };
  } catch {
    return { kind: 'corrupt' };
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
