import { turnId } from '../src/core/paths.ts';
import type { Hosts } from '../src/core/hosts.ts';
import type { JobFiles } from '../src/core/ports.ts';
import { isLost } from '../src/core/store-error.ts';
import type { Sha } from '../src/shapes/ids.ts';
import type { Agent, JobEnd, JobRecord, JobState } from '../src/shapes/job.ts';
import { alive } from './alive.ts';
import { sessionEndHooks } from './job-hooks.ts';
import { jobPlace } from './place.ts';
import { readShared } from './read-blob.ts';
import { sealStep } from './seal-step.ts';

export type CloseInput = { config: Sha; end: JobEnd; state: JobState };

/** Seals what is open and writes the record: from then on the job needs no server to be known. */
export async function closeJob(hosts: Hosts, { config, end, state }: CloseInput): Promise<void> {
  const { job, at, asking } = jobPlace();
  await alive(hosts, async (life) => {
    const files = await hosts.job(job);
    // A damaged transcript must not keep a job from ending: what can't be sealed stays open in the record.
    const sealed = await sealOpenStep(files, job, state, at).catch(orIfLost(state));
    const result = sealed.answer
      ? await answerText(files, sealed.answer.node).catch(orIfLost(sealed.answer.brief))
      : '';
    const agent =
      state.agent === '' ? undefined : await readShared<Agent>(files.blobs, state.agent).catch(orIfLost(undefined));
    if (agent) {
      await sessionEndHooks({ hosts, files, agent }, { asking, signal: life.cancelled });
    }
    const record: JobRecord = {
      v: 1,
      id: job,
      config,
      ...end,
      result,
      startedAt: state.startedAt,
      endedAt: at,
      state: sealed,
    };
    await files.writeRecord(record);
    files.events.write({ at, kind: 'job.closed', ...end, spent: state.spent });
    await files.events.flush();
  });
}

/** A step that nobody will go on with gets its results now, so that the transcript is whole. */
async function sealOpenStep(files: JobFiles, job: string, state: JobState, at: number): Promise<JobState> {
  const { last } = state;
  if (!last?.open || state.head === null) return state;
  const { calls, done } = last.open;
  const place = { workflowId: turnId(job, state.turn), turn: state.turn, step: last.step, at };
  const results = calls.map((call) => done[call.index] ?? { dropped: { reason: 'user' as const } });
  const { head, ctx } = await sealStep(files, { head: state.head, results, notes: [], ctx: last.ctx, place });
  const { open: _sealed, ...rest } = last;
  return { ...state, head, last: { ...rest, head, ctx } };
}

function orIfLost<T>(instead: T): (error: unknown) => T {
  return (error) => {
    if (!isLost(error)) throw error;
    return instead;
  };
}

/** The text of an answer. */
export async function answerText(files: JobFiles, node: Sha): Promise<string> {
  const { message } = await files.transcript.read(node);
  return message.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}
