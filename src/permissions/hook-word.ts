import type { HookVerdict } from '../shapes/hook.ts';
import type { CheckedCall } from './call.ts';

/** The word of the PreToolUse hooks as the chain of judges takes it; who defers leaves it to a person. */
export function hookWord({ decision, reason = '', input }: HookVerdict): CheckedCall['hook'] {
  if (decision === undefined || decision === 'block') return undefined;
  return { behavior: decision === 'defer' ? 'ask' : decision, reason, ...(input ? { answered: true } : {}) };
}
