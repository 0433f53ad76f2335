import { hooksDir, hooksMark } from '../src/core/paths.ts';
import type { Note } from '../src/shapes/call.ts';
import type { HookVerdict } from '../src/shapes/hook.ts';
import type { OpenPrompt } from '../src/shapes/prompt.ts';
import { hookNote, type HookSite, runHooks, SILENCE } from './hook-stage.ts';

/** Names the activity, the same on every attempt, and what ends it. */
type Where = { asking: string; signal: AbortSignal };

/** Runs SessionStart hooks: what they have to say ahead of the first input, or why the job is not to begin. */
export async function sessionStartHooks(
  site: HookSite,
  { asking, signal }: Where,
  source: 'startup' | 'resume',
): Promise<{ notes: Note[]; stop?: string }> {
  const id = site.hosts.sha(asking).slice(0, 16);
  const verdict = await jobHooks(site, 'SessionStart', { name: id, about: source, signal }, { source });
  const note = await hookNote(site, `start.${id}`, [{ event: 'SessionStart', verdict }]);
  const prompts = source === 'startup' ? (verdict.prompts ?? []) : []; // a job that goes on has had its first input
  const notes: Note[] = note ? [{ ...note, kind: 'reminder' }] : [];
  for (const [n, prompt] of prompts.entries())
    notes.push({ id: `start.${id}.${n}`, kind: 'prompt', body: await site.files.blobs.put(prompt) });
  return { notes, ...(verdict.stop === undefined ? {} : { stop: verdict.stop }) };
}

/** Ends what hooks left running, then runs SessionEnd hooks; they change nothing. */
export async function sessionEndHooks(site: HookSite, { asking, signal }: Where): Promise<void> {
  const { hosts, files, agent } = site;
  if ((agent.hooks ?? []).length === 0) return;
  await hosts.hooks.kill(hooksMark(hosts.homeKey, files.id));
  const name = hosts.sha(asking).slice(0, 16);
  await jobHooks(site, 'SessionEnd', { name, about: 'other', signal }, { reason: 'other' });
}

/** Tells hooks of an open question. */
export async function notificationHooks(site: HookSite, prompt: OpenPrompt, signal: AbortSignal): Promise<void> {
  const name = prompt.id.slice(prompt.id.lastIndexOf(':') + 1);
  const about = 'permission_prompt';
  const message = `nightshift needs your permission to use ${prompt.tool}: ${prompt.brief}`;
  const fields = { message, title: 'Permission needed', notification_type: about, prompt_id: prompt.id };
  await jobHooks(site, 'Notification', { name, about, signal }, fields);
}

async function jobHooks(
  site: HookSite,
  event: 'SessionStart' | 'SessionEnd' | 'Notification',
  { name, about, signal }: { name: string; about: string; signal: AbortSignal },
  fields: Record<string, unknown>,
): Promise<HookVerdict> {
  const dir = hooksDir('', `${event}.${name}`);
  return (await runHooks(site, { event, dir, about: [about], fields, cwd: site.agent.dir, signal })) ?? SILENCE;
}
