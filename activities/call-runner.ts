import { isSafe } from '../src/core/classify.ts';
import { callMark, taskId, taskOutputFile, toolResultFile } from '../src/core/paths.ts';
import type { Recovery, ToolIo, ToolOutput } from '../src/core/tool.ts';
import { scrubContent } from '../src/core/scrub.ts';
import type { Done, ToolResult } from '../src/shapes/call.ts';
import type { CallOutcome } from '../src/shapes/event.ts';
import type { HookVerdict } from '../src/shapes/hook.ts';
import type { Answer } from '../src/shapes/prompt.ts';
import { hiddenFromReads } from '../src/permissions/hidden.ts';
import { contextOf } from './call-facts.ts';
import { afterHooks, callHooks, hasAfterHooks, heardBefore } from './call-hooks.ts';
import { deniedCall, doneWith, failedCall, settled } from './map-result.ts';
import { decideCall, readResume, type Resume } from './permit.ts';
import { readJson } from './read-blob.ts';
import { startSecondLook } from './second-look.ts';
import { at, type Checked, type Site } from './site.ts';
import { taskFolders } from './task-folders.ts';

/** What is written down before an effect: enough to find out later whether it happened. */
type Claim = { raw: Record<string, unknown>; fact: unknown };

/** What is written down after it, for as long as hooks have their say about it. */
type Ran = { raw: Record<string, unknown>; output: ToolOutput; outcome?: CallOutcome; ms: number };

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
  const goesOn = input.known?.outcome?.kind === 'background';
  const resume = goesOn ? undefined : await readResume(site);
  const claim = previous?.claim as Claim | undefined;
  const ran = previous?.ran as Ran | undefined;
  const checked = check(site, ran?.raw ?? claim?.raw ?? resume?.raw ?? use.input);
  if (checked.kind === 'refused') return settled(site, await failedCall(site, checked.text));

  const io = toolIo(site, checked.raw);
  if (goesOn) {
    const output = await readJson<ToolOutput>(files.blobs, input.known!.resume!);
    return finished(site, checked, output);
  }
  if (input.known?.outcome && checked.tool.afterEffect) {
    return finished(site, checked, checked.tool.afterEffect(checked.input, input.known.outcome));
  }
  if (ran) return finished(site, checked, ran.output, ran);
  if (previous?.corrupt)
    return settled(
      site,
      await failedCall(site, unknownText(checked, 'The record of this call is gone or damaged.'), 'unknown'),
    );
  if (claim !== undefined) return recover(site, checked, claim, io);
  const lost = await missingWorkspace(site);
  if (lost !== undefined) return settled(site, await failedCall(site, lost));
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

/** Nothing is run, and above all nothing made anew, where the workspace was. */
async function missingWorkspace({ hosts, agent }: Site): Promise<string | undefined> {
  if ((await hosts.files.stat(agent.dir))?.kind === 'directory') return undefined;
  return `The workspace ${agent.dir} does not exist any more. Nothing can be done in it: say so in your answer and stop.`;
}

/** Stages 5 to 8, for a call that nobody began before. */
async function permitted(site: Site, first: Checked, io: ToolIo, resume: Resume | undefined): Promise<ToolResult> {
  // Later passes come here with a question that a model was asked before a person was.
  if (!resume) site.look = startSecondLook(site, first);
  const before = resume ? await heardBefore(site) : await askBefore(site, first);
  if (!before) return settled(site, cutShort());
  const rewritten = resume ? undefined : before.input;
  const given = rewritten ? check(site, rewritten) : { kind: 'ok' as const, ...first };
  if (given.kind === 'refused') return settled(site, await failedCall(site, `${REWRITTEN} ${given.text}`));
  const objection = rewritten && (await given.tool.validate?.(given.input, toolIo(site, given.raw)));
  if (objection) return settled(site, await failedCall(site, `${REWRITTEN} ${objection}`));
  const verdict = await decideCall(site, given, resume, before);
  switch (verdict.kind) {
    case 'cut':
      return settled(site, cutShort());
    case 'ask':
      return { kind: 'ask', prompt: verdict.prompt, resume: verdict.resume };
    case 'update': {
      const { updates, resume } = verdict;
      return { kind: 'update', updates, resume, mode: site.input.ctx.mode ?? site.rules.mode };
    }
    case 'deny':
      return settled(site, await deniedCall(site, verdict));
    case 'allow':
      break;
  }
  const checked = verdict.input ? check(site, verdict.input) : given;
  if (checked.kind === 'refused') return settled(site, await failedCall(site, checked.text));
  if (verdict.input) {
    const refusal = await checked.tool.validate?.(checked.input, io);
    if (refusal !== undefined) return settled(site, await failedCall(site, refusal));
  }
  if (site.input.call.safe && !site.input.known?.alone && !isSafe(checked.tool, checked.raw)) {
    return { kind: 'alone', resume: verdict.resume };
  }
  if (checked.tool.effect)
    return { kind: 'effect', effect: checked.tool.effect(checked.input), resume: verdict.resume };
  return run(site, checked, checked.raw === first.raw ? io : toolIo(site, checked.raw));
}

