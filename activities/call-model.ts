import { join } from 'node:path';
import { isSafe } from '../src/core/classify.ts';
import { spoolDir } from '../src/core/paths.ts';
import type { Hosts } from '../src/core/hosts.ts';
import type { JobFiles, ModelOutcome } from '../src/core/ports.ts';
import { clipBytes } from '../src/core/preview.ts';
import { callIds, uniqueCalls } from '../src/core/rename-calls.ts';
import { isLost } from '../src/core/store-error.ts';
import { fold } from '../src/core/transcript.ts';
import type { CallRef, Ctx, Note } from '../src/shapes/call.ts';
import type { Sha } from '../src/shapes/ids.ts';
import type { Agent } from '../src/shapes/job.ts';
import type { Block, ToolUseBlock } from '../src/shapes/message.ts';
import type { ModelInput, ModelRequest, ModelResult, Reply } from '../src/shapes/model.ts';
import { alive, type Life } from './alive.ts';
import { liveText } from './live-text.ts';
import { turnPlace, type TurnPlace } from './place.ts';
import { readShared, readText } from './read-blob.ts';
import { sealStep } from './seal-step.ts';
import { isSilenced, stopFailureHooks, stopHooks, submittedNotes } from './turn-hooks.ts';

const CUT_TEXT =
  'Your last reply was cut off at the output limit. Go on exactly where it stopped, without repeating what you said; ask for smaller pieces of work at a time.';

/** One model call: seals what came before, asks, and puts the reply on record. Trouble with the API is a result, never an error. */
export async function callModel(hosts: Hosts, input: ModelInput): Promise<ModelResult> {
  const place = { ...turnPlace(), step: input.step };
  return alive(hosts, (life) => ask(life).catch(unlessLost));

  async function ask(life: Life): Promise<ModelResult> {
    const files = await hosts.job(place.job);
    const agent = await readShared<Agent>(files.blobs, input.agent);
    const where = { place, input, signal: life.cancelled };
    const submitted = await submittedNotes({ hosts, files, agent }, where);
    if (isSilenced(submitted, input)) return silenced(files, input, place, submitted.refused);
    const sealed = await sealStep(files, {
      head: input.head,
      ...(input.results ? { results: input.results } : {}),
      notes: submitted.notes,
      ctx: input.ctx,
      place,
      lead: leadOf(input, agent),
    });
    await announce(files, input, place);
    await announceMessages(files, submitted.notes, place);
    if (submitted.stop !== undefined) {
      return { ...baseOf(sealed, 0), kind: 'stopped', why: 'hook', text: submitted.stop };
    }
    const request = await requestOf(files, agent, sealed.head);
    const outcome = await send({ hosts, files, agent, request, input, place, life });
    await files.events.flush();
    return resultOf({ hosts, files, agent, input, place, life, sealed, outcome });
  }

  /** What is lost does not come back by trying again: the turn ends, and says what is lost. */
  function unlessLost(error: unknown): ModelResult {
    if (!isLost(error)) throw error;
    return { kind: 'failed', error: error.message, head: input.head, spent: 0 };
  }
}

/** A hook kept back all that there was to say: the answer that the turn had stands, else it ends. */
async function silenced(files: JobFiles, input: ModelInput, place: StepPlace, why = ''): Promise<ModelResult> {
  await announce(files, input, place);
  const base = baseOf(input, 0);
  if (input.step === 1 || input.head === null) return { ...base, kind: 'stopped', why: 'hook', text: why };
  const { message } = await files.transcript.read(input.head);
  return { ...base, kind: 'answer', brief: clipBytes(spokenText(message.content), 200) };
}

type StepPlace = TurnPlace & { step: number };
type Asking = {
  hosts: Hosts;
  files: JobFiles;
  agent: Agent;
  request: ModelRequest;
  input: ModelInput;
  place: StepPlace;
  life: Life;
};

