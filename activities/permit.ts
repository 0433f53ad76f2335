import { clipBytes } from '../src/core/preview.ts';
import type { Access } from '../src/core/ports.ts';
import type { CallTraits, CheckedCall, PermissionContext } from '../src/permissions/call.ts';
import { decide, reasonText, stillAllowed } from '../src/permissions/chain.ts';
import { suggestions } from '../src/permissions/suggestions.ts';
import type { Decision } from '../src/shapes/permission.ts';
import type { Answer, Prompt, PromptBody } from '../src/shapes/prompt.ts';
import type { Sha } from '../src/shapes/ids.ts';
import { at, type Checked, type Site } from './site.ts';
import { readJson } from './read-blob.ts';

/** What an earlier pass of the call came to, so that no stage runs twice. */
export type Resume = { raw: Record<string, unknown>; inputHash: Sha; since: number };

export type Verdict =
  /** `input`: a person changed it. `resume`: what the next pass starts from. */
  | { kind: 'allow'; input?: Record<string, unknown>; resume: Sha }
  | { kind: 'ask'; prompt: Prompt; resume: Sha }
  | { kind: 'deny'; text: string; interrupt?: boolean };

export async function readResume({ input, files }: Site): Promise<Resume | undefined> {
  return input.known?.resume ? readJson<Resume>(files.blobs, input.known.resume) : undefined;
}

/** Stage 6: the permission chain, a person's answer, or the question. */
export async function decideCall(site: Site, checked: Checked, resume: Resume | undefined): Promise<Verdict> {
  const { files, hosts, place, input } = site;
  const inputHash = hosts.sha(JSON.stringify(checked.raw));
  const grant = input.known?.grant;
  const state: Resume = { raw: checked.raw, inputHash, since: resume?.since ?? place.at };
  const saved = await files.blobs.put(JSON.stringify(state));
  if (grant && resume?.inputHash === inputHash) return answered(site, checked, grant, saved);

  const { call, context } = facts(site, checked);
  const decision = decide(call, site.rules, context);
  tell(site, decision);
  switch (decision.behavior) {
    case 'allow':
      return { kind: 'allow', resume: saved };
    case 'deny':
      return { kind: 'deny', text: `Permission to use ${checked.tool.name} was denied: ${reasonText(decision)}` };
    case 'ask':
      return { kind: 'ask', prompt: await question(site, checked, decision, call, context, state), resume: saved };
  }
}

/** A person has answered for this very input; an edited one passes the same door again, with deny and ask rules in force. */
async function answered(site: Site, checked: Checked, grant: Answer, saved: Sha): Promise<Verdict> {
  const { by } = grant;
  if (grant.behavior === 'deny') {
    tell(site, { behavior: 'deny', reason: { kind: 'person', ...(by ? { by } : {}) } });
    const said = grant.message ? ` They said: ${grant.message}` : '';
    const text = `A person denied this ${checked.tool.name} call.${said} Do not try the same again; go on without it, or ask for what you need in your answer.`;
    return { kind: 'deny', text, ...(grant.interrupt ? { interrupt: true } : {}) };
  }
  const edited = grant.input ? await readJson<Record<string, unknown>>(site.files.blobs, grant.input) : undefined;
  const parsed = edited ? checked.tool.input.safeParse(edited) : undefined;
  if (parsed && !parsed.success) {
    return {
      kind: 'deny',
      text: `A person allowed this call with a changed input, but ${checked.tool.name} does not accept that input. It was not run.`,
    };
  }
  const asked: Checked = edited ? { ...checked, raw: edited, input: parsed!.data } : checked;
  const { call, context } = facts(site, asked);
  const objection = stillAllowed(call, site.rules, context, { edited: edited !== undefined });
  if (objection) {
    tell(site, objection);
    return { kind: 'deny', text: `A person allowed this call, but it may not run: ${reasonText(objection)}` };
  }
  tell(site, { behavior: 'allow', reason: { kind: 'person', ...(by ? { by } : {}) } });
  return { kind: 'allow', resume: saved, ...(edited ? { input: edited } : {}) };
}

async function question(
  site: Site,
  checked: Checked,
  decision: Decision,
  call: CheckedCall,
  context: PermissionContext,
  state: Resume,
): Promise<Prompt> {
  const { files, hosts, place, use } = site;
  const { tool, input, raw } = checked;
  const body: PromptBody = {
    tool: tool.name,
    input: raw,
    reason: reasonText(decision),
    suggestions: suggestions(call, context),
    cwd: context.cwd,
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

function tell({ files, hosts, place }: Site, decision: Decision): void {
  const { behavior, reason } = decision;
  files.events.write({
    at: hosts.now(),
    kind: 'call.decided',
    ...at(place),
    behavior,
    reason,
    text: reasonText(decision),
  });
}

function facts(
  { hosts, agent, input, files }: Site,
  { tool, input: parsed, raw }: Checked,
): { call: CheckedCall; context: PermissionContext } {
  const cwd = input.ctx.cwd ?? agent.dir;
  return {
    call: { tool: tool.name, aliases: tool.aliases, input: raw, traits: traitsOf(tool.access(parsed, cwd)) },
    context: {
      cwd,
      root: agent.dir,
      home: hosts.userHome,
      nightshiftHome: hosts.home,
      readable: [`${files.dir}/tool-results`],
      ...(input.ctx.mode ? { mode: input.ctx.mode } : {}),
      resolve: (path) => ({ path, real: hosts.files.real(path) }),
    },
  };
}

function traitsOf(access: Access): CallTraits {
  switch (access.kind) {
    case 'read':
    case 'search':
    case 'edit':
      return {
        access: access.kind === 'edit' ? 'edit' : 'read',
        paths: access.paths.map((path) => ({ path, use: access.kind })),
      };
    case 'bash':
      return { access: 'bash', paths: [], command: access.command };
    case 'fetch':
      return { access: 'fetch', paths: [], url: access.url };
    case 'other':
    case 'none':
      return { access: access.kind, paths: [] };
  }
}
