import { rungDir, rungMark } from '../src/core/paths.ts';
import type { Hosts } from '../src/core/hosts.ts';
import type { Delivery, JobFiles, OwnedCall } from '../src/core/ports.ts';
import type { Sha } from '../src/shapes/ids.ts';
import type { Agent } from '../src/shapes/job.ts';
import type { Notify } from '../src/shapes/ladder.ts';
import type { OpenPrompt, PromptBody } from '../src/shapes/prompt.ts';
import { alive } from './alive.ts';
import { jobPlace } from './place.ts';
import { readJson, readShared } from './read-blob.ts';

/** One step of the ladder for a question; `rung` counts from 0. */
export type TellPeopleInput = { agent: Sha; prompt: OpenPrompt; rung: number; notify: Notify[] };

const COMMAND_LIMIT_MS = 60_000;
const OUTPUT_LIMIT = 1 << 20;
const SAID = 300;

type Telling = { hosts: Hosts; files: JobFiles; agent: Agent; question: string; key: string; signal: AbortSignal };

/**
 * Tells people of a question that waits. Each one is told once, whatever dies meanwhile: a command runs on under its
 * supervisor and is waited for by the next owner; a webhook that a dead owner may have reached is posted again with the
 * same key.
 */
export async function tellPeople(hosts: Hosts, { agent, prompt, rung, notify }: TellPeopleInput): Promise<void> {
  const { job } = jobPlace();
  await alive(hosts, async (life) => {
    const files = await hosts.job(job);
    const body = await readJson<PromptBody>(files.blobs, prompt.body);
    const about = await readShared<Agent>(files.blobs, agent);
    const question = hosts.scrub(JSON.stringify(questionOf(job, about.dir, prompt, body)));
    await Promise.all(
      notify.map(async (to, n) => {
        const key = `${prompt.id}/${rung}.${n}`;
        const telling = { hosts, files, agent: about, question, key, signal: life.cancelled };
        const dir = rungDir(prompt.id, rung, n);
        const delivery = await once(telling, dir, (record) => deliver(telling, to, record, dir));
        if (!delivery) return;
        const { ok, text } = delivery;
        files.events.write({ at: hosts.now(), kind: 'prompt.told', id: prompt.id, rung, to: nameOf(to), ok, text });
      }),
    );
    await files.events.flush();
  });
}

/** `undefined`: somebody else told it, or every worker that tried died of it. */
async function once(
  { files, signal }: Telling,
  dir: string,
  tell: (record: OwnedCall) => Promise<Delivery>,
): Promise<Delivery | undefined> {
  const ownership = await files.ledger.own(dir, signal);
  if (ownership.kind === 'joined') await ownership.result;
  if (ownership.kind !== 'owned') return undefined;
  try {
    const delivery = await tell(ownership.call);
    await ownership.call.result(delivery);
    return delivery;
  } finally {
    await ownership.call.release();
  }
}

async function deliver(telling: Telling, to: Notify, record: OwnedCall, dir: string): Promise<Delivery> {
  const { hosts, question, key, signal } = telling;
  if ('webhook' in to) return hosts.post(to.webhook, question, { key, signal });
  return run(telling, to.command, record.dir, dir).catch((error: unknown) => ({
    ok: false,
    text: `it could not be run: ${hosts.scrub(String(error)).slice(0, SAID)}`,
  }));
}

/** Runs a command with the question as its standard input, or waits for the one that a dead owner has begun. */
async function run(
  { hosts, files, agent, question, signal }: Telling,
  command: string,
  folder: string,
  dir: string,
): Promise<Delivery> {
  const found = await hosts.shell.adopt(folder);
  if (found.kind === 'gone') return { ok: false, text: 'its process is gone, nobody knows how it ended' };
  if (found.kind === 'ended') return outcome(found.outputPath, found.exit);
  if (found.kind === 'running') return outcome(found.run.outputPath, await found.run.exit(signal));
  const input = `${folder}/question.json`;
  await hosts.files.write(input, question);
  const mark = rungMark(hosts.homeKey, files.id, dir);
  const started = await hosts.shell.start(folder, {
    command: `exec < '${input.replaceAll("'", String.raw`'\''`)}'\n${command}`,
    cwd: (await hosts.files.stat(agent.dir))?.kind === 'directory' ? agent.dir : hosts.userHome,
    env: hosts.childEnv(agent.env, mark),
    timeoutMs: COMMAND_LIMIT_MS,
    maxBytes: OUTPUT_LIMIT,
    mark,
  });
  return outcome(started.outputPath, await started.exit(signal));

  async function outcome(path: string, { code, why }: { code: number | null; why: string }): Promise<Delivery> {
    const { head } = await hosts.shell.readOutput(path, { headBytes: SAID, tailBytes: 0 });
    const how = why === 'exit' ? `it ended with code ${code ?? '?'}` : WHY_ENDED[why];
    const said = hosts.scrub(head).trim();
    return { ok: why === 'exit' && code === 0, text: said === '' ? `${how}` : `${how}: ${said}` };
  }
}

const WHY_ENDED: Readonly<Record<string, string>> = {
  deadline: `it was ended after ${COMMAND_LIMIT_MS / 1_000} s`,
  size: 'it was ended, it wrote too much',
  killed: 'it was killed',
};

/** What a command gets on its standard input, and a webhook as its body. */
function questionOf(job: string, dir: string, prompt: OpenPrompt, body: PromptBody): Record<string, unknown> {
  const { id, brief, since } = prompt;
  const { tool, input, reason, suggestions } = body;
  const commands = { allow: `nightshift allow ${id}`, deny: `nightshift deny ${id}` };
  return { id, job, dir, tool, brief, input, reason, suggestions, since: new Date(since).toISOString(), commands };
}

/** Who was told, for people: of an address only its origin, for the rest may be a secret. */
function nameOf(to: Notify): string {
  return 'command' in to ? to.command.slice(0, 100) : new URL(to.webhook).origin;
}
