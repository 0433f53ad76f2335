import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { expandServer, type McpFiles, readMcpFiles } from '../../src/host/mcp-files.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'mcp-files-'));
  mkdirSync(join(dir, 'managed'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const read = (): Promise<McpFiles> =>
  readMcpFiles({ dir, root: dir, claudeState: [join(dir, 'state.json')], managedDir: join(dir, 'managed') });
const project = (content: unknown): void =>
  writeFileSync(join(dir, '.mcp.json'), typeof content === 'string' ? content : JSON.stringify(content));
const sample = (name: string): void => cpSync(new URL(`../configs/${name}`, import.meta.url), join(dir, '.mcp.json'));
const told = ({ problems }: McpFiles): string[] => problems.map(({ text }) => text);

test('variables are filled in, defaults too; one that is not set stays as it stands and is named', async () => {
  sample('21-env-expansion.mcp.json');
  const { servers, problems } = await read();
  expect([servers.map(({ name }) => name), problems]).toEqual([['a-stdio', 'b-http', 'c-project'], []]);
  const env = { WORKDIR: '/w', EMPTY: '' };
  const [stdio, http, own] = servers.map((entry) => expandServer(entry, env));
  expect(stdio?.server).toEqual({
    type: 'stdio',
    command: '/opt/tools/bin/srv',
    args: ['--dir', '/w', '--lit', '$PLAIN', '--empty', ''],
    env: { TOKEN: '${API_TOKEN}', MODE: 'prod' },
  });
  expect(http?.server).toEqual({
    type: 'http',
    url: 'https://mcp.example/mcp',
    headers: { Authorization: 'Bearer ${API_TOKEN}' },
  });
  expect(own?.server).toMatchObject({ args: ['./tools/kb.js'] });
  expect(http?.problems.map(({ text }) => text)).toEqual([
    expect.stringMatching(/The server b-http uses \$\{API_TOKEN\}, which is not set/),
  ]);
  expect(own?.problems).toEqual([]);
});

test('what is said of a variable never holds its value', async () => {
  project({ mcpServers: { a: { command: 'x', env: { TOKEN: '${API_TOKEN}', OTHER: '${LOST}' } } } });
  const { servers } = await read();
  const found = expandServer(servers[0]!, { API_TOKEN: 'very-secret' });
  expect(found.server).toMatchObject({ env: { TOKEN: 'very-secret', OTHER: '${LOST}' } });
  expect(JSON.stringify(found.problems)).not.toContain('very-secret');
});

test('the key of another editor loads nothing, and is named', async () => {
  sample('23-servers-key.mcp.json');
  const found = await read();
  expect(found.servers).toEqual([]);
  expect(told(found)).toEqual([expect.stringContaining('found servers, expected mcpServers')]);
});

test.each([
  ['a url without a type', { url: 'https://x' }, /Add "type": "http"/],
  ['an unknown type', { type: 'pigeon', url: 'x' }, /type must be "stdio", "http", "sse" or "ws"/],
  ['a command that is a list', { command: ['node', 'x'] }, /command must be a text, not a list/],
  ['arguments that are a text', { command: 'node', args: 'x' }, /args must be a list, not a text/],
  ['a text', 'node x', /must be an object with a command or a url/],
])('%s costs that server, and no other', async (_what, server, message) => {
  project({ mcpServers: { bad: server, good: { type: 'streamable-http', url: '${BASE}/mcp' } } });
  const found = await read();
  expect(found.servers.map(({ name, server }) => [name, server.type])).toEqual([['good', 'http']]);
  expect(told(found)).toEqual([expect.stringMatching(message)]);
});

test('names that are taken are left out', async () => {
  project({ mcpServers: { workspace: { command: 'x' }, 'computer-use': { command: 'x' }, mine: { command: 'x' } } });
  const found = await read();
  expect([found.servers.map(({ name }) => name), found.problems.length]).toEqual([['mine'], 2]);
});

test('a broken file names no server and does not stop anything', async () => {
  project('{"mcpServers": {');
  const found = await read();
  expect([found.servers, told(found)]).toEqual([[], [expect.stringMatching(/no valid JSON/)]]);
  expect(found.problems[0]).toMatchObject({ stops: false, line: 1 });
});

test('of two with one name the nearer counts as a whole; a managed list is the only one', async () => {
  const state = {
    mcpServers: { a: { command: 'user' }, u: { command: 'user' } },
    projects: { [dir]: { mcpServers: { a: { command: 'local' } } } },
  };
  writeFileSync(join(dir, 'state.json'), JSON.stringify(state));
  project({ mcpServers: { a: { command: 'project', args: ['x'] }, p: { command: 'project' } } });
  const seen = async (): Promise<string[]> => (await read()).servers.map(({ name, scope }) => `${name} ${scope}`);
  expect(await seen()).toEqual(['a local', 'p project', 'u user']);
  writeFileSync(join(dir, 'managed/managed-mcp.json'), JSON.stringify({ mcpServers: { m: { command: 'm' } } }));
  expect(await seen()).toEqual(['m managed']);
});
