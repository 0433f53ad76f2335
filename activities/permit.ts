import { clipBytes } from '../src/core/preview.ts';
import type { CheckedCall, PermissionContext } from '../src/permissions/call.ts';
import { decide, reasonText, stillAllowed } from '../src/permissions/chain.ts';
import { hookWord } from '../src/permissions/hook-word.ts';
import { suggestions } from '../src/permissions/suggestions.ts';
import { asUpdates } from '../src/permissions/updates.ts';
import type { HookVerdict } from '../src/shapes/hook.ts';
import type { Decision, DecisionReason } from '../src/shapes/permission.ts';
import type { Answer, Prompt, PromptBody } from '../src/shapes/prompt.ts';
import type { Sha } from '../src/shapes/ids.ts';
import { factsOf } from './call-facts.ts';
import { callHooks } from './call-hooks.ts';
import { ledAstray, ledTo, type LedTo } from './led-to.ts';
import { at, replacedBy, type Checked, type Site } from './site.ts';
import { readJson } from './read-blob.ts';

/** What an earlier pass of the call came to, so that no stage runs twice. `led`: where its paths led when it was first decided. */
export type Resume = { raw: Record<string, unknown>; inputHash: Sha; since: number; led?: LedTo };

export type Verdict =
  /** `input`: a person changed it. `resume`: what the next pass starts from. */
  | { kind: 'allow'; input?: Record<string, unknown>; resume: Sha }
  | { kind: 'ask'; prompt: Prompt; resume: Sha }
  | { kind: 'deny'; text: string; interrupt?: boolean }
  /** Allowed, once the changes of permissions that came with it are made. */
  | { kind: 'update'; updates: Sha; resume: Sha }
  /** Hooks were cut before they had decided. */
  | { kind: 'cut' };

export async function readResume({ input, files }: Site): Promise<Resume | undefined> {
  return input.known?.resume ? readJson<Resume>(files.blobs, input.known.resume) : undefined;
}

/** Stage 6: the permission chain with the word of its hooks, a person's answer, or the question. */
export async function decideCall(
  site: Site,
  checked: Checked,
  resume: Resume | undefined,
  before: HookVerdict,
): Promise<Verdict> {
  const { files, hosts, place, input } = site;
  const inputHash = hosts.sha(JSON.stringify(checked.raw));
  const grant = input.known?.grant;
  const led = resume?.inputHash === inputHash ? resume.led : ledTo(site, checked);
  const state: Resume = { raw: checked.raw, inputHash, since: resume?.since ?? place.at, ...(led ? { led } : {}) };
  const saved = await files.blobs.put(JSON.stringify(state));
  if (grant && resume?.inputHash === inputHash) return answered(site, checked, grant, { led, saved });

  const { call: plain, context } = factsOf(site, checked);
  const hook = hookWord(before);
  const call = hook ? { ...plain, hook } : plain;
  const chain = decide(call, site.rules, context);
  // Its hooks have answered already, and what they gave may be what the chain goes by now: their answer holds as a whole.
  if (input.known?.updated && resume?.inputHash === inputHash)
    return asked(site, { checked, decision: chain, call, context, state, saved });
  const decision = await secondLook(site, checked, chain);
  tell(site, decision, checked);
  switch (decision.behavior) {
    case 'allow':
      return { kind: 'allow', resume: saved };
    case 'deny':
      return denied(site, checked, decision);
    case 'ask':
      return asked(site, { checked, decision, call, context, state, saved });
  }
}

/** The question that is left when nobody decides may be answered by what the user described; no other can. */
async function secondLook(site: Site, checked: Checked, decision: Decision): Promise<Decision> {
  if (decision.behavior !== 'ask' || decision.reason.kind !== 'default') return decision;
  const fit = await site.look?.fits(checked);
  return fit ? { behavior: 'allow', reason: { kind: 'described', ...fit } } : decision;
}

async function denied(site: Site, checked: Checked, decision: Decision): Promise<Verdict> {
  const why = reasonText(decision);
  const text = `Permission to use ${checked.tool.name} was denied: ${why}`;
  if (decision.reason.kind === 'hook') return { kind: 'deny', text };
  const said = await callHooks(site, 'PermissionDenied', checked, { tool_use_id: site.use.id, reason: why });
  if (!said) return { kind: 'cut' };
  return { kind: 'deny', text: said.retry ? `${text} You may try this call again.` : text };
}

type Asked = {
  checked: Checked;
  decision: Decision;
  call: CheckedCall;
  context: PermissionContext;
  state: Resume;
  saved: Sha;
};

/** Hooks may answer instead of a person; what they allow passes the same door as a person's answer. */
async function asked(site: Site, { checked, decision, call, context, state, saved }: Asked): Promise<Verdict> {
  const proposals = suggestions(call, context, site.rules);
  const said = await callHooks(site, 'PermissionRequest', checked, {
    permission_suggestions: asUpdates(proposals, context.root),
  });
  if (!said) return { kind: 'cut' };
  const reason: DecisionReason = { kind: 'hook', text: said.reason ?? '', event: 'PermissionRequest' };
  if (said.decision === 'deny') {
    tell(site, { behavior: 'deny', reason });
    const text = `A PermissionRequest hook denied this ${checked.tool.name} call: ${said.reason}`;
    return { kind: 'deny', text, ...(said.interrupt ? { interrupt: true } : {}) };
  }
  const isAnswered = checked.tool.asks === 'approval' || said.input !== undefined;
  const needsAnswer = call.traits.requiresInteraction === true && (!isAnswered || call.traits.mcp);
  if (said.decision === 'allow' && !needsAnswer) {
    const verdict = await allowed(site, checked, said.input, { by: 'A PermissionRequest hook', reason, saved });
    if (verdict.kind !== 'allow' || !said.updates || site.input.known?.updated) return verdict;
    return { kind: 'update', updates: await site.files.blobs.put(JSON.stringify(said.updates)), resume: saved };
  }
  return { kind: 'ask', prompt: await question(site, checked, decision, proposals, context, state), resume: saved };
}

