import type { Behavior, Rule, Rules } from '../shapes/permission.ts';
import { compileCommand, type CommandPattern } from './bash-text.ts';
import { compilePathRule, type PathRule } from './path-rules.ts';
import { parameterOf } from './rules.ts';
import { covers, wildcard, type Pattern } from './wildcard.ts';

/** A rule made ready for matching. What it has says what it can match. */
export type CompiledRule = {
  rule: Rule;
  list: Behavior;
  /** Names a whole tool. */
  bare: boolean;
  name: Pattern;
  command?: CommandPattern;
  path?: PathRule;
  domain?: string;
  parameter?: { name: string; value: Pattern };
};

export type CompiledRules = Readonly<Record<Behavior, readonly CompiledRule[]>>;

const compiled = new WeakMap<Rules, CompiledRules>();

/** Makes rules ready for matching, once for each rules object. */
export function compile(rules: Rules): CompiledRules {
  const known = compiled.get(rules);
  if (known) return known;
  const fresh: CompiledRules = {
    deny: rules.deny.map((rule) => compileRule(rule, 'deny')),
    ask: rules.ask.map((rule) => compileRule(rule, 'ask')),
    allow: rules.allow.filter((rule) => counts(rule, rules)).map((rule) => compileRule(rule, 'allow')),
  };
  compiled.set(rules, fresh);
  return fresh;
}

/** A folder that is not trusted can't allow anything for itself. */
function counts(rule: Rule, rules: Rules): boolean {
  return rules.trusted || (rule.source.kind !== 'project' && rule.source.kind !== 'local');
}

/** Fields of a shell call that no program is named like; a rule on them says nothing about commands. */
const shellFields = new Set([
  'run_in_background',
  'timeout_ms',
  'description',
  'dangerouslyDisableSandbox',
  'persistent',
]);

/** Makes one rule ready for matching. */
export function compileRule(rule: Rule, list: Behavior): CompiledRule {
  const { tool, specifier, source } = rule;
  const name = tool.includes('*') ? wildcard(tool) : [...wildcard(tool.replaceAll('\\', '\\\\'))];
  if (specifier === undefined) return { rule, list, bare: true, name };
  const parameter = list === 'allow' ? undefined : parameterOf(specifier);
  const isField = parameter !== undefined && shellFields.has(parameter.name);
  return {
    rule,
    list,
    bare: false,
    name,
    ...((tool === 'Bash' || tool === 'Monitor') && !isField
      ? { command: compileCommand(specifier, list === 'allow') }
      : {}),
    ...(tool === 'Read' || tool === 'Edit' ? { path: compilePathRule(specifier, list, source) } : {}),
    ...(tool === 'WebFetch' && /^\s*domain\s*:/.test(specifier)
      ? { domain: specifier.replace(/^\s*domain\s*:\s*/, '') }
      : {}),
    ...(parameter ? { parameter: { name: parameter.name, value: wildcard(parameter.value) } } : {}),
  };
}

/** Whether the name of a rule's tool covers one of a call's names. */
export function nameCovers(rule: CompiledRule, names: readonly string[]): boolean {
  return names.some((name) => covers(rule.name, name));
}
