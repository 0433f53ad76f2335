import picocolors from 'picocolors';
import type { Env } from './io.ts';

/** Colours of a stream; each function returns its text unchanged where colour is not wanted. */
export type Paint = Pick<
  ReturnType<typeof picocolors.createColors>,
  'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'
>;

/** Colour only on a terminal, and never with `NO_COLOR` or on a dumb terminal. */
export function paintFor(isTTY: boolean, env: Env): Paint {
  return picocolors.createColors(isTTY && !env['NO_COLOR'] && env['TERM'] !== 'dumb');
}

/** No colour at all. */
export const noPaint: Paint = picocolors.createColors(false);
