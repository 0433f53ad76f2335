import { cleanContent } from '../src/core/clean.ts';
import { byteLength, clipBytes, persistedOutput, PREVIEW_BYTES } from '../src/core/preview.ts';
import { toolResultFile } from '../src/core/paths.ts';
import { scrubContent } from '../src/core/scrub.ts';
import type { Hosts } from '../src/core/hosts.ts';
import type { JobFiles } from '../src/core/ports.ts';
import type { ToolOutput } from '../src/core/tool.ts';
import type { Done, ToolResult } from '../src/shapes/call.ts';
import type { CallOutcome } from '../src/shapes/event.ts';
import type { ToolResultBlock } from '../src/shapes/message.ts';
import { withHooks } from './call-hooks.ts';
import { at, replacedBy, type CallPlace, type Checked, type Site } from './site.ts';
import { type ResultBody, textOf } from './seal-step.ts';

/** Characters of a result that any tool may put in place. */
const RESULT_LIMIT = 50_000;
type Where = { hosts: Hosts; files: JobFiles; place: CallPlace };

/** Writes the result down before the completion is sent: a later pass finds it. */
export async function settled(site: Site, end: Done): Promise<ToolResult> {
  const spent = (await site.look?.end()) ?? 0;
  const done = await withWords(site, await withHooks(site, end));
  const result: ToolResult = { kind: 'done', done: spent > 0 ? { ...done, spent: (done.spent ?? 0) + spent } : done };
  await site.call.result(result);
  return result;
}

/** What a person said when they let the call through is for the model too. A tool that asks has it in its result. */
async function withWords(site: Site, done: Done): Promise<Done> {
  const { input, use, files, hosts } = site;
  const { message, behavior } = input.known?.grant ?? {};
  if (message === undefined || behavior === 'deny' || hosts.registry.get(use.name)?.asks) return done;
  const body = await files.blobs.put(hosts.scrub(`The person who allowed this ${use.name} call said: ${message}`));
  return { ...done, notes: [...(done.notes ?? []), { id: `${use.id}.said`, kind: 'reminder', body }] };
}

/** The model sees its own input above the result: that another one ran in its place is said. */
async function changedNote({ use, files, hosts }: Site, checked: Checked): Promise<Pick<Done, 'notes'>> {
  const ran = replacedBy(use.input, checked);
  if (ran === undefined) return {};
  const text = `The input of this ${use.name} call was changed before it ran. What ran is: ${ran}`;
  return { notes: [{ id: `${use.id}.changed`, kind: 'reminder', body: await files.blobs.put(hosts.scrub(text)) }] };
}

/** What the model gets of a tool's output: cleaned, never empty, what is too large kept in a file. */
export async function doneWith(site: Site, checked: Checked, output: ToolOutput, outcome?: CallOutcome): Promise<Done> {
  const { tool } = checked;
  if (site.life.cancelled.aborted && output.isError) return cancelledCall(site, tool.name, output);
  const { files, place, hosts } = site;
  const content = cleanContent(scrubContent(output.content, hosts.scrub), tool.name);
  const limit = tool.maxChars === Infinity ? Infinity : Math.min(tool.maxChars, RESULT_LIMIT);
  const text = textOf(content);
  let body: ResultBody = { content };
  let path: string | undefined;
  if (output.spilled) {
    path = output.spilled.path;
    body = { content: persistedOutput({ bytes: output.spilled.bytes, path, head: text }) };
  } else if (text.length > limit) {
    const isText = typeof content === 'string';
    const whole = isText ? content : JSON.stringify(content, null, 1);
    path = await files.keepResult(toolResultFile(place.turn, place.step, place.index, isText ? 'txt' : 'json'), whole);
    body = { content: persistedOutput({ bytes: byteLength(whole), path, head: whole.slice(0, PREVIEW_BYTES) }) };
  }
  if (tool.maxChars === Infinity) body.fixed = true;
  const isError = output.isError === true;
  const done = await resultOf({ files, place, hosts }, body, isError, outcome ?? (isError ? 'error' : 'ok'), path);
  return {
    ...done,
    ...(await patchOf(site, output)),
    ...(await changedNote(site, checked)),
    ...(output.told === undefined ? {} : { told: output.told }),
    ...(output.failedShell && site.agent.siblingAbort === 'bash' ? { aborts: true as const } : {}),
  };
}

/** A call that ended in an error of ours, told to the model. */
export async function failedCall(where: Where, text: string, outcome: CallOutcome = 'error'): Promise<Done> {
  return resultOf(where, { content: where.hosts.scrub(text) }, true, outcome);
}

/** A call that was not let through. */
export async function deniedCall(site: Site, verdict: { text: string; interrupt?: boolean }): Promise<Done> {
  const done = await resultOf(site, { content: site.hosts.scrub(verdict.text) }, true, 'denied');
  return verdict.interrupt ? { ...done, interrupt: true } : done;
}

/** The workflow knows why it was cancelled; here is what was seen of it. */
function cancelledCall({ files, place, hosts }: Where, tool: string, output: ToolOutput): Done {
  const text = textOf(cleanContent(scrubContent(output.content, hosts.scrub), tool));
  files.events.write({
    at: hosts.now(),
    kind: 'call.ended',
    ...at(place),
    isError: true,
    outcome: 'cancelled',
    bytes: byteLength(text),
    preview: clipBytes(text, PREVIEW_BYTES),
  });
  return { dropped: { reason: 'user', text: clipBytes(text, PREVIEW_BYTES) } };
}

async function resultOf(
  { files, place, hosts }: Where,
  body: ResultBody,
  isError: boolean,
  outcome: CallOutcome,
  path?: string,
): Promise<Done> {
  const text = textOf(body.content);
  const json = JSON.stringify(body);
  const sha = await files.blobs.put(json);
  files.events.write({
    at: hosts.now(),
    kind: 'call.ended',
    ...at(place),
    isError,
    outcome,
    bytes: byteLength(text),
    preview: clipBytes(text, PREVIEW_BYTES),
    ...(path ? { path } : {}),
  });
  const brief = clipBytes(firstLine(body.content), 80);
  return { result: { body: sha, bytes: json.length, brief, ...(isError ? { isError } : {}) } };
}

async function patchOf({ files, input, agent }: Site, output: ToolOutput): Promise<Pick<Done, 'patch'>> {
  const cwd = output.cwd !== undefined && output.cwd !== (input.ctx.cwd ?? agent.dir) ? { cwd: output.cwd } : {};
  const seen =
    output.seen && Object.keys(output.seen).length > 0
      ? { files: await files.blobs.put(JSON.stringify(output.seen)) }
      : {};
  const mode = output.mode === undefined ? {} : { mode: output.mode };
  const patch = { ...cwd, ...mode, ...seen };
  return Object.keys(patch).length > 0 ? { patch } : {};
}

const firstLine = (content: ToolResultBlock['content']): string => textOf(content).split('\n', 1)[0]!.trim();
