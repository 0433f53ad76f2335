import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { type ResultBody, sealStep } from '../../activities/seal-step.ts';
import { byteLength } from '../core/preview.ts';
import { fold } from '../core/transcript.ts';
import type { Blobs } from '../core/ports.ts';
import { createTranscript } from '../host/transcript-store.ts';
import type { Done } from '../shapes/call.ts';
import type { Sha } from '../shapes/ids.ts';
import type { Message } from '../shapes/message.ts';
import type { OpenStep } from '../shapes/turn.ts';
import { CliError, Exit } from './cli-error.ts';
import type { JobClient } from './client.ts';
import type { JobInfo } from './job-info.ts';

/** The messages that the model would get now: with the results of a step that is not sealed yet, without writing anything. */
export async function currentTranscript(jobs: JobClient, info: JobInfo): Promise<Message[]> {
  const { head, open } = await position(jobs, info);
  const blobs = overlay(jobs.store.blobs(info.id));
  const transcript = createTranscript(blobs);
  if (head === null || open === undefined) return fold(await transcript.load(head)).messages;
  const keepResult = async (name: string): Promise<string> => join(jobs.store.dir(info.id), name);
  const place = { turn: 0, step: 0, at: 0 };
  const results = await Promise.all(
    open.calls.map(async ({ index }) => open.done[index] ?? openCall(blobs, info.prompts.find(asks(index))?.id)),
  );
  const files = { blobs, transcript, keepResult };
  const sealed = await sealStep(files, { head: open.reply, results, notes: [], ctx: {}, place });
  return fold(await transcript.load(sealed.head)).messages;
}

/** What stands in the place of a result that is still to come; `question`: the one that the call waits for. */
async function openCall(blobs: Blobs, question: string | undefined): Promise<Done> {
  const content =
    question === undefined ? 'This call has not ended yet.' : `This call waits for an answer: ${question}`;
  const body: ResultBody = { content, fixed: true };
  return { result: { body: await blobs.put(JSON.stringify(body)), bytes: byteLength(content), brief: content } };
}

/** Whether a question is that of a call of the open step, the only one that can have any; its key names the call. */
const asks =
  (index: number) =>
  ({ key }: { key: string }): boolean =>
    /^\d+\/\d+\.(\d+)\//.exec(key)?.[1] === String(index);

/** Where the conversation stands. An open job is asked, because only its workflows know. */
async function position(jobs: JobClient, info: JobInfo): Promise<{ head: Sha | null; open?: OpenStep }> {
  const { id, record } = info;
  if (record !== undefined) return { head: record.state.head };
  const view = await jobs.view(id);
  if (view === undefined) throw await unanswered(jobs, id);
  const turn = view.turn === undefined ? null : await jobs.turnView(view.turn);
  if (turn === undefined) throw await unanswered(jobs, id);
  const { head, open } = turn ?? view;
  return open === undefined ? { head } : { head, open };
}

async function unanswered(jobs: JobClient, id: string): Promise<CliError> {
  const more = `nightshift status   # what runs, and which jobs are stuck\nnightshift logs ${id}   # what happened so far needs no worker`;
  return (await jobs.hasWorker())
    ? new CliError(
        Exit.service,
        `${id} is open, and did not answer in time where it stands: its worker may be busy`,
        `nightshift transcript ${id}   # ask again\n${more}`,
      )
    : new CliError(Exit.service, `${id} is open, and no worker is up to say where it stands`, more);
}

/** Blobs that are put stay in memory. */
function overlay(below: Blobs): Blobs {
  const added = new Map<Sha, Uint8Array>();
  return {
    async put(bytes) {
      const content = Buffer.from(bytes as Uint8Array);
      const sha = createHash('sha256').update(content).digest('hex');
      added.set(sha, content);
      return sha;
    },
    get: async (sha) => added.get(sha) ?? below.get(sha),
    has: async (sha) => added.has(sha) || below.has(sha),
  };
}
