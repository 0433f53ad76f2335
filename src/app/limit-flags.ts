import type { Micros } from '../shapes/ids.ts';
import type { Limits } from '../shapes/limits.ts';
import { usageError } from './cli-error.ts';

/** Limits as they are typed. */
export type LimitFlags = { maxTurns?: string; maxSteps?: string; maxUsd?: string; deadline?: string };

const MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The limits that were given; `now` in milliseconds since the epoch. Throws a usage error for the first bad one. */
export function parseLimits(flags: LimitFlags, now: number): Partial<Limits> {
  const limits: Partial<Limits> = {};
  if (flags.maxTurns !== undefined) limits.turns = parseCount('--max-turns', flags.maxTurns);
  if (flags.maxSteps !== undefined) limits.steps = parseCount('--max-steps', flags.maxSteps);
  if (flags.maxUsd !== undefined) limits.budget = parseDollars('--max-usd', flags.maxUsd);
  if (flags.deadline !== undefined) limits.deadline = parseDeadline('--deadline', flags.deadline, now);
  return limits;
}

/** A whole number above zero. */
export function parseCount(flag: string, text: string): number {
  const value = /^\d+$/.test(text) ? Number(text) : 0;
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw usageError(`${flag} ${text}: it takes a whole number above 0, for example ${flag} 20`);
}

/** Dollars as typed, in micro-dollars; read digit by digit, so that no rounding happens. */
export function parseDollars(flag: string, text: string): Micros {
  const match = /^\$?(\d*)(?:\.(\d{0,6}))?$/.exec(text);
  const whole = match?.[1] ?? '';
  const fraction = match?.[2] ?? '';
  const value = whole + fraction === '' ? 0 : Number(whole) * 1_000_000 + Number(fraction.padEnd(6, '0'));
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw usageError(`${flag} ${text}: it takes US dollars above 0, for example ${flag} 2.50`);
}

/** A point in time, in milliseconds since the epoch, from a span (`8h`, `1h30m`, `2d`) or an ISO time. */
export function parseDeadline(flag: string, text: string, now: number): number {
  const span = spanMs(text);
  const value = span === undefined ? parseIso(text) : now + span;
  if (value === undefined || !Number.isSafeInteger(value)) {
    throw usageError(`${flag} ${text}: it takes a span like 30m, 8h or 2d, or a time like 2027-01-31T06:00:00Z`);
  }
  if (value <= now) throw usageError(`${flag} ${text}: that time has passed already`);
  return value;
}

/** The length of a span such as `90s`, `1h30m` or `2d`, in ms; `undefined` when it is none. */
export function spanMs(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?[smhd])+$/.test(text)) return undefined;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)([smhd])/g)];
  return Math.round(parts.reduce((sum, part) => sum + Number(part[1]) * (MS[part[2] ?? ''] ?? 0), 0));
}

function parseIso(text: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/.test(text)) return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}
