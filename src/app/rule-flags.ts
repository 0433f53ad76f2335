import { mergeRules } from '../permissions/rules.ts';
import { usageError } from './cli-error.ts';

/** Permission rules as they are typed. */
export type RuleFlags = { allow: readonly string[]; ask: readonly string[]; deny: readonly string[] };

/** Throws a usage error for the first rule that was typed and would not do what it says. */
export function checkRuleFlags(flags: RuleFlags): void {
  const source = { kind: 'cli', base: '/' } as const;
  const [wrong] = mergeRules([{ source, ...flags }], { trusted: false, root: '/', home: '/' }).warnings;
  if (wrong === undefined) return;
  // In a settings file a bad rule is passed over; one that was typed now is refused.
  const text = wrong.text.replace(/\s*It is skipped\.$/, '');
  throw usageError(
    `--${wrong.list ?? 'allow'}: ${text}`,
    `One rule per flag, in quotes: --allow 'Bash(npm test:*)' --allow Read`,
  );
}
