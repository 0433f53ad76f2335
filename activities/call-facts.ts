import type { Access } from '../src/core/tool.ts';
import type { CallTraits, CheckedCall, PermissionContext } from '../src/permissions/call.ts';
import type { Checked, Site } from './site.ts';

/** A call and its surroundings as the permission chain looks at them. */
export function factsOf(
  site: Site,
  { tool, input: parsed, raw }: Checked,
): { call: CheckedCall; context: PermissionContext } {
  const context = contextOf(site);
  const { cwd } = context;
  return {
    call: {
      tool: tool.name,
      aliases: tool.aliases,
      input: raw,
      traits: { ...traitsOf(tool.access(parsed, cwd)), ...(tool.asks ? { requiresInteraction: true } : {}) },
    },
    context,
  };
}

/** Where a call happens. */
export function contextOf({ hosts, agent, input, files }: Site): PermissionContext {
  return {
    cwd: input.ctx.cwd ?? agent.dir,
    root: agent.dir,
    home: hosts.userHome,
    nightshiftHome: hosts.home,
    readable: [`${files.dir}/tool-results`],
    ...(input.ctx.mode ? { mode: input.ctx.mode } : {}),
    resolve: (path) => ({ path, real: hosts.files.real(path) }),
    list: (folder) => hosts.files.names(folder),
  };
}

export function traitsOf(access: Access): CallTraits {
  switch (access.kind) {
    case 'read':
    case 'search':
    case 'edit':
      return {
        access: access.kind === 'edit' ? 'edit' : 'read',
        paths: access.paths.map((path) => ({ path, use: access.kind })),
      };
    case 'bash':
      return { access: 'bash', paths: [], command: access.command };
    case 'fetch':
      return { access: 'fetch', paths: [], url: access.url };
    case 'other':
    case 'none':
      return { access: access.kind, paths: [] };
  }
}
