import { callDir } from '../src/core/paths.ts';
import type { Hosts } from '../src/core/hosts.ts';
import type { JobFiles, OwnedCall, Shell } from '../src/core/ports.ts';
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
          const previous = { owners: call.owners, corrupt: true as const };
          const site = await siteOf(forgotten ? { ...call, previous } : call, files, life, shell);
          const ended = runCall(site).then(
            (result) => withLook(site, result),
            (error: unknown) => withLook(site, lostCall(error)),
          );
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

/** What can't be found again does not come back by trying again; every other error does. */
function lostCall(error: unknown): ToolResult {
  if (!isLost(error)) throw error;
  return { kind: 'done', done: { dropped: { reason: 'broken', text: error.message } } };
}

/** A pass that goes on later pays now for what a model was asked about it; the end of a call has its cost in it. */
async function withLook(site: Site, result: ToolResult): Promise<ToolResult> {
  const spent = (await site.look?.end()) ?? 0;
  return result.kind === 'done' || spent === 0 ? result : { ...result, spent };
}
