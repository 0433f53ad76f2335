import { distinct, hookLabel, matching, merge, timeoutMs } from '../src/core/hooks.ts';
import { outcomeOf } from '../src/core/hook-output.ts';
import { eventsFile, hooksMark } from '../src/core/paths.ts';
import type { Hosts } from '../src/core/hosts.ts';
import type { JobFiles } from '../src/core/ports.ts';
import { byteLength, clipBytes, persistedOutput } from '../src/core/preview.ts';
import type { Note } from '../src/shapes/call.ts';
import type { CallPlace } from '../src/shapes/event.ts';
import type { Hook, HookEvent, HookInput, HookOutcome, HookVerdict } from '../src/shapes/hook.ts';
import type { Agent } from '../src/shapes/job.ts';

/** What running hooks needs of an activity. */
export type HookSite = { hosts: Hosts; files: JobFiles; agent: Agent };

/** One event of a job at which hooks may run. */
export type HookStage = {
  event: HookEvent;
  /** Ledger folder of what they come to, one below it for each: the same whenever the event is met again. */
  dir: string;
  /** What the event is about, by all its names; matchers are compared with it. */
  about: readonly string[];
  /** Fields of the handlers' input beside those that all events have. */
  fields: Record<string, unknown>;
  cwd: string;
  mode?: string;
  place?: Partial<CallPlace>;
  signal: AbortSignal;
  /** Whether the `if` of a hook covers the call that the event is about. */
  concerns?: (condition: string) => boolean;
};

/** Characters of one text that the model gets in place. */
const TEXT_LIMIT = 10_000;
/** Bytes of the reason for an end, which travels through histories. */
const STOP_BYTES = 500;

/** Nobody had anything to say. */
export const SILENCE: HookVerdict = { contexts: [], messages: [] };

/** What one handler came to, as its ledger folder keeps it. */
type Heard = { outcome: HookOutcome; at: number };

/**
 * What the hooks of an event come to, all of them run at once. What each came to is written down before anybody acts on
 * it, so whoever meets the event again finds it and no handler that ended runs twice; one that a dead owner left in the
 * middle is killed and begun again. Undefined: they were cut by a cancel and decide nothing.
 */
export async function runHooks(site: HookSite, stage: HookStage): Promise<HookVerdict | undefined> {
  const candidates = matching(site.agent.hooks ?? [], stage.event, stage.about);
  const due = distinct(candidates.filter((hook) => hook.if === undefined || stage.concerns?.(hook.if) === true));
  const heard = await Promise.all(due.map((hook) => once(site, stage, hook, candidates.indexOf(hook))));
  const ended = heard.filter((one) => one !== undefined);
  return stage.signal.aborted || ended.length < due.length ? undefined : verdictOf(ended);
}

/** What the hooks of an event came to when it was met before; `runHooks` would run those that have not ended. */
export async function heardHooks(
  { agent, files }: HookSite,
  { event, about, dir }: Pick<HookStage, 'event' | 'about' | 'dir'>,
): Promise<HookVerdict> {
  const candidates = matching(agent.hooks ?? [], event, about);
  const heard = await Promise.all(candidates.map((_, n) => files.ledger.resultOf(`${dir}/${n}`)));
  return verdictOf((heard as (Heard | undefined)[]).filter((one) => one !== undefined));
}

const verdictOf = (heard: Heard[]): HookVerdict =>
  merge(heard.toSorted((a, b) => a.at - b.at).map(({ outcome }) => outcome));

/** One handler, which nobody runs again when it has ended. Undefined: it was cut. */
async function once(site: HookSite, stage: HookStage, hook: Hook, n: number): Promise<Heard | undefined> {
  const { hosts, files } = site;
  if (stage.signal.aborted) return undefined;
  const dir = `${stage.dir}/${n}`;
  const mark = hooksMark(hosts.homeKey, files.id, `${dir}.`);
  const ownership = await files.ledger.own(dir, stage.signal).catch((error: unknown) => {
    if (stage.signal.aborted) return undefined;
    throw error;
  });
  switch (ownership?.kind) {
    case undefined:
      return undefined;
    case 'done':
    case 'joined':
      return (await ownership.result) as Heard;
    case 'exhausted':
      return { outcome: deadly(site, stage, hook, ownership.owners), at: 0 };
    case 'owned':
      try {
        if (ownership.call.owners > 1) await hosts.hooks.kill(mark);
        const outcome = await runOne(site, stage, hook, mark);
        if (outcome.status === 'cancelled') return undefined;
        const by = outcome.updates ? { by: hookLabel(hook) } : {};
        const heard: Heard = { outcome: { ...(await bounded(site, outcome)), ...by }, at: hosts.now() };
        await ownership.call.result(heard);
        return heard;
      } finally {
        await ownership.call.release();
      }
  }
}

