import type { Hosts } from '../src/core/hosts.ts';
import type { Sha } from '../src/shapes/ids.ts';
import type { Agent } from '../src/shapes/job.ts';
import type { Rules } from '../src/shapes/permission.ts';
import type { OpenPrompt, PromptBody } from '../src/shapes/prompt.ts';
import { alive } from './alive.ts';
import { jobPlace } from './place.ts';
import { readJson, readShared } from './read-blob.ts';

/** `add`: the rules a person gave; without them, what the prompt suggested. */
export type SaveRuleInput = { agent: Sha; rules: Sha; prompt: OpenPrompt; add?: string[] };

/** Keeps what a person allowed in the workspace's own settings, for later jobs. Doing it again changes nothing. */
export async function saveRule(hosts: Hosts, { agent, rules, prompt, add }: SaveRuleInput): Promise<void> {
  const { job } = jobPlace();
  await alive(hosts, async () => {
    const { blobs, events } = await hosts.job(job);
    const { dir } = await readShared<Agent>(blobs, agent);
    const wanted = add ?? (await readJson<PromptBody>(blobs, prompt.body)).suggestions;
    const { trusted } = await readShared<Rules>(blobs, rules);
    const saved = await hosts.saveRules(dir, wanted);
    const text = saved.kind === 'refused' ? saved.why : trusted ? undefined : UNTRUSTED;
    events.write({
      at: hosts.now(),
      kind: 'rules.saved',
      id: prompt.id,
      file: saved.file,
      rules: saved.kind === 'saved' ? wanted : [],
      ...(text === undefined ? {} : { text }),
    });
    await events.flush();
  });
}

const UNTRUSTED = 'They count once the folder is trusted: nightshift trust';
