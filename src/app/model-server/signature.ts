import { createHash } from 'node:crypto';
import type { Plan } from './plan.ts';

/** The signature of a thinking text; it needs no memory, so that it holds over a restart of the server. */
export function signThinking(text: string): string {
  return createHash('sha256').update('nightshift rehearsal\n').update(text).digest('base64');
}

/** Which thinking blocks this script can have sent. */
export function ownThinking(plan: Plan) {
  const signatures = new Map<string, string>();
  const redacted = new Set<string>();
  for (const { steps } of plan) {
    for (const { step } of steps) {
      if (step.thinking?.signature) signatures.set(step.thinking.signature, step.thinking.text);
      for (const block of step.blocks ?? []) {
        const { thinking, signature, data } = block;
        if (typeof thinking === 'string' && typeof signature === 'string') signatures.set(signature, thinking);
        if (block.type === 'redacted_thinking' && typeof data === 'string') redacted.add(data);
      }
    }
  }
  return {
    isOwnThinking: (text: string, signature: string): boolean => {
      if (signature === signThinking(text)) return true;
      const written = signatures.get(signature);
      return written !== undefined && (written === text || written.includes('{{'));
    },
    isOwnRedacted: (data: string): boolean => redacted.has(data),
  };
}