/** Runs a handler to its end. One that runs aside is only begun: nobody waits for it, and it decides nothing. */
async function runOne(site: HookSite, stage: HookStage, hook: Hook, mark: string): Promise<HookOutcome> {
  const { hosts, files, agent } = site;
  const hooks = agent.hooks ?? [];
  const envFile = stage.event === 'SessionStart' ? await files.emptyEnvFile(hooks.indexOf(hook)) : undefined;
  const isAside = hook.type === 'command' && hook.async === true;
  const span = Number(agent.env['CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS']);
  const running = hosts.hooks.run(hook, {
    input: hosts.scrub(JSON.stringify(inputOf(site, stage))),
    mark,
    signal: isAside ? new AbortController().signal : stage.signal,
    cwd: stage.cwd,
    projectDir: agent.dir,
    env: { ...hosts.childEnv(agent.env, mark), ...(envFile === undefined ? {} : { CLAUDE_ENV_FILE: envFile }) },
    timeoutMs: timeoutMs(hook, hooks, span > 0 ? span : undefined),
  });
  const told = running.then((run) => tell(site, stage, hook, outcomeOf(stage.event, run, hook.onFailure), run.ms));
  return isAside ? { status: 'ok' } : told;
}

function tell(
  { hosts, files }: HookSite,
  { event, place }: HookStage,
  hook: Hook,
  outcome: HookOutcome,
  ms: number,
): HookOutcome {
  const { status, decision } = outcome;
  const text = outcome.error ?? outcome.message ?? outcome.reason;
  files.events.write({
    at: hosts.now(),
    kind: 'hook.ended',
    ...place,
    event,
    hook: hookLabel(hook),
    status,
    ms,
    ...(decision ? { decision } : {}),
    ...(text ? { text: clipBytes(text, STOP_BYTES) } : {}),
  });
  return outcome;
}

function inputOf({ files }: HookSite, { event, fields, cwd, mode }: HookStage): HookInput {
  return {
    session_id: files.id,
    transcript_path: `${files.dir}/${eventsFile}`,
    cwd,
    ...(mode === undefined ? {} : { permission_mode: mode }),
    hook_event_name: event,
    ...fields,
  };
}

/** A handler that took its worker with it each time is not run again: no call gets past its guard that way. */
function deadly(site: HookSite, stage: HookStage, hook: Hook, owners: number): HookOutcome {
  const error = `the worker died ${owners} times while it ran`;
  const outcome: HookOutcome = { status: 'error', error };
  if (stage.event === 'PreToolUse') Object.assign(outcome, { decision: 'deny', reason: error });
  return tell(site, stage, hook, outcome, 0);
}

/** What a handler said as it may be kept: without the runner's own credentials, and with long texts in files that the model can read. */
async function bounded(site: HookSite, outcome: HookOutcome): Promise<HookOutcome> {
  const { context, prompt, reason, stop } = outcome;
  return {
    ...outcome,
    ...(context === undefined ? {} : { context: await kept(site, context) }),
    ...(prompt === undefined ? {} : { prompt: await kept(site, prompt) }),
    ...(reason === undefined ? {} : { reason: await kept(site, reason) }),
    ...(stop === undefined ? {} : { stop: clipBytes(site.hosts.scrub(stop), STOP_BYTES) }),
  };
}

async function kept({ hosts, files }: HookSite, said: string): Promise<string> {
  const text = hosts.scrub(said);
  if (text.length <= TEXT_LIMIT) return text;
  const path = await files.keepResult(`tool-results/hook-${hosts.sha(text).slice(0, 16)}.txt`, text);
  return persistedOutput({ head: text, path, bytes: byteLength(text) });
}

/** What hooks said to the model, as one note; none when they said nothing. */
export async function hookNote(
  { files }: HookSite,
  id: string,
  heard: readonly { event: HookEvent; verdict: HookVerdict }[],
): Promise<Note | undefined> {
  const texts = heard.flatMap(({ event, verdict }) => verdict.contexts.map((text) => `${event} hook: ${text}`));
  if (texts.length === 0) return undefined;
  return { id, kind: 'hook', body: await files.blobs.put(texts.join('\n\n')) };
}