/** Stage 5: hooks may refuse a call, change its input and say something about it. Undefined: they were cut. */
const askBefore = (site: Site, checked: Checked): Promise<HookVerdict | undefined> =>
  callHooks(site, 'PreToolUse', checked, { tool_use_id: site.use.id });

/** A call that was cancelled while hooks had their say about it. */
const cutShort = (): Done => ({ dropped: { reason: 'user', text: 'It was cancelled before it had begun.' } });

const REWRITTEN = "A PreToolUse hook changed the input of this call, and it can't be run like that.";

async function run(site: Site, checked: Checked, io: ToolIo): Promise<ToolResult> {
  const began = site.hosts.now();
  const output = await attempt(() => checked.tool.run!(checked.input, io));
  return concluded(site, checked, io, output, { ms: site.hosts.now() - began });
}

/** Stages 8 and 9: what the tool gave is on record before hooks look at it, so that no hook and no call runs twice. */
async function finished(
  site: Site,
  checked: Checked,
  given: ToolOutput,
  { outcome, ms = 0 }: { outcome?: CallOutcome; ms?: number } = {},
): Promise<ToolResult> {
  const output = { ...given, content: scrubContent(given.content, site.hosts.scrub) };
  const isCut = site.life.cancelled.aborted && output.isError === true;
  if (isCut || !hasAfterHooks(site)) return settled(site, await doneWith(site, checked, output, outcome));
  const ran: Ran = { raw: checked.raw, output, ms, ...(outcome ? { outcome } : {}) };
  if (!site.call.previous?.ran) await site.call.ran(ran);
  return settled(site, await doneWith(site, checked, await afterHooks(site, checked, output, ms), outcome));
}

/** What a pass that has acted hands back: the result, or that its command goes on without it. */
async function concluded(
  site: Site,
  checked: Checked,
  io: ToolIo,
  output: ToolOutput,
  end: { outcome?: CallOutcome; ms?: number },
): Promise<ToolResult> {
  if (!output.background) return finished(site, checked, output, end);
  const { id, outputPath } = io.task;
  const brief = checked.tool.brief(checked.input);
  const { files, hosts, place } = site;
  const event = { kind: 'task.started', id, task: 'shell', brief, outputFile: outputPath } as const;
  files.events.write({ at: hosts.now(), ...event, ...at(place) });
  const resume = await files.blobs.put(JSON.stringify(output)); // what the next pass answers
  return { kind: 'effect', effect: { kind: 'background', task: id, brief }, resume };
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
      return concluded(site, checked, io, recovery.output, { outcome: 'probed' });
    case 'running':
      return concluded(site, checked, io, await attempt(recovery.wait), { outcome: 'adopted' });
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
  const mark = callMark(hosts.homeKey, files.id, place.turn, place.step, place.index);
  const task = taskId(place.turn, place.step, place.index);
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
    setup: () => files.envFiles(),
    seen,
    hidden: hiddenFromReads(rules, contextOf(site)),
    mode: input.ctx.mode ?? rules.mode,
    jobMode: rules.mode,
    ...saidWith(input.known?.grant),
    sha: (bytes) => hosts.sha(bytes),
    claim: (fact) => call.claim({ raw, fact } satisfies Claim),
    waits: () => call.waits(),
    progress: (text, bytes) => {
      life.say(text);
      if (hosts.now() - told < PROGRESS_MS) return;
      told = hosts.now();
      files.events.write({ at: told, kind: 'call.progress', ...at(place), text, bytes });
    },
    task: { id: task, outputPath: `${files.dir}/${taskOutputFile(task)}` },
    tasks: taskFolders(hosts.files, files),
    resultPath: `${files.dir}/${toolResultFile(place.turn, place.step, place.index, 'txt')}`,
  };
}

/** The words that came with a person's yes. */
const saidWith = (grant: Answer | undefined): Pick<ToolIo, 'said'> =>
  grant?.message === undefined || grant.behavior === 'deny' ? {} : { said: grant.message };

/** Progress events of one call are at least this far apart. */
const PROGRESS_MS = 500;

function briefOf(site: Site): string {
  const tool = site.hosts.registry.get(site.use.name);
  const parsed = tool?.input.safeParse(site.use.input);
  return tool && parsed?.success ? tool.brief(parsed.data) : '';
}
