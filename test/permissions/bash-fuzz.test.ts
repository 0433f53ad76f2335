import * as fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { analyse } from '../../src/permissions/bash.ts';
import { isConcurrencySafeBash, isReadOnlyCommand } from '../../src/permissions/bash-readonly.ts';
import { decide } from '../../src/permissions/chain.ts';
import { mergeRules } from '../../src/permissions/rules.ts';
import { commandLine } from './command-arbitrary.ts';
import { createBash } from './real-bash.ts';
import { checkedCall, contextAt } from './support.ts';

/** How many commands are made up; the long run takes 200,000. */
const count = Number(process.env['NIGHTSHIFT_FUZZ'] ?? 1500);
const seed = Number(process.env['NIGHTSHIFT_FUZZ_SEED'] ?? 20_261_130);
const batch = 100;

const bash = createBash();
afterAll(() => bash.close());

const at = { trusted: true, root: '/work', home: '/home/dev' };
const source = { kind: 'user', base: '/home/dev/.claude' } as const;
const context = contextAt(at.root, at.home);
const echoOnly = mergeRules([{ source, allow: ['Bash(echo *)'] }], at);
const allButRm = mergeRules([{ source, allow: ['Bash'], deny: ['Bash(rm *)'] }], at);
const bypassButRm = mergeRules([{ source, defaultMode: 'bypassPermissions', deny: ['Bash(rm *)'] }], at);

const allowed = (command: string, rules: typeof echoOnly): boolean =>
  decide(checkedCall('Bash', { command }, at.root), rules, context).behavior === 'allow';

/** Runs commands in batches and names those that did something. */
function culprits(commands: readonly string[], guilty: (command: readonly string[]) => boolean): string[] {
  const found: string[] = [];
  for (let i = 0; i < commands.length; i += batch) {
    const some = commands.slice(i, i + batch);
    if (guilty(some)) found.push(...some.filter((command) => guilty([command])));
  }
  return found;
}

describe('whatever bash makes of a command', () => {
  const commands = [...new Set(fc.sample(commandLine, { numRuns: count, seed }))];
  const harmless = commands.filter(
    (command) =>
      isConcurrencySafeBash(command) || isReadOnlyCommand(analyse(command), context) || allowed(command, echoOnly),
  );
  const withoutRm = commands.filter((command) => allowed(command, allButRm) || allowed(command, bypassButRm));

  test(
    'what counts as reading, or is allowed by Bash(echo *), runs no other program and writes no file',
    { timeout: 3_600_000 },
    () => {
      expect(harmless.length).toBeGreaterThan(commands.length / 50);
      const bad = culprits(harmless, (some) => {
        const deeds = bash.run(some);
        return deeds.changed || deeds.ran.length > 0;
      });
      expect(bad).toEqual([]);
    },
  );

  test('what runs rm is never allowed past Bash(rm *) in deny', { timeout: 3_600_000 }, () => {
    expect(withoutRm.length).toBeGreaterThan(commands.length / 20);
    const bad = culprits(withoutRm, (some) => bash.run(some).ran.includes('rm'));
    expect(bad).toEqual([]);
  });
});
