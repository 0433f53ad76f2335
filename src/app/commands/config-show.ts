import { settingValues, type SettingValue } from '../../core/setting-values.ts';
import { disabledServers, isOfFolder } from '../../core/merge-settings.ts';
import { agentTools, readAgentFiles } from '../../host/agent-files.ts';
import { MANAGED_DIR } from '../../host/config-files.ts';
import { expandServer, readMcpFiles } from '../../host/mcp-files.ts';
import { loadMemory } from '../../host/memory.ts';
import { readSkillFiles } from '../../host/skill-files.ts';
import { gitRoot } from '../../host/trust.ts';
import type { Hook } from '../../shapes/hook.ts';
import type { ConfigProblem } from '../../shapes/settings.ts';
import { builtinTools } from '../../tools/builtin.ts';
import { Exit } from '../cli-error.ts';
import { type Io, printJson } from '../io.ts';
import { workspace } from '../job-config.ts';
import { jobSettings } from '../job-settings.ts';
import { claudeStateFiles, readConfig, userConfigDir } from '../read-config.ts';
import { printConfig } from '../render-config.ts';

export type ConfigShowOptions = { dir?: string; settings?: string; json?: boolean };

/** Everything that a job in a folder would start with. `counts: false`: its folder would have to be trusted first. */
export type ConfigView = {
  dir: string;
  trusted: boolean;
  settings: Record<string, SettingValue>;
  hooks: {
    event: string;
    matcher: string;
    if?: string;
    type: string;
    command?: string;
    url?: string;
    timeout?: number;
    origin: string;
    counts: boolean;
  }[];
  mcpServers: { name: string; type: string; origin: string; counts: boolean }[];
  agents: { name: string; description: string; tools: string[] | null; model: string | null; origin: string }[];
  skills: { name: string; description: string; origin: string }[];
  memory: { path: string; bytes: number }[];
  warnings: { file: string; line: number | null; column: number | null; text: string; stops: boolean }[];
};

/** `config show`: every setting with its origin, and all that is odd; exits with 2 when no job could start. */
export async function configShow(options: ConfigShowOptions, io: Io): Promise<number> {
  const view = await configView(options, io);
  if (options.json === true) printJson(io, view);
  else printConfig(view, io);
  return view.warnings.some(({ stops }) => stops) ? Exit.usage : Exit.ok;
}

async function configView({ dir: folder, settings }: ConfigShowOptions, io: Io): Promise<ConfigView> {
  const dir = workspace(folder, io.cwd);
  const read = await readConfig({ dir, cwd: io.cwd, env: io.env, ...(settings === undefined ? {} : { settings }) });
  const { trusted, root } = read.trust;
  const userConfig = userConfigDir({ env: io.env });
  const places = { dir, root: gitRoot(dir) ?? dir, userConfig };
  const mcp = await readMcpFiles({
    dir,
    root,
    claudeState: claudeStateFiles({ env: io.env }),
    managedDir: MANAGED_DIR,
  });
  const agents = await readAgentFiles(places);
  const skills = await readSkillFiles(places);
  const memory = await loadMemory(dir, { home: read.home, config: userConfig });
  const tools = builtinTools.flatMap((tool) => [tool.name, ...tool.aliases]);
  const problems: ConfigProblem[] = [
    ...warningsOf(read, tools),
    ...mcp.problems,
    ...mcp.servers.flatMap((entry) => expandServer(entry, io.env).problems),
    ...agents.problems,
    ...agents.agents.flatMap((agent) =>
      agentTools(agent, tools).unknown.map((name) => ({
        file: agent.origin,
        text: `tools names ${name}, which is no tool that nightshift has: it is left out.`,
        stops: false,
      })),
    ),
    ...skills.problems,
    ...memory.warnings.map(memoryProblem),
  ];
  const disabled = disabledServers(read.layers);
  return {
    dir,
    trusted,
    settings: settingValues(read.layers, { trusted }),
    hooks: hooksOf(read, trusted),
    mcpServers: mcp.servers.map(({ name, server, origin, scope }) => ({
      name,
      type: server.type,
      origin,
      counts: scope !== 'project' || (trusted && !disabled.has(name)),
    })),
    agents: agents.agents.map((agent) => ({
      name: agent.name,
      description: agent.description,
      tools: agent.tools === undefined && agent.disallowedTools === undefined ? null : agentTools(agent, tools).tools,
      model: agent.model ?? null,
      origin: agent.origin,
    })),
    skills: skills.skills.map(({ name, description, origin }) => ({ name, description, origin })),
    memory: memory.files,
    warnings: problems.map(({ file, line = null, column = null, text, stops }) => ({
      file,
      line,
      column,
      text,
      stops,
    })),
  };
}

/** What is said of an instruction file begins with its path. */
function memoryProblem(warning: string): ConfigProblem {
  const [, file = '', text = warning] = /^(\S+) (.*)$/s.exec(warning) ?? [];
  return { file, text: `It ${text}`, stops: false };
}

type Read = Awaited<ReturnType<typeof readConfig>>;

/** All that is odd in the settings; with problems that stop a job nothing is laid together. */
function warningsOf(read: Read, tools: readonly string[]): ConfigProblem[] {
  return read.problems.some(({ stops }) => stops) ? read.problems : jobSettings(read, { tools }).warnings;
}

function hooksOf(read: Read, trusted: boolean): ConfigView['hooks'] {
  const inForce = read.problems.some(({ stops }) => stops) ? [] : jobSettings(read, {}).hooks;
  return read.layers.flatMap(({ source, hooks }) =>
    hooks.map((hook) => ({
      event: hook.event,
      matcher: hook.matcher ?? '*',
      ...(hook.if === undefined ? {} : { if: hook.if }),
      type: hook.type,
      ...(hook.type === 'command' ? { command: hook.command } : { url: hook.url }),
      ...(hook.timeout === undefined ? {} : { timeout: hook.timeout }),
      origin: hook.origin,
      counts: (trusted || !isOfFolder(source)) && inForce.some((other) => isSame(hook, other)),
    })),
  );
}

/** One handler under one matcher, whichever file names it. */
function isSame(a: Hook, b: Hook): boolean {
  const key = (hook: Hook): string =>
    JSON.stringify([hook.event, hook.matcher, hook.if, hook.type === 'command' ? hook.command : hook.url]);
  return key(a) === key(b);
}
