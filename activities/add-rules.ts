import type { Hosts } from '../src/core/hosts.ts';
import { withRules } from '../src/permissions/rules.ts';
import type { Sha } from '../src/shapes/ids.ts';
import type { Rules } from '../src/shapes/permission.ts';
import type { PromptBody } from '../src/shapes/prompt.ts';
import { alive } from './alive.ts';
import { jobPlace } from './place.ts';
import { readJson } from './read-blob.ts';

/** `add`: the rules a person gave; without them, what the prompt suggested. */
export type AddRulesInput = { rules: Sha; prompt: Sha; add?: string[] };

/** The rule set with what a person allowed for the rest of this job. Unchanged when nothing could be added. */
export async function addRules(hosts: Hosts, input: AddRulesInput): Promise<{ sha: Sha }> {
  const { job } = jobPlace();
  return alive(hosts, async () => {
    const { blobs } = await hosts.job(job);
    const rules = await readJson<Rules>(blobs, input.rules);
    const body = await readJson<PromptBody>(blobs, input.prompt);
    const has = (text: string): boolean =>
      rules.allow.some((rule) => rule.text === text && rule.source.kind === 'session');
    const allow = (input.add ?? body.suggestions).filter((text) => !has(text));
    if (allow.length === 0) return { sha: input.rules };
    const wider = withRules(rules, { allow }, { kind: 'session', base: body.root });
    return { sha: await blobs.put(JSON.stringify(wider)) };
  });
}
