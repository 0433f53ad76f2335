import type { Mode } from '../shapes/permission.ts';

const modes: readonly Mode[] = ['default', 'acceptEdits', 'plan', 'dontAsk', 'bypassPermissions'];

/** Whether a value is the name of a mode. */
export function isMode(value: unknown): value is Mode {
  return modes.some((mode) => mode === value);
}

/** The mode that a setting or flag names; `manual` is another name of `default`. */
export function modeNamed(value: unknown): Mode | undefined {
  if (value === 'manual') return 'default';
  return isMode(value) ? value : undefined;
}

/** The mode that really acts: a forbidden `bypassPermissions` is `default`. */
export function modeInForce(mode: Mode, disableBypass: boolean): Mode {
  return mode === 'bypassPermissions' && disableBypass ? 'default' : mode;
}
