import { join } from 'node:path';
import type { LoggedRequest } from '../../src/app/model-server/request-log.ts';
import type { JobStatus } from '../../src/shapes/job.ts';
import type { Message, ToolResultBlock } from '../../src/shapes/message.ts';
import { complaints } from '../support/pairing.ts';
import type { Rig } from '../support/rig.ts';
import { billed, paidTwice } from './money.ts';
import { leftovers } from './processes.ts';
import type { Workload } from './workloads.ts';

/** What became of a job that was killed: how many effects are there once, and everything that must not be. */
export type Verdict = {
  once: number;
  /** Effects of which the model was told that nobody knows whether they happened. */
  unknown: number;
  /** Effects that did not happen, and the model was told so. */
  undone: number;
  doubled: string[];
  /** The model was told that it happened, and it did not. */
  lost: string[];
  paidTwice: string[];
  /** Refused requests, unpaired results, processes left behind, wrong ends, broken histories. */
  wrong: string[];
};

export type Expected = {
  dir: string;
  status: JobStatus;
  /** The model requests of this job, where they can be told apart from those of others. */
  requests?: readonly LoggedRequest[];
};

const isUnknown = (text: string): boolean =>
  /outcome of this .* is unknown|may have acted|if it had begun|died \d+ times/.test(text);

/** Looks at everything that a job leaves behind once it has settled; rejects when it does not settle. */
export async function judge(rig: Rig, id: string, workload: Workload, expected: Expected): Promise<Verdict> {
  const info = await rig.settled(id);
  const verdict: Verdict = { once: 0, unknown: 0, undone: 0, doubled: [], lost: [], paidTwice: [], wrong: [] };
  if (info.status !== expected.status) {
    verdict.wrong.push(`it ended ${info.status}, not ${expected.status}: ${info.text ?? ''}`);
  }
  const messages = await rig.messages(id);
  verdict.wrong.push(...complaints(messages), ...refusals(expected.requests ?? rig.model.requests()));
  judgeCalls(workload, expected.dir, messages, verdict);
  verdict.wrong.push(...(await leftovers(id)).map((process) => `left running: ${process}`));
  verdict.wrong.push(...(await brokenHistories(rig, id)));
  verdict.paidTwice.push(...paidTwice(join(rig.home.jobs, id)));
  const { state } = await rig.record(id);
  if (expected.requests) {
    const owed = billed(expected.requests);
    if (owed > state.spent) verdict.wrong.push(`the server bills ${owed} micro-dollars, the job counts ${state.spent}`);
  }
  return verdict;
}

/** Whether anything is there that must not be. */
export function faults({ doubled, lost, paidTwice, wrong }: Verdict): string[] {
  const say = (what: string, list: string[]): string[] => list.map((one) => `${what}: ${one}`);
  return [...say('doubled', doubled), ...say('lost', lost), ...say('paid twice', paidTwice), ...wrong];
}

function judgeCalls(
  { effects, reads = [], tasks = [] }: Workload,
  dir: string,
  messages: Message[],
  verdict: Verdict,
): void {
  const results = new Map(messages.flatMap(resultsOf).map((result) => [result.tool_use_id, result]));
  for (const { call, what, times } of effects) {
    const result = results.get(call);
    const n = times(dir);
    if (n > 1) verdict.doubled.push(`${what}, ${n} times`);
    else if (result === undefined) {
      if (n > 0) verdict.doubled.push(`${what}, by a call that is on no record`);
    } else if (isUnknown(contentOf(result))) verdict.unknown += 1;
    else if (n === 1 && !result.is_error) verdict.once += 1;
    else if (n === 0 && result.is_error) verdict.undone += 1;
    else if (n === 0) verdict.lost.push(what);
    else verdict.wrong.push(`${what} is there, but the model was told: ${contentOf(result).slice(0, 300)}`);
  }
  const texts = messages.flatMap(({ content }) =>
    content.flatMap((block) => (block.type === 'text' ? [block.text] : [])),
  );
  for (const task of tasks) {
    const n = texts.filter((text) => text.includes(`<task-id>${task}</task-id>`)).length;
    if (n !== 1) verdict.wrong.push(`the end of ${task} was told ${n} times`);
  }
  for (const call of reads) {
    // A reply that was cut is kept up to its last complete call: what came after was never asked for.
    const result = results.get(call);
    if (result?.is_error) verdict.wrong.push(`${call} was to succeed: ${contentOf(result).slice(0, 300)}`);
  }
}

const resultsOf = (message: Message): ToolResultBlock[] =>
  message.content.filter((block): block is ToolResultBlock => block.type === 'tool_result');

const contentOf = ({ content }: ToolResultBlock): string =>
  typeof content === 'string' ? content : content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');

const refusals = (requests: readonly LoggedRequest[]): string[] =>
  requests.flatMap(({ refused }) => (refused === undefined ? [] : [`refused: ${refused}`]));

/** Workflow tasks that failed: code that does not replay, or that throws. A job with one of these hangs sooner or later. */
async function brokenHistories(rig: Rig, id: string): Promise<string[]> {
  const found: string[] = [];
  const query = `WorkflowId = '${id}' OR WorkflowId STARTS_WITH '${id}/'`;
  for await (const { workflowId, runId } of rig.temporal.workflow.list({ query })) {
    const { events } = await rig.temporal.workflow.getHandle(workflowId, runId).fetchHistory();
    for (const { workflowTaskFailedEventAttributes: failed } of events ?? []) {
      const message = failed?.failure?.message;
      if (failed) found.push(`a task of ${workflowId} failed (cause ${failed.cause ?? '?'}): ${message ?? ''}`);
    }
  }
  return found;
}
