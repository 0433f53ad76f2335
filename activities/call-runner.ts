import { isSafe } from '../src/core/classify.ts';
import { toolResultFile } from '../src/core/paths.ts';
import type { Recovery, ToolIo, ToolOutput } from '../src/core/ports.ts';
import type { ToolResult } from '../src/shapes/call.ts';
import { deniedCall, doneWith, failedCall, settled } from './map-result.ts';
import { decideCall, readResume, type Resume } from './permit.ts';
import { at, type Checked, type Site } from './site.ts';

/** What is written down before an effect: enough to find out later whether it happened. */
type Claim = { raw: Record<string, unknown>; fact: unknown };

/**
 * The life of a call, stage by stage: find, parse, validate, permission, run, map. A pass ends where somebody has to be
 * waited for; the next one starts from what the workflow learned. An error at any stage is a result, never an exception.
 */
export async function runCall(site: Site): Promise<ToolResult> {
  const { call, input, files, hosts, place, use } = site;
  const previous = call.previous;
  files.events.write({
    at: hosts.now(),
    kind: 'call.started',
    ...at(place),
    id: use.id,
    name: use.name,
    brief: briefOf(site),
    owner: call.owners,
  });
  const resume = await readResume(site);
  const claim = previous?.claim as Claim | undefined;
  const checked = check(site, claim?.raw ?? resume?.raw ?? use.input);
  if (checked.kind === 'refused') return settled(site, await failedCall(site, checked.text));

  const io = toolIo(site, checked.raw);
  if (previous?.corrupt)
    return settled(site, await failedCall(site, unknownText(checked, 'the record of this call is damaged'), 'unknown'));
  if (claim !== undefined) return recover(site, checked, claim, io);
  if (input.known?.outcome && checked.tool.afterEffect) {
    return settled(site, await doneWith(site, checked, checked.tool.afterEffect(checked.input, input.known.outcome)));
  }
  const refusal = await checked.tool.validate?.(checked.input, io);
  if (refusal !== undefined) return settled(site, await failedCall(site, refusal));
  return permitted(site, checked, io, resume);
}

/** Stages 1 and 2: the tool by name, then by alias; its input by its schema. */
function check(
  site: Site,
  raw: Record<string, unknown>,
): ({ kind: 'ok' } & Checked) | { kind: 'refused'; text: string } {
  const { registry } = site.hosts;
  const tool = registry.get(site.use.name);
  if (!tool) {
    const names = site.agent.tools.map((known) => known.name).join(', ');
    return { kind: 'refused', text: `No such tool: ${site.use.name}. Tools you have: ${names}` };
  }
  const parsed = tool.input.safeParse(raw);
  if (parsed.success) return { kind: 'ok', tool, input: parsed.data, raw };
  const issues = parsed.error.issues
    .map((issue) => `- ${issue.path.join('.') || 'input'}: ${issue.message}`)
    .join('\n');
  return {
    kind: 'refused',
    text: `The input of ${tool.name} is not valid:\n${issues}\nCorrect it and call the tool again.`,
  };
}

/** Stages 5 to 8, for a call that nobody began before. */
async function permitted(site: Site, first: Checked, io: ToolIo, resume: Resume | undefined): Promise<ToolResult> {
  const verdict = await decideCall(site, first, resume);
  switch (verdict.kind) {
    case 'ask':
      return { kind: 'ask', prompt: verdict.prompt, resume: verdict.resume };
    case 'deny':
      return settled(site, await deniedCall(site, verdict));
    case 'allow':
      break;
  }
  const checked = verdict.input ? check(site, verdict.input) : { kind: 'ok' as const, ...first };
  if (checked.kind === 'refused') return settled(site, await failedCall(site, checked.text));
  if (verdict.input) {
    const refusal = await checked.tool.validate?.(checked.input, io);
    if (refusal !== undefined) return settled(site, await failedCall(site, refusal));
    if (site.input.call.safe && !site.input.known?.alone && !isSafe(checked.tool, checked.raw)) {
      return { kind: 'alone', resume: verdict.resume };
    }
  }
  if (checked.tool.effect)
    return { kind: 'effect', effect: checked.tool.effect(checked.input), resume: verdict.resume };
  return run(site, checked, verdict.input ? toolIo(site, checked.raw) : io);
}

async function run(site: Site, checked: Checked, io: ToolIo): Promise<ToolResult> {
  return settled(site, await doneWith(site, checked, await attempt(() => checked.tool.run!(checked.input, io))));
}

/** A claim of a dead owner: find out whether the effect happened before anything is done again. */
async function recover(site: Site, checked: Checked, claim: Claim, io: ToolIo): Promise<ToolResult> {
  const { tool, input } = checked;
  if (!tool.recover) return run(site, checked, io);
  const recovery = await tool
    .recover(claim.fact, input, io)
    .catch((error: unknown): Recovery => ({ kind: 'unknown', check: String(error).slice(0, 500) }));
  switch (recovery.kind) {
    case 'done':
      return settled(site, await doneWith(site, checked, recovery.output, 'probed'));
    case 'running':
      return settled(site, await doneWith(site, checked, await attempt(recovery.wait), 'adopted'));
    case 'notDone':
      return run(site, checked, io);
    case 'unknown':
      return settled(site, await failedCall(site, unknownText(checked, recovery.check), 'unknown'));
  }
}

const unknownText = ({ tool }: Checked, check: string): string =>
  `The outcome of this ${tool.name} call is unknown: the process that ran it died. ${check} Look at the state of things before you do it again.`;

/** A tool that throws has a bug or met something it did not expect; the model is told, the batch goes on. */
async function attempt(body: () => Promise<ToolOutput>): Promise<ToolOutput> {
  try {
    return await body();
  } catch (error) {
    return { content: `The tool failed: ${String(error).slice(0, 500)}`, isError: true };
  }
}

function toolIo(site: Site, raw: Record<string, unknown>): ToolIo {
  const { hosts, files, agent, rules, place, life, call, input, seen } = site;
  const mark = `${files.id}/${place.turn}/${place.step}.${place.index}`;
  let told = 0;
  return {
    signal: life.cancelled,
    cwd: input.ctx.cwd ?? agent.dir,
    root: agent.dir,
    directories: rules.directories,
    env: hosts.childEnv(agent.env, mark),
    dir: call.dir,
    mark,
    files: hosts.files,
    search: hosts.search,
    shell: hosts.shell,
    seen,
    sha: (bytes) => hosts.sha(bytes),
    claim: (fact) => call.claim({ raw, fact } satisfies Claim),
    progress: (text, bytes) => {
      life.say(text);
      if (hosts.now() - told < PROGRESS_MS) return;
      told = hosts.now();
      files.events.write({ at: told, kind: 'call.progress', ...at(place), text, bytes });
    },
    resultPath: `${files.dir}/${toolResultFile(place.turn, place.step, place.index, 'txt')}`,
  };
}

/** Progress events of one call are at least this far apart. */
const PROGRESS_MS = 500;

function briefOf(site: Site): string {
  const tool = site.hosts.registry.get(site.use.name);
  const parsed = tool?.input.safeParse(site.use.input);
  return tool && parsed?.success ? tool.brief(parsed.data) : '';
}
