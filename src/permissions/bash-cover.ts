import { isCoveredEdit } from './accept-edits.ts';
import { programOf, type BashAnalysis, type BashCommand, type BashRedirect } from './bash-analysis.ts';
import { placeOf } from './bash-paths.ts';
import { commandReads, mixesFolders, opensNoFile, readsInside, redirectReadsInside } from './bash-readonly.ts';
import { allowsProgram, oneSpace } from './bash-text.ts';
import type { PermissionContext } from './call.ts';
import type { CompiledRule } from './compile.ts';
import { isWithin, locate } from './locate.ts';
import { ruleForUse } from './uses.ts';
import { commandFiles } from './bash-files.ts';

/** What may let the parts of a command through, besides that they only read. */
export type Means = { rules: readonly CompiledRule[]; edits: boolean; directories: readonly string[] };

/** How a command is covered: by these rules (none, if it needs no rule), or what is not covered. */
export type Coverage = { kind: 'covered'; rules: CompiledRule[] } | { kind: 'open'; text: string };

/** Whether every part of a command, and every file that bash opens for it, is let through by something. */
export function coverBash(analysis: BashAnalysis, ctx: PermissionContext, means: Means): Coverage {
  const exact = exactRule(analysis, means.rules);
  const used: CompiledRule[] = exact ? [exact] : [];
  if (analysis.problem !== undefined) return { kind: 'open', text: analysis.problem };
  if (!exact) {
    if (analysis.commands.length === 0 && analysis.redirects.length === 0)
      return { kind: 'open', text: 'it runs nothing' };
    const [doubt] = analysis.unclear;
    if (doubt !== undefined) return { kind: 'open', text: doubt };
    if (mixesFolders(analysis, ctx))
      return { kind: 'open', text: 'it changes the folder and then runs git or writes a file there' };
    for (const command of analysis.commands) {
      if (command.role !== 'run' || needsNoRule(command, ctx, means)) continue;
      const rule = ruleForCommand(command, ctx, means.rules);
      if (!rule) return { kind: 'open', text: `no rule allows ${brief(command)}` };
      used.push(rule);
    }
  }
  for (const redirect of analysis.redirects) {
    const covered = coverRedirect(redirect, ctx, means);
    if (covered === false) return { kind: 'open', text: `no rule allows the redirection to ${redirect.target.raw}` };
    if (covered !== true) used.push(covered);
  }
  return { kind: 'covered', rules: used };
}

/** An allow rule that is, word for word, the whole command line. */
function exactRule(analysis: BashAnalysis, rules: readonly CompiledRule[]): CompiledRule | undefined {
  const whole = oneSpace(analysis.command);
  return rules.find((rule) => rule.command?.text === whole);
}

/** Whether a part of a command is let through without any rule. */
export function needsNoRule(
  command: BashCommand,
  ctx: PermissionContext,
  { edits, directories }: Omit<Means, 'rules'>,
): boolean {
  if (commandReads(command) && readsInside(command, ctx, directories)) return true;
  return edits && isCoveredEdit(command, ctx, directories);
}

function ruleForCommand(
  command: BashCommand,
  ctx: PermissionContext,
  rules: readonly CompiledRule[],
): CompiledRule | undefined {
  const program = programOf(command);
  const rule = rules.find(({ command: pattern }) => pattern !== undefined && allowsProgram(pattern, command, program));
  if (!rule || rule.command?.text === oneSpace(command.source)) return rule;
  const hidden = commandFiles(command).some(
    (file) =>
      (file.use === 'edit' || file.use === 'tree') && placeOf(file.word, command.folders, ctx).kind === 'unknown',
  );
  return hidden ? undefined : rule;
}

function coverRedirect(
  redirect: BashRedirect,
  ctx: PermissionContext,
  { rules, edits, directories }: Means,
): CompiledRule | boolean {
  if (opensNoFile(redirect)) return true;
  if (redirect.use === 'read' && redirectReadsInside(redirect, ctx, directories)) return true;
  if (redirect.target.pieces.some((piece) => piece.kind !== 'text')) return false;
  const place = placeOf(redirect.target, redirect.folders, ctx);
  if (place.kind !== 'paths' || place.paths.some((path) => path.startsWith('/dev/'))) return false;
  const within = place.paths.every((path) => isWithin(locate(path, ctx), [ctx.root, ...directories], ctx));
  if (redirect.use === 'write' && edits && within) return true;
  return (
    ruleForUse(rules, { place, use: redirect.use === 'write' ? 'edit' : 'read', text: redirect.target.raw }, ctx) ??
    false
  );
}

function brief(command: BashCommand): string {
  const text = oneSpace(command.source.replaceAll(/\s+/g, ' '));
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
