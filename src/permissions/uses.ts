import type { BashAnalysis } from './bash-analysis.ts';
import { commandFiles } from './bash-files.ts';
import { findsCovered, openedBy, type Opened } from './bash-opened.ts';
import { placeOf, type Place } from './bash-paths.ts';
import { opensNoFile } from './bash-redirects.ts';
import type { CheckedCall, PathUse, PermissionContext } from './call.ts';
import type { CompiledRule } from './compile.ts';
import { locate } from './locate.ts';
import { pathRuleCovers, pathRuleMayCover, type PathRule } from './path-rules.ts';

/** A path that a call reads or changes, as far as it is known. */
export type Use = { place: Place; use: PathUse['use']; text: string; finds?: Opened['finds'] };

/** All paths of a call: those that its tool names, and those that its command names. */
export function usesOf(call: CheckedCall, analysis: BashAnalysis | undefined, ctx: PermissionContext): Use[] {
  const named = call.traits.paths.map((path): Use => ({
    place: { kind: 'paths', paths: [path.path] },
    use: path.use,
    text: path.path,
  }));
  if (!analysis) return named;
  const files = analysis.commands.flatMap((command) =>
    commandFiles(command).map((file): Use => ({
      place: placeOf(file.word, command.folders, ctx),
      use: file.use,
      text: file.word.raw,
    })),
  );
  const opened = analysis.commands.flatMap((command) =>
    openedBy(command).map(({ word, finds }): Use => ({
      place: placeOf(word, command.folders, ctx),
      use: finds ? 'search' : 'read',
      text: word.raw,
      ...(finds && { finds }),
    })),
  );
  const redirects = analysis.redirects
    .filter((redirect) => !opensNoFile(redirect))
    .map((redirect): Use => ({
      place: placeOf(redirect.target, redirect.folders, ctx),
      use: redirect.use === 'write' ? 'edit' : 'read',
      text: redirect.target.raw,
    }));
  return [...named, ...files, ...opened, ...redirects];
}

/** Whether a use changes something. */
export function changes(use: Use): boolean {
  return use.use === 'edit' || use.use === 'tree';
}

/** Whether a deny or ask rule covers a path of a call; `maybe` when the path is only known when it runs. */
export function ruleForbidsUse(
  rule: CompiledRule,
  use: Use,
  call: CheckedCall,
  ctx: PermissionContext,
): boolean | 'maybe' {
  if (!concerns(rule, use, call)) return false;
  if (rule.bare) return true;
  const { path } = rule;
  if (!path) return false;
  const whole = use.use === 'search' || use.use === 'tree';
  switch (use.place.kind) {
    case 'paths': {
      const { finds, place } = use;
      if (place.paths.some((at) => pathRuleCovers(path, locate(at, ctx), ctx, whole))) return true;
      return finds && place.paths.some((at) => findsCovered(path, at, finds.hidden, ctx)) ? 'maybe' : false;
    }
    case 'below':
      return belowForbidden(path, use.place, ctx, whole);
    case 'unknown':
      return 'maybe';
  }
}

function belowForbidden(
  rule: PathRule,
  { folders, patterns, found }: Extract<Place, { kind: 'below' }>,
  ctx: PermissionContext,
  whole: boolean,
): boolean | 'maybe' {
  if (found.some((path) => pathRuleCovers(rule, locate(path, ctx), ctx, whole))) return true;
  const at = folders.map((folder) => locate(folder, ctx));
  if (at.some((folder) => pathRuleCovers(rule, folder, ctx, true))) return true;
  const mayFind = patterns.some((pattern) => pathRuleMayCover(rule, whole ? [...pattern, '**'] : pattern, ctx));
  return mayFind || at.some(({ path, real }) => path !== real) ? 'maybe' : false;
}

/** Read rules also forbid changing a file, but in a notebook only Edit rules do. */
function concerns(rule: CompiledRule, use: Use, call: CheckedCall): boolean {
  const { tool } = rule.rule;
  if (tool === 'Edit') return changes(use);
  if (tool !== 'Read') return false;
  return !changes(use) || (rule.list === 'deny' && call.tool !== 'NotebookEdit');
}

/** The allow rule that covers every place a path may lead to, if there is one. To be allowed to edit is to be allowed to read. */
export function ruleForUse(rules: readonly CompiledRule[], use: Use, ctx: PermissionContext): CompiledRule | undefined {
  const { place } = use;
  return rules.find((rule) => {
    const { tool } = rule.rule;
    if (tool !== 'Edit' && (tool !== 'Read' || changes(use))) return false;
    if (rule.bare) return true;
    if (!rule.path || place.kind !== 'paths') return false;
    const path = rule.path;
    const whole = use.use === 'search' || use.use === 'tree';
    return place.paths.every((at) => {
      const found = locate(at, ctx);
      return pathRuleCovers(path, found, ctx) || (whole && pathRuleCovers(path, found, ctx, true));
    });
  });
}
