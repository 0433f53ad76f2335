import type { Rules } from '../shapes/permission.ts';
import type { PermissionContext } from './call.ts';
import { compile, nameCovers } from './compile.ts';
import { locate } from './locate.ts';
import { pathRuleCovers } from './path-rules.ts';
import { isOwnState } from './protected.ts';

/** A test for paths that Read rules in deny keep out of what a search finds, and for nightshift's own state. */
export function hiddenFromReads(rules: Rules, ctx: PermissionContext): (path: string) => boolean {
  const { deny } = compile(rules);
  const reads = deny.filter(({ rule }) => rule.tool === 'Read');
  if (reads.some((rule) => rule.bare)) return () => true;
  return (path) => {
    const at = locate(path, ctx);
    return reads.some((rule) => rule.path && pathRuleCovers(rule.path, at, ctx)) || isOwnState(at, ctx, true);
  };
}

/** Whether a deny rule takes a whole tool away, so that the model is not even offered it. */
export function isToolRemoved(rules: Rules, tool: string, aliases: readonly string[] = []): boolean {
  return compile(rules).deny.some((rule) => {
    if (!rule.bare) return false;
    const server = /^mcp__[^*]+$/.test(rule.rule.tool) && tool.startsWith(`${rule.rule.tool}__`);
    return server || nameCovers(rule, [tool, ...aliases]);
  });
}
