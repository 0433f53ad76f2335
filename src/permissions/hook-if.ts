import { analyse } from './bash.ts';
import { programOf } from './bash-analysis.ts';
import { forbids } from './bash-text.ts';
import type { CheckedCall, PermissionContext } from './call.ts';
import { compileRule } from './compile.ts';
import { locate } from './locate.ts';
import { pathRuleCovers } from './path-rules.ts';
import { coversDomain, coversNamed, coversParameter, coversWholeTool } from './rule-match.ts';
import { parseRule } from './rules.ts';

/**
 * Whether the `if` of a hook covers a call. A rule that can't be read, and a command that can't be told, let the hook run:
 * a hook is a guard, so it rather looks once too often.
 */
export function hookConcerns(condition: string, call: CheckedCall, ctx: PermissionContext): boolean {
  const parsed = parseRule(condition, 'ask', { kind: 'session', base: ctx.root });
  if (!('tool' in parsed)) return true;
  const rule = compileRule(parsed, 'ask');
  if (coversWholeTool(rule, call) || coversParameter(rule, call) || coversDomain(rule, call) || coversNamed(rule, call))
    return true;
  if (rule.command && call.traits.access === 'bash') {
    const analysis = analyse(call.traits.command ?? '');
    if (analysis.problem !== undefined) return true;
    const named = analysis.commands.some((command) => programOf(command).length > 0);
    if (named && analysis.unclear.length > 0) return true;
    return analysis.commands.some((command) => forbids(rule.command!, command, ctx.home) !== false);
  }
  const wanted = { Read: 'read', Edit: 'edit' }[parsed.tool];
  const { path } = compileRule(parsed, 'allow');
  if (!path || wanted !== call.traits.access) return false;
  return call.traits.paths.some((use) => {
    const at = locate(use.path, ctx);
    return [at.path, at.real].some((one) => pathRuleCovers(path, { path: one, real: one }, ctx));
  });
}