function leadOf(input: ModelInput, agent: Agent): Block[] {
  if (input.head === null && agent.memory !== '') return [{ type: 'text', text: agent.memory }];
  return input.after === 'max_tokens' ? [{ type: 'text', text: CUT_TEXT }] : [];
}

async function announce({ blobs, events }: JobFiles, input: ModelInput, { turn, at }: StepPlace): Promise<void> {
  if (input.step > 1 || !input.append) return;
  const inputs = await Promise.all(
    input.append.map(async ({ kind, body }) =>
      kind === 'prompt' || kind === 'message' ? clipBytes(await readText(blobs, body), 200) : kind,
    ),
  );
  events.write({ at, kind: 'turn.started', turn, input: inputs.join('\n') });
}

/** What people wrote into the running turn; the first step's notes are what its turn is about. */
async function announceMessages(
  { blobs, events }: JobFiles,
  notes: Note[],
  { turn, step, at }: StepPlace,
): Promise<void> {
  for (const { id, kind, body } of step > 1 ? notes : []) {
    if (kind !== 'prompt' && kind !== 'message') continue;
    events.write({ at, kind: 'message.taken', turn, step, id, text: clipBytes(await readText(blobs, body), 200) });
  }
}

async function requestOf(files: JobFiles, agent: Agent, head: Sha | null): Promise<ModelRequest> {
  const { messages } = fold(await files.transcript.load(head));
  const { model, maxTokens, system, tools } = agent;
  return { model, maxTokens, system, tools, messages };
}

async function send({ hosts, files, agent, request, input, place, life }: Asking): Promise<ModelOutcome> {
  const { turn, step } = place;
  const text = liveText(hosts, (chunk, thinking) => {
    const said = { at: hosts.now(), kind: 'model.text' as const, turn, step, text: chunk };
    files.events.write(thinking ? { ...said, thinking } : said);
    life.say(chunk);
  });
  try {
    return await hosts.model.request(request, {
      purse: input.purse,
      signal: life.cancelled,
      spool: join(files.dir, spoolDir(turn, step, input.try ?? 0)),
      asking: place.asking,
      prices: agent.prices,
      onText: text.add,
      onActivity: () => undefined,
      onAttempt: (attempt) => files.events.write({ at: hosts.now(), kind: 'model.started', turn, step, attempt }),
    });
  } finally {
    text.end();
  }
}

type Answered = {
  hosts: Hosts;
  files: JobFiles;
  agent: Agent;
  input: ModelInput;
  place: StepPlace;
  life: Life;
  sealed: { head: Sha | null; ctx: Ctx };
  outcome: ModelOutcome;
};

async function resultOf(asked: Answered): Promise<ModelResult> {
  const { hosts, files, place, sealed, outcome } = asked;
  const { turn, step } = place;
  const { spent } = outcome;
  const base = baseOf(sealed, spent);
  const failed = (error: string, until: number | null): void =>
    files.events.write({ at: hosts.now(), kind: 'model.failed', turn, step, error, until, spent });
  switch (outcome.kind) {
    case 'reply':
      return recordReply(asked, outcome.reply, base);
    case 'wait':
      failed(outcome.text, outcome.until);
      return { ...base, kind: 'wait', until: outcome.until, why: outcome.why, text: outcome.text.slice(0, 200) };
    case 'too_long':
      failed(outcome.text, null);
      await stopFailureHooks(asked, whereOf(asked), outcome.text);
      return { ...base, kind: 'too_long', text: outcome.text };
    case 'failed':
      failed(outcome.error, null);
      await stopFailureHooks(asked, whereOf(asked), outcome.error);
      return { ...base, kind: 'failed', error: outcome.error };
    case 'over_budget':
      return { ...base, kind: 'over_budget', need: outcome.need };
    case 'cancelled':
      return { ...base, kind: 'cancelled' };
  }
}

type Base = { spent: number; head: Sha | null; files?: Sha };