/** A person has answered for this very input; an edited one passes the same door again, with deny and ask rules in force. */
async function answered(
  site: Site,
  checked: Checked,
  grant: Answer,
  { led, saved }: { led: LedTo | undefined; saved: Sha },
): Promise<Verdict> {
  const { by } = grant;
  if (grant.unanswered) {
    const text = UNANSWERED[grant.unanswered](checked.tool.name);
    tell(site, { behavior: 'deny', reason: { kind: 'unanswered', text: 'Nobody answered in time.' } });
    return { kind: 'deny', text };
  }
  if (grant.behavior === 'deny') {
    tell(site, { behavior: 'deny', reason: { kind: 'person', ...(by ? { by } : {}) } });
    // What a person says may end without a full stop.
    const said = grant.message ? ` They said: ${grant.message}\n` : ' ';
    const text = `A person denied this ${checked.tool.name} call.${said}Do not try the same again; go on without it, or ask for what you need in your answer.`;
    return { kind: 'deny', text, ...(grant.interrupt ? { interrupt: true } : {}) };
  }
  const given = grant.input ? await readJson<Record<string, unknown>>(site.files.blobs, grant.input) : undefined;
  // An answer adds to what was asked; any other edited input stands in the place of the whole.
  const edited = given && checked.tool.asks ? { ...checked.raw, ...given } : given;
  const astray = led && !edited ? ledAstray(site, checked, led) : undefined;
  if (astray !== undefined) {
    tell(site, { behavior: 'deny', reason: { kind: 'safety', text: astray } });
    return { kind: 'deny', text: astray };
  }
  const reason: DecisionReason = { kind: 'person', ...(by ? { by } : {}) };
  return allowed(site, checked, edited, { by: 'A person', reason, saved });
}

/** What the model hears when a question was over before somebody had answered. */
const UNANSWERED: Record<NonNullable<Answer['unanswered']>, (tool: string) => string> = {
  deny: (tool) =>
    `Nobody answered in time whether this ${tool} call may run, so it was denied. Do not try the same again; go on without it, or say in your answer what you would have needed.`,
  'continue-without': (tool) =>
    `Nobody is there to answer this ${tool} call, and it was not run. Go on without an answer: do what can be done without it, decide by what you know, and say in your last answer what you left out or assumed.`,
};

/** Lets a call through that somebody allowed: with a changed input only what its tool accepts and no rule stops. */
async function allowed(
  site: Site,
  checked: Checked,
  edited: Record<string, unknown> | undefined,
  { by, reason, saved }: { by: string; reason: DecisionReason; saved: Sha },
): Promise<Verdict> {
  const parsed = edited ? checked.tool.input.safeParse(edited) : undefined;
  if (parsed && !parsed.success) {
    return {
      kind: 'deny',
      text: `${by} allowed this call with a changed input, but ${checked.tool.name} does not accept that input. It was not run.`,
    };
  }
  const whole: Checked = edited ? { ...checked, raw: edited, input: parsed!.data } : checked;
  const { call, context } = factsOf(site, whole);
  const objection = stillAllowed(call, site.rules, context, { edited: edited !== undefined });
  if (objection) {
    tell(site, objection);
    return { kind: 'deny', text: `${by} allowed this call, but it may not run: ${reasonText(objection)}` };
  }
  tell(site, { behavior: 'allow', reason }, whole);
  return { kind: 'allow', resume: saved, ...(edited ? { input: edited } : {}) };
}

async function question(
  site: Site,
  checked: Checked,
  decision: Decision,
  proposals: string[],
  context: PermissionContext,
  state: Resume,
): Promise<Prompt> {
  const { files, hosts, place, use } = site;
  const { tool, input, raw } = checked;
  const body: PromptBody = {
    tool: tool.name,
    input: raw,
    reason: reasonText(decision),
    suggestions: proposals,
    cwd: context.cwd,
    root: context.root,
  };
  const key = `${place.turn}/${place.step}.${place.index}/${state.inputHash.slice(0, 8)}`;
  files.events.write({
    at: hosts.now(),
    kind: 'call.asked',
    ...at(place),
    key,
    text: body.reason,
    suggestions: body.suggestions,
  });
  await files.events.flush();
  return {
    key,
    call: use.id,
    asker: place.workflowId,
    inputHash: state.inputHash,
    tool: tool.name,
    brief: clipBytes(tool.brief(input), 200),
    body: await files.blobs.put(JSON.stringify(body)),
    since: state.since,
  };
}

/** Puts a decision on record. The model's own input is there already; what runs in its place is told too. */
function tell({ files, hosts, place, use }: Site, decision: Decision, ran?: Checked): void {
  const instead = ran && decision.behavior === 'allow' ? replacedBy(use.input, ran) : undefined;
  const { behavior, reason } = decision;
  files.events.write({
    at: hosts.now(),
    kind: 'call.decided',
    ...at(place),
    behavior,
    reason,
    text: `${reasonText(decision)}${instead ? ` It ran with this input instead: ${instead}` : ''}`,
  });
}
