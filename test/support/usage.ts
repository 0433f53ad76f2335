import type { Usage } from '../../src/shapes/message.ts';

/** Tokens of a reply; what is not given is none. */
export function usage(some: Partial<Usage>): Usage {
  return { input: 0, output: 0, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0, ...some };
}
