/** A place in a reply: nothing sent yet, one byte sent, N events or bytes sent, content block K closed, everything sent. */
export type Point =
  | { at: 'start' }
  | { at: 'first_byte' }
  | { at: 'events'; count: number }
  | { at: 'bytes'; count: number }
  | { at: 'block'; index: number }
  | { at: 'end' };

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** The longest time a timer can wait for; about 24 days. */
const LONGEST = 2 ** 31 - 1;

/** Milliseconds of `200ms`, `2s`, `1m`, `1h` or a plain number of milliseconds; undefined when it is none of these. */
export function parseDuration(value: unknown): number | undefined {
  const ms = typeof value === 'number' ? value : inMilliseconds(value);
  return ms >= 0 && ms <= LONGEST ? ms : undefined;
}

function inMilliseconds(value: unknown): number {
  const found = typeof value === 'string' ? /^(\d+(?:\.\d+)?)\s*(ms|s|m|h)$/.exec(value.trim()) : null;
  return found ? Number(found[1]) * UNITS[found[2]!]! : Number.NaN;
}

/** A test for text: `/…/flags` is a regular expression, anything else a substring; undefined when the expression is broken. */
export function parsePattern(value: string): ((text: string) => boolean) | undefined {
  const found = /^\/(.+)\/([a-z]*)$/s.exec(value);
  if (!found) return (text) => text.includes(value);
  const expression = parseExpression(found[1]!, found[2]!);
  return expression && ((text) => expression.test(text));
}

/** A regular expression without state between uses (`g` and `y` are dropped); undefined when it is broken. */
export function parseExpression(source: string, flags: string): RegExp | undefined {
  try {
    return new RegExp(source, flags.replace(/[gy]/g, ''));
  } catch {
    return undefined;
  }
}

/** Reads `start`, `first_byte`, `3 events`, `120 bytes`, `block 0` or `end`; undefined when it is none of these. */
export function parsePoint(value: string): Point | undefined {
  const text = value.trim();
  if (text === 'start' || text === 'first_byte' || text === 'end') return { at: text };
  const counted = /^(\d+) (event|byte)s?$/.exec(text);
  if (counted) return { at: counted[2] === 'event' ? 'events' : 'bytes', count: Number(counted[1]) };
  const block = /^block (\d+)$/.exec(text);
  return block ? { at: 'block', index: Number(block[1]) } : undefined;
}
