import { z } from 'zod';
import { clipBytes } from '../src/core/preview.ts';
import type { Hosts } from '../src/core/hosts.ts';
import { applyUpdate, type Updating } from '../src/permissions/updates.ts';
import type { CallPlace } from '../src/shapes/event.ts';
import type { HookUpdates } from '../src/shapes/hook.ts';
import type { Sha } from '../src/shapes/ids.ts';
import type { Agent, JobConfig } from '../src/shapes/job.ts';
import type { Mode, Rules } from '../src/shapes/permission.ts';
import { PermissionUpdate } from '../src/shapes/permission-update.ts';
import { alive } from './alive.ts';
import { jobPlace } from './place.ts';
import { readJson, readShared } from './read-blob.ts';

/** `updates`: blob of `HookUpdates[]`; the place is that of the call whose hooks they are. */
export type UpdatePermissionsInput = { agent: Sha; rules: Sha; config: Sha; updates: Sha } & CallPlace;
export type UpdatedPermissions = { sha: Sha; mode?: Mode };

/** Bytes of what watchers are told of the changes of one hook. */
const TOLD = 1_000;
const UNTRUSTED = 'what stands in the settings of the folder counts once it is trusted: nightshift trust';

/**
 * Changes a job's permissions as the hooks want that allowed a call, entry by entry: what can't be done is told and the
 * rest is done. From the same rules it comes to the same, so doing it again changes nothing.
 */
export async function updatePermissions(
  hosts: Hosts,
  { agent, rules: before, config, updates, turn, step, index }: UpdatePermissionsInput,
): Promise<UpdatedPermissions> {
  const { job, at } = jobPlace();
  return alive(hosts, async () => {
    const { blobs, events } = await hosts.job(job);
    const { dir } = await readShared<Agent>(blobs, agent);
    const started = (await readJson<JobConfig>(blobs, config)).rules.mode;
    const base = { root: dir, home: hosts.userHome, bypass: started === 'bypassPermissions' };
    let rules = await readJson<Rules>(blobs, before);
    let mode: Mode | undefined;
    for (const { by, entries } of await readJson<HookUpdates[]>(blobs, updates)) {
      const made = await change(hosts, rules, entries, { ...base, by });
      rules = made.rules;
      mode = made.mode ?? mode;
      const lines = [...made.done, ...made.problems.map((why) => `not done: ${why}`)];
      events.write({
        at,
        kind: 'hook.ended',
        turn,
        step,
        index,
        event: 'PermissionRequest',
        hook: by,
        status: made.problems.length > 0 ? 'error' : 'ok',
        ms: 0,
        text: clipBytes(lines.join('; ') || 'it changes nothing', TOLD),
      });
    }
    await events.flush();
    return { sha: await blobs.put(JSON.stringify(rules)), ...(mode ? { mode } : {}) };
  });
}

type Changed = { rules: Rules; mode?: Mode; done: string[]; problems: string[] };

async function change(hosts: Hosts, before: Rules, entries: readonly unknown[], updating: Updating): Promise<Changed> {
  const changed: Changed = { rules: before, done: [], problems: [] };
  for (const [n, entry] of entries.entries()) {
    const read = PermissionUpdate.safeParse(entry);
    if (!read.success) {
      changed.problems.push(`entry ${n + 1} of updatedPermissions: ${z.prettifyError(read.error)}`);
      continue;
    }
    const { data: update } = read;
    const { rules, mode, keep, said, problems } = applyUpdate(changed.rules, update, updating);
    changed.rules = rules;
    if (mode) changed.mode = mode;
    if (said !== undefined) changed.done.push(said);
    changed.problems.push(...problems);
    if (!keep || update.destination === 'session') continue;
    const saved = await hosts.changeSettings(updating.root, update.destination, [keep]);
    if (saved.kind === 'refused') changed.problems.push(`${saved.file} stays as it is: ${saved.why}`);
    else if (!rules.trusted && update.destination !== 'userSettings') changed.problems.push(UNTRUSTED);
  }
  return changed;
}
