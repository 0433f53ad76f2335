import { mergeRules } from '../permissions/rules.ts';
import type { Rules } from '../shapes/permission.ts';
import { usageError } from './cli-error.ts';

/** Permission rules as they are typed. */
export type RuleFlags = { allow: readonly string[]; ask: readonly string[]; deny: readonly string[] };

/** The rules of the command line. Throws a usage error for the first one that would not do what it says. */
export function parseRules(flags: RuleFlags, at: { root: string; home: string; cwd: string }): Rules {
  const source = { kind: 'cli', base: at.cwd } as const;
  const rules = mergeRules([{ source, ...flags }], { trusted: false, root: at.root, home: at.home });
  const wrong = rules.warnings[0];
  if (wrong === undefined) return rules;
  // In a settings file a bad rule is passed over; one that was typed now is refused.
  const text = wrong.text.replace(/\s*It is skipped\.$/, '');
  throw usageError(
    `--${wrong.list ?? 'allow'}: ${text}`,
    `One rule per flag, in quotes: --allow 'Bash(npm test:*)' --allow Read`,
  );
}
