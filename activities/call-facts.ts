import type { Access } from '../src/core/ports.ts';
import type { CallTraits, CheckedCall, PermissionContext } from '../src/permissions/call.ts';
import type { Checked, Site } from './site.ts';

/** A call and its surroundings as the permission chain looks at them. */
export function factsOf(
  { hosts, agent, input, files }: Site,
  { tool, input: parsed, raw }: Checked,
): { call: CheckedCall; context: PermissionContext } {
  const cwd = input.ctx.cwd ?? agent.dir;
  return {
    call: {
      tool: tool.name,
      aliases: tool.aliases,
      input: raw,
      traits: { ...traitsOf(tool.access(parsed, cwd)), ...(tool.asks ? { requiresInteraction: true } : {}) },
    },
    context: {
      cwd,
      root: agent.dir,
      home: hosts.userHome,
      nightshiftHome: hosts.home,
      readable: [`${files.dir}/tool-results`],
      ...(input.ctx.mode ? { mode: input.ctx.mode } : {}),
      resolve: (path) => ({ path, real: hosts.files.real(path) }),
    },
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
