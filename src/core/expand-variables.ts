/** A text with its variables filled in, and the names of those that were not set. */
export type Expanded = { text: string; unset: string[] };

/**
 * Fills `${NAME}` and `${NAME:-default}` in, as configuration files of MCP servers write them. A variable that is set to
 * nothing counts as set; one that is not set and has no default stays as it stands. `$NAME` is no variable.
 */
export function expandVariables(text: string, env: Readonly<Record<string, string | undefined>>): Expanded {
  const unset: string[] = [];
  const expanded = text.replaceAll(/\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g, (whole, name: string, fallback?: string) => {
    const value = env[name] ?? fallback;
    if (value === undefined) unset.push(name);
    return value ?? whole;
  });
  return { text: expanded, unset };
}
