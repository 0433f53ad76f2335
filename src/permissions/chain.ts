import type { Decision, Rules } from '../shapes/permission.ts';
import type { CheckedCall, PermissionContext } from './call.ts';
import { caseOf, judges, protectedJudge, whyOpen, type Case } from './judges.ts';

/** Walks the judges in their order; the first decisive answer counts. What nobody decides is asked, and `dontAsk` turns every question into a no. */
export function decide(call: CheckedCall, rules: Rules, ctx: PermissionContext): Decision {
  const facts = caseOf(call, rules, ctx);
  for (const judge of judges) {
    const decision = judge(facts);
    if (decision) return answer(decision, facts);
  }
  return answer({ behavior: 'ask', reason: { kind: 'default', text: whyOpen(facts) } }, facts);
}

function answer(decision: Decision, { mode }: Case): Decision {
  if (decision.behavior !== 'ask' || mode !== 'dontAsk') return decision;
  return {
    behavior: 'deny',
    reason: { kind: 'mode', mode, text: `nobody is asked in this mode (${reasonText(decision)})` },
  };
}

/**
 * What still stops a call that a person allowed, `undefined` when nothing does. For the input that they saw only deny rules
 * and the tool itself can; an edited one meets ask rules and safety checks too, since nobody has seen it in their light.
 */
export function stillAllowed(
  call: CheckedCall,
  rules: Rules,
  ctx: PermissionContext,
  { edited = false } = {},
): Decision | undefined {
  const facts = caseOf(call, rules, ctx);
  for (const judge of [...judges.slice(0, 4), ...(edited ? [protectedJudge] : [])]) {
    const decision = judge(facts);
    if (decision?.behavior === 'deny' || (decision?.behavior === 'ask' && edited && decision.reason.kind !== 'tool'))
      return decision;
  }
  return undefined;
}

/** A decision's reason in one sentence, for people and for the model. */
export function reasonText(decision: Decision): string {
  const { reason } = decision;
  switch (reason.kind) {
    case 'rule':
      return `The ${reason.behavior} rule ${reason.rule} of the ${reason.source} covers it.`;
    case 'mode':
      return `The permission mode is ${reason.mode}${reason.text === undefined ? '' : `: ${reason.text}`}.`;
    case 'safety':
    case 'tool':
    case 'default':
    case 'unanswered':
      return reason.text;
    case 'hook':
      return `A ${reason.event ?? 'PreToolUse'} hook decided so${reason.text === '' ? '' : `: ${reason.text}`}.`;
    case 'described':
      return `The settings allow what is described as "${reason.description}", and ${reason.model} finds that it is that.`;
    case 'person':
      return reason.by === undefined ? 'A person decided so.' : `${reason.by} decided so.`;
  }
}