const baseOf = ({ head, ctx }: { head: Sha | null; ctx: Ctx }, spent: number): Base => ({
  spent,
  head,
  ...(ctx.files ? { files: ctx.files } : {}),
});

const whereOf = ({ place, input, life }: Answered) => ({ place, input, signal: life.cancelled });

const spokenText = (content: Block[]): string =>
  content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');

/** Puts a finished reply into the transcript and says what it asks for. */
async function recordReply(asked: Answered, reply: Reply, base: Base): Promise<ModelResult> {
  const { hosts, files, place, sealed, agent } = asked;
  const { turn, step, at } = place;
  const nodes = await files.transcript.load(sealed.head);
  const content = uniqueCalls(reply.content, callIds(nodes.map((node) => node.message)));
  const uses = content.filter((block): block is ToolUseBlock => block.type === 'tool_use');
  const text = spokenText(content);
  const calls = uses.map((use, index) => refOf(hosts, use, index));
  files.events.write({
    at: hosts.now(),
    kind: 'model.ended',
    turn,
    step,
    text,
    calls: uses.map((use, index) => ({
      index,
      id: use.id,
      name: use.name,
      brief: briefOf(hosts, use),
      safe: calls[index]!.safe,
      input: use.input,
    })),
    stop: reply.stop,
    usage: reply.usage,
    spent: base.spent,
    ...(reply.cut ? { cut: true as const } : {}),
  });
  await files.events.flush();
  if (reply.stop === 'refusal')
    return { ...base, kind: 'stopped', why: 'refusal', ...(text ? { text: clipBytes(text, 500) } : {}) };
  if (content.length === 0) return emptyReply(reply, base);
  const spent = hosts.model.cost(reply.model, reply.usage, at, agent.prices) ?? 0;
  const meta = {
    at,
    turn,
    step,
    model: reply.model,
    usage: reply.usage,
    spent,
    ...(reply.stop ? { stop: reply.stop } : {}),
  };
  const head = await files.transcript.append(sealed.head, { role: 'assistant', content }, meta);
  if (calls.length > 0) {
    const same = hosts.sha(JSON.stringify(uses.map(({ name, input }) => [name, input]))).slice(0, 8);
    return { ...base, head, kind: 'calls', calls, same, ...(reply.cut ? { cut: true as const } : {}) };
  }
  if (reply.stop === 'pause_turn' || reply.stop === 'max_tokens')
    return { ...base, head, kind: 'again', why: reply.stop };
  const verdict = await stopHooks(asked, whereOf(asked), text);
  if (!verdict) return { ...base, head, kind: 'cancelled' };
  if (verdict.kind === 'goes_on') return { ...base, head, kind: 'again', why: 'stop_hook', note: verdict.note };
  return { ...base, head, kind: 'answer', brief: clipBytes(text, 200) };
}

/** A reply of which nothing can be kept: cut in its thinking, or nothing said at all. */
function emptyReply(reply: Reply, base: Base): ModelResult {
  if (reply.stop === 'max_tokens') return { ...base, kind: 'again', why: 'max_tokens' };
  return { ...base, kind: 'failed', error: `The model answered nothing (stop reason ${reply.stop ?? 'none'}).` };
}

function refOf(hosts: Hosts, use: ToolUseBlock, index: number): CallRef {
  const tool = hosts.registry.get(use.name);
  return {
    id: use.id,
    index,
    name: use.name,
    safe: isSafe(tool, use.input),
    interrupt: tool?.interrupt ?? 'cancel',
    runs: tool?.runs ?? 'host',
  };
}

/** What a call is about, for people: as the tool says it, or its input as it came. */
function briefOf(hosts: Hosts, use: ToolUseBlock): string {
  const tool = hosts.registry.get(use.name);
  const parsed = tool?.input.safeParse(use.input);
  return clipBytes(tool && parsed?.success ? tool.brief(parsed.data) : JSON.stringify(use.input), 200);
}
