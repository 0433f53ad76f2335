import type { Registry, Tool } from '../core/tool.ts';

/** Looks tools up by name, then by alias. @throws when two tools claim one name or alias. */
export function createRegistry(tools: readonly Tool[]): Registry {
  // Names come from a model: a Map has no inherited `constructor` or `toString` to find.
  const byName = new Map<string, Tool>();
  const byAlias = new Map<string, Tool>();
  for (const tool of tools) {
    if (byName.has(tool.name)) throw new Error(`Two tools are called ${tool.name}: rename one of them.`);
    byName.set(tool.name, tool);
  }
  for (const tool of tools) {
    for (const alias of tool.aliases) {
      const owner = byName.get(alias) ?? byAlias.get(alias);
      if (owner !== undefined) {
        throw new Error(`${tool.name} and ${owner.name} both claim the name ${alias}: drop the alias of one of them.`);
      }
      byAlias.set(alias, tool);
    }
  }
  const all = Object.freeze([...tools]);
  return { get: (name) => byName.get(name) ?? byAlias.get(name), list: () => all };
}
