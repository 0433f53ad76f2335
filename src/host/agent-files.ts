import { join } from 'node:path';
import { AgentDefinition } from '../shapes/agent.ts';
import { Mode } from '../shapes/permission.ts';
import type { ConfigProblem } from '../shapes/settings.ts';
import { type ConfigFolder, filesBelow, nearestFirst } from './config-folder.ts';
import { listOf, readFrontMatter, switchOf } from './front-matter.ts';

export type AgentFiles = { agents: AgentDefinition[]; problems: ConfigProblem[] };
/** Where agents lie: `dir` and the folders above it up to `root`, then the user's. */
export type ConfigDirs = { dir: string; root: string; userConfig: string };

/**
 * The sub-agents of a folder. Of two with one name the nearer counts, of two in one folder the first by its path. A file
 * that defines none is left out with a word: nobody may be given another agent in its place.
 */
export async function readAgentFiles({ dir, root, userConfig }: ConfigDirs): Promise<AgentFiles> {
  const problems: ConfigProblem[] = [];
  const byName = new Map<string, { agent: AgentDefinition; folder: string }>();
  const folders: (ConfigFolder & { scope: AgentDefinition['scope'] })[] = [
    ...nearestFirst(dir, root, join('.claude', 'agents')).map((folder) => ({ ...folder, scope: 'project' as const })),
    { path: join(userConfig, 'agents'), scope: 'user' },
  ];
  for (const { scope, ...folder } of folders) {
    for (const path of await filesBelow(folder, { fits: isMarkdown, depth: 5, problems })) {
      const agent = await readAgentFile(path, scope, problems);
      if (agent === undefined) continue;
      const known = byName.get(agent.name);
      if (known === undefined) byName.set(agent.name, { agent, folder: folder.path });
      else if (known.folder === folder.path)
        problems.push({
          file: path,
          text: `Another file has the name ${agent.name} too: ${known.agent.origin} counts.`,
          stops: false,
        });
    }
  }
  return { agents: [...byName.values()].map(({ agent }) => agent), problems };
}

const isMarkdown = (path: string): boolean => path.endsWith('.md');

/** One agent from its file; `undefined`, with a problem that says why, when the file defines none. */
export async function readAgentFile(
  path: string,
  scope: AgentDefinition['scope'],
  problems: ConfigProblem[],
): Promise<AgentDefinition | undefined> {
  const file = await readFrontMatter(path);
  const warn = (text: string, place: object = {}): void =>
    void problems.push({ file: path, ...place, text, stops: false });
  if (file.kind === 'nothing') return undefined;
  if (file.kind === 'refused') {
    const { kind: _, why, ...place } = file;
    warn(`${why} The agent is left out.`, place);
    return undefined;
  }
  const { head, body } = file;
  const lost = ['name', 'description'].filter((key) => typeof head[key] !== 'string' || head[key].trim() === '');
  if (lost.length > 0) {
    // A note of somebody's beside the agents has no head at all.
    if (Object.keys(head).length > 0)
      warn(`It has no ${lost.join(' and no ')}: the agent is left out. Add it to the head.`);
    return undefined;
  }
  const parsed = AgentDefinition.safeParse({ ...fieldsOf(head, warn), prompt: body.trim(), scope, origin: path });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  warn(`${issue?.path.join('.') ?? 'It'}: ${issue?.message ?? 'is wrong'}; the agent is left out.`, { line: 2 });
  return undefined;
}

/** The fields that have a use; of others, and of values that they can't have, nothing is taken. */
function fieldsOf(head: Record<string, unknown>, warn: (text: string) => void): Record<string, unknown> {
  const mode = head['permissionMode'] === 'manual' ? 'default' : head['permissionMode'];
  const isMode = Mode.safeParse(mode).success;
  if (mode !== undefined && !isMode)
    warn(`permissionMode ${JSON.stringify(mode)} is none that nightshift has; it has no effect.`);
  const turns = head['maxTurns'];
  const hasTurns = typeof turns === 'number' && Number.isInteger(turns) && turns > 0;
  if (turns !== undefined && !hasTurns) warn('maxTurns must be a whole number above 0; it has no effect.');
  const fields = {
    name: String(head['name']).trim(),
    description: String(head['description']).trim(),
    tools: listOf(head['tools']),
    disallowedTools: listOf(head['disallowedTools']),
    model: typeof head['model'] === 'string' ? head['model'].trim() : undefined,
    permissionMode: isMode ? mode : undefined,
    maxTurns: hasTurns ? turns : undefined,
    skills: listOf(head['skills']),
    background: switchOf(head['background']),
    mcpServers: head['mcpServers'],
    hooks: head['hooks'],
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Tools that an agent may have by its own lists, and names among them that are no tool; without a list `all` of them. */
export function agentTools(
  { tools, disallowedTools = [] }: Pick<AgentDefinition, 'tools' | 'disallowedTools'>,
  all: readonly string[],
): { tools: string[]; unknown: string[] } {
  const known = (name: string): boolean => all.includes(name) || name.startsWith('mcp__');
  const denied = new Set(disallowedTools.map(bareName));
  const wanted = tools === undefined || tools.includes('*') ? [...all] : tools;
  return {
    tools: wanted.filter((name) => known(bareName(name)) && !denied.has(bareName(name))),
    unknown: (tools ?? []).filter((name) => name !== '*' && !known(bareName(name))),
  };
}

/** `Agent(a, b)` names the tool Agent. */
const bareName = (name: string): string => name.replace(/\(.*$/s, '');
