import { callDir } from '../src/core/paths.ts';
import type { Hosts } from '../src/core/hosts.ts';
import type { JobFiles, OwnedCall, Shell } from '../src/core/ports.ts';
import { pathTrouble } from '../src/core/path-trouble.ts';
import { isLost } from '../src/core/store-error.ts';
import type { ToolInput, ToolResult } from '../src/shapes/call.ts';
import type { Agent } from '../src/shapes/job.ts';
import type { Rules } from '../src/shapes/permission.ts';
import type { ToolUseBlock } from '../src/shapes/message.ts';
import { alive, type Life } from './alive.ts';
import { runCall } from './call-runner.ts';
import { exhaustedCall } from './exhausted-call.ts';
import { isForgotten } from './is-forgotten.ts';
import { leaveShell } from './leave-shell.ts';
import { failedCall, settled } from './map-result.ts';
import { turnPlace } from './place.ts';
import { readShared } from './read-blob.ts';
import { costOfLostLook } from './second-look.ts';
import { loadSeen } from './seen.ts';
import type { Site } from './site.ts';

/**
 * One pass of one call. It never takes a call from a living owner: it joins one in this process, waits for one in
 * another, and takes over from a dead one. One that waits for a command gives the call back when its worker stops. It
 * fails only for reasons that lie outside the call.
 */
export async function runTool(hosts: Hosts, input: ToolInput): Promise<ToolResult> {
  const place = { ...turnPlace(), step: input.step, index: input.call.index };
  return alive(hosts, async (life) => {
    const files = await hosts.job(place.job);
    const key = callDir(place.turn, place.step, place.index);
    const forgotten = await isForgotten(hosts, files, place);
    const ownership = await files.ledger.own(key, AbortSignal.any([life.cancelled, life.leave]));
    switch (ownership.kind) {
      case 'done':
      case 'joined':
        return (await ownership.result) as ToolResult;
      case 'exhausted': {
        const agent = await readShared<Agent>(files.blobs, input.agent);
        const spent = await costOfLostLook({ hosts, files, place, agent });
        return { kind: 'done', done: await exhaustedCall({ files, place, hosts }, ownership.owners), spent };
      }
      case 'owned': {
        const { call } = ownership;
        const { shell, left } = leaveShell(hosts.shell, life.leave);
        try {
          const site = await siteOf(await withPast(call, forgotten), files, life, shell);
          const ended = runCall(site)
            .catch((error: unknown) => brokenCall(site, error))
            .then((result) => withLook(site, result));
          return await Promise.race([ended, left]);
        } finally {
          await call.release();
        }
      }
    }
  });

  async function siteOf(call: OwnedCall, files: JobFiles, life: Life, shell: Shell): Promise<Site> {
    const agent = await readShared<Agent>(files.blobs, input.agent);
    const rules = await readShared<Rules>(files.blobs, input.rules);
    const { message } = await files.transcript.read(input.reply);
    const use = message.content.filter((block): block is ToolUseBlock => block.type === 'tool_use')[place.index]!;
    return {
      hosts: { ...hosts, shell },
      files,
      agent,
      rules,
      use,
      input,
      place,
      life,
      call,
      seen: await loadSeen(files.blobs, input.ctx),
    };
  }
}

/** A claim that stands for whatever the call did before its record was removed. */
const FORGOTTEN = { forgotten: true };

/** A forgotten call stays one, also for the pass that follows should this one not come to its end. */
async function withPast(call: OwnedCall, forgotten: boolean): Promise<OwnedCall> {
  const { claim } = call.previous ?? {};
  const isKnown = (claim as Partial<typeof FORGOTTEN> | undefined)?.forgotten === true;
  if (!forgotten && !isKnown) return call;
  if (!isKnown) await call.claim(FORGOTTEN);
  return { ...call, previous: { owners: call.owners, corrupt: true } };
}

/**
 * What can't be found again does not come back by trying again, and a path that can't be looked at is for the model to
 * mend; every other error may be over with the next try.
 */
async function brokenCall(site: Site, error: unknown): Promise<ToolResult> {
  if (isLost(error)) return { kind: 'done', done: { dropped: { reason: 'broken', text: error.message } } };
  const { path } = error as { path?: unknown };
  // What is below the home is no path of the model's.
  const isForeign = typeof path === 'string' && !path.startsWith(`${site.hosts.home}/`);
  const trouble = isForeign ? pathTrouble(error, path) : undefined;
  if (trouble === undefined) throw error;
  return settled(site, await failedCall(site, trouble));
}

/** A pass that goes on later pays now for what a model was asked about it; the end of a call has its cost in it. */
async function withLook(site: Site, result: ToolResult): Promise<ToolResult> {
  const spent = (await site.look?.end()) ?? 0;
  return result.kind === 'done' || spent === 0 ? result : { ...result, spent };
}
