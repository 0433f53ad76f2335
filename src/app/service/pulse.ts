import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { type Env, type Home, cacheFolder } from './home.ts';
import { homeKey } from './home-key.ts';
import { ServiceError, errorCode, errorText } from './service-error.ts';

/** How far a home has come: counted up while its service runs, and kept twice, in the home and outside of it. */
export const Pulse = z.object({
  v: z.literal(1),
  /** Only counts are compared; clocks may be set back. */
  count: z.int().nonnegative(),
  /** For people. */
  at: z.iso.datetime(),
});
export type Pulse = z.infer<typeof Pulse>;

/** The two files of a home's pulse. */
export interface PulseFiles {
  readonly inside: string;
  /** In the cache, which backups leave out; under the home's id and place, so that a copy elsewhere has none. */
  readonly outside: string;
}

/** What the two pulses of a home tell; `count` is the higher one. */
export type Standing =
  | { readonly kind: 'newest'; readonly count: number }
  | { readonly kind: 'older'; readonly count: number; readonly copy: Pulse | undefined; readonly last: Pulse };

/** Where the pulse of a home is kept. */
export function pulseFiles(home: Home, env: Env): PulseFiles {
  return { inside: home.pulse, outside: join(cacheFolder(env), 'homes', `${homeKey(home)}.json`) };
}

/** Reads one of the files; one that is damaged counts as missing, and `complain` is told. */
export function readPulse(path: string, complain: (line: string) => void = () => {}): Pulse | undefined {
  try {
    return Pulse.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') complain(`${path} can't be read, so it counts as missing: ${firstLine(error)}`);
    return undefined;
  }
}

/**
 * Compares them. The home's is written first, so it is never behind, whatever dies in between: a home that is, or has
 * none, is an older copy. Without the one outside nothing can be known.
 */
export function standing(inside: Pulse | undefined, outside: Pulse | undefined): Standing {
  const has = inside?.count ?? 0;
  const had = outside?.count ?? 0;
  if (outside === undefined || has >= had) return { kind: 'newest', count: Math.max(has, had) };
  return { kind: 'older', count: had, copy: inside, last: outside };
}

/** The standing of a home, be its service up or down. */
export function readStanding({ inside, outside }: PulseFiles): Standing {
  // The one that is written last is read first, so that a write in between makes no difference.
  const last = readPulse(outside);
  return standing(readPulse(inside), last);
}

/** What to say of an older copy. */
export function olderCopy({ home, jobs, pulse }: Home, { copy, last }: Standing & { kind: 'older' }): ServiceError {
  const stands = copy === undefined ? `its mark ${pulse} is gone or damaged` : `it stands as of about ${time(copy)}`;
  return new ServiceError(
    [
      `The home ${home} was put back from an older copy: ${stands}, but it was in use until about ${time(last)}.`,
      'Its open jobs would do again what they did since then: commands, commits, replies that are paid for.',
    ].join('\n'),
    [
      'Put back a newer copy if there is one.',
      `Otherwise look at what its jobs (${jobs}) did meanwhile in the folders they work in: git log, git status.`,
      'To take this copy as it is and have its jobs go on from there: nightshift up --restored',
    ].join('\n'),
    true,
  );
}

function time({ at }: Pulse): string {
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

function firstLine(error: unknown): string {
  return error instanceof z.ZodError ? 'it holds no pulse of a home' : (errorText(error).split('\n')[0] ?? '');
}
