import { join } from 'node:path';
import { expandVariables } from '../core/expand-variables.ts';
import { type McpServer, RemoteServer, StdioServer } from '../shapes/mcp.ts';
import type { ConfigProblem } from '../shapes/settings.ts';
import { issueText } from './issue-text.ts';
import { readClaudeState } from './claude-state.ts';
import { type JsonObject, type JsonPath, pathText, readJsonFile } from './json-file.ts';

/** Whose file names a server: an administrator's, the user's for this folder, the folder's own, the user's for all. */
export type McpScope = 'managed' | 'local' | 'project' | 'user';
/** A server as a file gives it, its variables not yet filled in. */
export type McpEntry = { name: string; scope: McpScope; origin: string; server: McpServer };
export type McpFiles = { servers: McpEntry[]; problems: ConfigProblem[] };

/** Where servers may be named; absolute. */
export type McpPlaces = {
  dir: string;
  /** The folder by which Claude Code keeps what belongs to a folder. */
  root: string;
  /** Claude Code's own state, the first that exists counts. */
  claudeState: readonly string[];
  managedDir: string;
};

const TYPES = new Set<unknown>(['stdio', 'http', 'sse', 'ws']);
/** Names that belong to servers of others. */
const RESERVED = new Set(['workspace', 'claude-in-chrome', 'computer-use', 'Claude Preview', 'Claude Browser']);

/** The MCP servers of a folder. Of two with one name the one of the nearer scope counts, as a whole. */
export async function readMcpFiles(places: McpPlaces): Promise<McpFiles> {
  const problems: ConfigProblem[] = [];
  const managed = await readList(join(places.managedDir, 'managed-mcp.json'), 'managed', problems);
  if (managed.length > 0) return { servers: managed, problems };
  const own = await readState(places, problems);
  const project = await readList(join(places.dir, '.mcp.json'), 'project', problems);
  const byName = new Map<string, McpEntry>();
  for (const entry of [...own.local, ...project, ...own.user])
    if (!byName.has(entry.name)) byName.set(entry.name, entry);
  return { servers: [...byName.values()], problems };
}

async function readList(file: string, scope: McpScope, problems: ConfigProblem[]): Promise<McpEntry[]> {
  const json = await readJsonFile(file);
  if (json.kind === 'broken') problems.push({ ...json.problem, stops: false });
  if (json.kind !== 'read') return [];
  problems.push(...json.warnings);
  const { value, at } = json;
  if (value['mcpServers'] === undefined && value['servers'] !== undefined) {
    problems.push(
      problem(file, at(['servers']), ['servers'], 'is not read: found servers, expected mcpServers. Rename the key'),
    );
  }
  return readServers(value['mcpServers'], { file, scope, at, path: ['mcpServers'] }, problems);
}

/** Servers that the user added with Claude Code, for one folder and for all. */
async function readState(
  { claudeState, dir, root }: McpPlaces,
  problems: ConfigProblem[],
): Promise<Record<'local' | 'user', McpEntry[]>> {
  const state = await readClaudeState(claudeState);
  if (state === undefined) return { local: [], user: [] };
  const { file, projects } = state;
  const key = [dir, root].find((folder) => Object.hasOwn(projects, folder)) ?? dir;
  return {
    local: readServers(
      projects[key]?.mcpServers,
      { file, scope: 'local', path: ['projects', key, 'mcpServers'] },
      problems,
    ),
    user: readServers(state.mcpServers, { file, scope: 'user', path: ['mcpServers'] }, problems),
  };
}

type Place = {
  file: string;
  scope: McpScope;
  path: JsonPath;
  at?: (path: JsonPath) => { line: number; column: number };
};

function readServers(value: unknown, { file, scope, path, at: placeOf }: Place, problems: ConfigProblem[]): McpEntry[] {
  const warn = (at: JsonPath, text: string): void => void problems.push(problem(file, placeOf?.(at), at, text));
  if (value === undefined) return [];
  if (!isObject(value)) {
    warn(path, 'must be an object of servers by name; no server of it is used');
    return [];
  }
  return Object.entries(value).flatMap(([name, entry]) => {
    const at = [...path, name];
    if (RESERVED.has(name)) {
      warn(at, 'has a name that is taken: it is left out. Rename the server');
      return [];
    }
    const server = readServer(entry, (below, text) => warn([...at, ...below], text));
    return server === undefined ? [] : [{ name, scope, origin: file, server }];
  });
}

function readServer(entry: unknown, warn: (at: JsonPath, text: string) => void): McpServer | undefined {
  if (!isObject(entry)) {
    warn([], 'must be an object with a command or a url; it is left out');
    return undefined;
  }
  const type = entry['type'] === 'streamable-http' ? 'http' : entry['type'];
  if (type === undefined && entry['command'] === undefined && entry['url'] !== undefined) {
    warn([], 'has a url and no type: it is left out. Add "type": "http"');
    return undefined;
  }
  if (type !== undefined && !TYPES.has(type)) {
    warn(['type'], 'must be "stdio", "http", "sse" or "ws"; the server is left out');
    return undefined;
  }
  const remote = type !== undefined && type !== 'stdio';
  // A url may be made of variables and is no address before they are filled in.
  const schema = remote ? RemoteServer.extend({ url: StdioServer.shape.command }) : StdioServer;
  const parsed = schema.safeParse({ ...entry, ...(type === undefined ? {} : { type }) });
  if (parsed.success) return parsed.data;
  for (const issue of parsed.error.issues)
    warn(
      issue.path.map((key) => (typeof key === 'number' ? key : String(key))),
      `${issueText(issue)}; the server is left out`,
    );
  return undefined;
}

/** A server with its variables filled in. A secret that is not set is named, so that nobody sends `${NAME}` unawares. */
export function expandServer(
  { name, origin, server }: McpEntry,
  env: Readonly<Record<string, string | undefined>>,
): { server: McpServer; problems: ConfigProblem[] } {
  const unset = new Set<string>();
  const fill = (text: string): string => {
    const expanded = expandVariables(text, env);
    for (const missing of expanded.unset) unset.add(missing);
    return expanded.text;
  };
  const fillAll = (texts: Record<string, string>): Record<string, string> =>
    Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, fill(text)]));
  const filled =
    server.type === 'stdio'
      ? { ...server, command: fill(server.command), args: server.args.map(fill), env: fillAll(server.env) }
      : { ...server, url: fill(server.url), headers: fillAll(server.headers) };
  const problems = [...unset].map((variable) => ({
    file: origin,
    text: `The server ${name} uses \${${variable}}, which is not set: the text goes out as it stands. Set it, or write \${${variable}:-default}.`,
    stops: false,
  }));
  return { server: filled, problems };
}

function problem(file: string, place: object | undefined, path: JsonPath, text: string): ConfigProblem {
  return { file, ...place, text: `${pathText(path)} ${text}.`, stops: false };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
