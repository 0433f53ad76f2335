import { systemPrompt } from '../src/core/prompt-sections.ts';
import type { Hosts } from '../src/core/hosts.ts';
import type { JobFiles } from '../src/core/ports.ts';
import type { Tool } from '../src/core/tool.ts';
import { isLost } from '../src/core/store-error.ts';
import { isToolRemoved } from '../src/permissions/hidden.ts';
import type { Sha } from '../src/shapes/ids.ts';
import { type Agent, JobConfig, type JobState, type OpenResult } from '../src/shapes/job.ts';
import { z } from 'zod';
import { alive } from './alive.ts';
import { jobPlace } from './place.ts';
import { type HookSite } from './hook-stage.ts';
import { sessionStartHooks } from './job-hooks.ts';
import { readJson, readShared } from './read-blob.ts';

export type OpenInput = { config: Sha; state: JobState };

/** Output tokens of one reply when nobody says otherwise. */
const MAX_TOKENS = 32_000;

/** Opens a job, or opens it again: checks what it needs, and writes down once what every request has in common. */
export async function openJob(hosts: Hosts, input: OpenInput): Promise<OpenResult> {
  const { job, at, asking } = jobPlace();
  return alive(hosts, async (life) => {
    const files = await hosts.job(job);
    try {
      const config = JobConfig.parse(await readJson(files.blobs, input.config));
      const isFolder = (await hosts.files.stat(config.dir))?.kind === 'directory';
      if (!isFolder)
        return failed(
          `The workspace ${config.dir} is no folder (any more). Put it back and run: nightshift resume ${job}`,
        );
      await files.removeRecord();
      if (input.state.agent !== '') {
        files.events.write({ at, kind: 'job.resumed' });
        const agent = await readShared<Agent>(files.blobs, input.state.agent);
        return await started({ hosts, files, agent }, 'resume', {});
      }
      const { agent, fresh } = await openFirst(hosts, files, config, at);
      return await started({ hosts, files, agent }, 'startup', fresh);

      /** The last word before the job begins is that of its hooks. */
      async function started(site: HookSite, source: 'startup' | 'resume', found: Fresh): Promise<OpenResult> {
        const { notes, stop } = await sessionStartHooks(site, { asking, signal: life.cancelled }, source);
        if (stop !== undefined) return { kind: 'stopped', why: 'hook', text: stop, fresh: found };
        return { kind: 'opened', fresh: found, ...(notes.length > 0 ? { notes } : {}) };
      }
    } catch (error) {
      if (isLost(error)) return failed(error.message);
      if (error instanceof z.ZodError) return failed(`The job's settings can't be read: ${z.prettifyError(error)}`);
      throw error;
    }
  });
}

type Fresh = Extract<OpenResult, { kind: 'opened' }>['fresh'];

async function openFirst(
  hosts: Hosts,
  files: JobFiles,
  config: JobConfig,
  at: number,
): Promise<{ agent: Agent; fresh: Fresh }> {
  const memory = await hosts.memory(config.dir);
  const tools = hosts.registry.list();
  const agent: Agent = {
    model: config.model,
    maxTokens: config.maxTokens ?? MAX_TOKENS,
    system: systemPrompt({
      dir: config.dir,
      ...(await hosts.environment(config.dir)),
      plans: config.rules.mode === 'plan',
      append: config.appendSystemPrompt,
    }),
    memory: memory.text,
    tools: tools.filter((tool) => isOffered(tool, config)).map(schemaOf),
    dir: config.dir,
    env: config.env,
    siblingAbort: config.siblingAbort,
    ...(config.prices === undefined ? {} : { prices: config.prices }),
    ...(config.hooks.length > 0 ? { hooks: config.hooks } : {}),
    ...describedBy(config),
  };
  const warnings = [...config.warnings, ...memory.warnings];
  const { title, dir, model, rules } = config;
  files.events.write({ at, kind: 'job.opened', title, dir, model, mode: rules.mode, warnings });
  const { limits, onLimit, stay } = config;
  const fresh = {
    agent: await files.blobs.put(JSON.stringify(agent)),
    rules: await files.blobs.put(JSON.stringify(rules)),
    limits,
    onLimit,
    stay,
    ...(config.hooks.some((hook) => hook.event === 'Notification') ? { notifies: true as const } : {}),
    ...(config.ladder.length > 0 ? { ladder: config.ladder } : {}),
    ...(hosts.host ? { host: hosts.host } : {}),
  };
  return { agent, fresh };
}

/** The model that is asked whether a command falls under a description, when nobody names another. */
const CLASSIFIER = 'claude-haiku-5-5';

const describedBy = ({ allowDescribed, classifierModel = CLASSIFIER }: JobConfig): Pick<Agent, 'described'> =>
  allowDescribed.length === 0 ? {} : { described: { descriptions: allowDescribed, model: classifierModel } };

/** A tool that a deny rule forbids altogether, or that has no use in the job's mode, is not offered. */
const isOffered = (tool: Tool, { rules }: JobConfig): boolean =>
  tool.offered?.(rules.mode) !== false && !isToolRemoved(rules, tool.name, tool.aliases);

function schemaOf(tool: Tool): Agent['tools'][number] {
  const { $schema: _dialect, ...input_schema } = z.toJSONSchema(tool.input, { io: 'input' });
  return { name: tool.name, description: tool.description, input_schema };
}

const failed = (error: string): OpenResult => ({ kind: 'failed', error });
