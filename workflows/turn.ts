import {
  ActivityFailure,
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  patched,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import { askingName, parseTurnId } from '../src/core/paths.ts';
import { partition } from '../src/core/partition.ts';
import type { CallRef, Note, Reason } from '../src/shapes/call.ts';
import type { ModelResult } from '../src/shapes/model.ts';
import type { TurnInput, TurnResult, TurnState } from '../src/shapes/turn.ts';
import { dropped, runBatch } from './batch.ts';
import { waiting } from './messages.ts';
import { listen, type Box } from './listen.ts';
import { isLong } from './run-length.ts';
import { callModel, countLost, pinTo, QUIET_WAIT_MS } from './steps.ts';

/** Replies in a row that may be cut at the output limit before the turn gives up. */
const MAX_CUTS = 3;

/**
 * One agentic turn: from an input to an answer without tool use. It never continues as new: at a quiet point it returns
 * `more` with its state, and the job starts the next run under the same id.
 */
export async function turn(input: TurnInput): Promise<TurnResult> {
  const s = input.state;
  pinTo(input.host);
  const root = new CancellationScope(); // first of three scopes: turn, batch, call
  const box = listen(s, root);
  watchDeadline(input, s, root);
  while (true) {
    if (root.consideredCancelled) s.reason ??= 'user'; // the workflow itself was cancelled
    if (s.reason) return { kind: 'stopped', why: s.reason, state: s }; // an open step stays in the state: the next run, or closeJob, seals it
    if (s.rollOver || isLong(input.limits.events)) return { kind: 'more', state: s };
    const end = await root.run(() => think(input, s, box)).catch(orCancelled(s, root));
    if (end) return end;
    for (const batch of isSettled(s) ? [] : partition(s.open!.calls)) {
      await root.run(() => runBatch(batch, { input, s, box, root })).catch(orCancelled(s, root));
    }
    for (const call of s.open?.calls ?? []) s.open!.done[call.index] ??= dropped(s.reason ?? 'user');
    const stopText = Object.values(s.open?.done ?? {}).find((done) => done.stop !== undefined)?.stop;
    if (stopText !== undefined) return { kind: 'stopped', why: 'hook', text: stopText, state: s };
  }
}

/** One model call and what its result means; a value ends the turn. */
async function think(input: TurnInput, s: TurnState, box: Box): Promise<TurnResult | undefined> {
  if (s.step >= (input.limits.steps ?? Infinity)) return { kind: 'stopped', why: 'steps', state: s };
  const open = s.open;
  const told = toldBy(s);
  const append = s.inbox.filter((note) => !told.includes(note.id));
  box.model = new CancellationScope();
  const result = await box.model
    .run(() =>
      callModel({
        agent: input.agent,
        step: s.step + 1,
        ...(s.tries ? { try: s.tries } : {}),
        head: s.head,
        ...(append.length > 0 ? { append } : {}),
        ...(open ? { results: open.calls.map((call) => open.done[call.index]!) } : {}),
        ...(s.after ? { after: s.after } : {}),
        ...(s.stopBlocks === undefined ? {} : { stopBlocks: s.stopBlocks }),
        ctx: s.ctx,
        purse: s.purse,
      }),
    )
    .catch(async (error: unknown) => {
      await payLost(s, error);
      throw error;
    })
    .finally(() => {
      box.model = undefined;
    });
  take(s, append, told, result);
  switch (result.kind) {
    case 'calls':
      s.step += 1;
      s.cuts = undefined;
      if (s.stopBlocks) s.stopBlocks = 0;
      s.open = { reply: result.head!, calls: result.calls, done: {} };
      return isRepeated(s, result.same, input.limits.sameCall)
        ? { kind: 'stopped', why: 'same_call', state: sealedAs(s, 'broken') }
        : undefined;
    case 'answer':
      s.step += 1;
      s.cuts = undefined;
      if (s.inbox.length > 0) return undefined;
      return { kind: 'answer', answer: result.head!, brief: result.brief, state: s };
    case 'again':
      return result.why === 'stop_hook' ? goOn(s, result.note) : again(s, result.why);
    case 'wait':
      return pause(input, s, box, result);
    case 'over_budget':
      return { kind: 'stopped', why: 'budget', text: overBudget(result.need, s.purse), state: s };
    case 'too_long':
      return { kind: 'failed', error: result.text, state: s };
    case 'failed':
      return { kind: 'failed', error: result.error, state: s };
    case 'stopped':
      return { kind: 'stopped', why: result.why, text: result.text, state: s };
    case 'cancelled':
      return undefined; // the loop knows why
  }
}

/** A worker that died while its request was being cancelled could not say what that cost, and nobody asks again. */
async function payLost(s: TurnState, error: unknown): Promise<void> {
  if (!(error instanceof ActivityFailure) || !error.activityId) return;
  const asking = askingName(workflowInfo().runId, error.activityId);
  const { spent } = await CancellationScope.nonCancellable(() =>
    countLost({ step: s.step + 1, try: s.tries ?? 0, asking }),
  );
  s.spent += spent;
  s.purse -= spent;
}

/** Why a request was not sent; micro-dollars. */
function overBudget(need: number, left: number): string {
  const dollars = (micros: number): string => `$${(micros / 1e6).toFixed(4)}`;
  return `The next request may cost up to ${dollars(need)}, and ${dollars(Math.max(0, left))} is left.`;
}

/** Tasks of whose end the results of the open step tell, sealed with the next request: no note has to. */
function toldBy(s: TurnState): string[] {
  const told = Object.values(s.open?.done ?? {}).flatMap((done) => done.told ?? []);
  return told.length > 0 && patched('told-by-result') ? told : [];
}

/** Moves what the model now has out of the turn's hands: results, notes and what stands for them, read files, money. */
function take(s: TurnState, append: TurnState['inbox'], told: string[], result: ModelResult): void {
  s.spent += result.spent;
  s.purse -= result.spent;
  s.head = result.head;
  s.open = undefined;
  s.after = undefined;
  s.inbox = s.inbox.filter((note) => !append.includes(note) && !told.includes(note.id));
  s.taken.push(...append.map((note) => note.id), ...told);
  const { fresh: _folded, ...rest } = s.ctx;
  s.ctx = result.files ? { ...rest, files: result.files } : rest;
}

function again(s: TurnState, why: 'max_tokens' | 'pause_turn'): TurnResult | undefined {
  s.after = why;
  s.tries = (s.tries ?? 0) + 1;
  s.cuts = (s.cuts ?? 0) + 1;
  if (why === 'pause_turn' || s.cuts <= MAX_CUTS) return undefined;
  const error = `The reply was cut at the output limit ${s.cuts} times in a row. Ask for smaller pieces, or raise the limit of output tokens.`;
  return { kind: 'failed', error, state: s };
}

/** The reply stands, but a hook has something to say about it that the model has to hear. */
function goOn(s: TurnState, note: Note): undefined {
  s.step += 1;
  s.cuts = undefined;
  s.stopBlocks = (s.stopBlocks ?? 0) + 1;
  s.inbox.unshift(note);
}

/** Waits as a durable timer, or until somebody wakes it; costs nothing meanwhile. */
async function pause(
  input: TurnInput,
  s: TurnState,
  box: Box,
  wait: Extract<ModelResult, { kind: 'wait' }>,
): Promise<undefined> {
  const over = (): boolean => s.reason !== undefined || box.woken || s.rollOver === true;
  box.woken = false;
  const ms = wait.until === null ? null : Math.max(1, wait.until - Date.now());
  const isTold = ms === null || ms > QUIET_WAIT_MS;
  const { why, until, text } = wait;
  const job = getExternalWorkflowHandle(parseTurnId(workflowInfo().workflowId).job);
  if (isTold) await job.signal(waiting, { why, until, text });
  await (ms === null ? condition(over) : condition(over, ms));
  if (isTold) await job.signal(waiting, null);
  return undefined;
}

/** The wall clock of the job, also while it waits for people or rate limits. */
function watchDeadline(input: TurnInput, s: TurnState, root: CancellationScope): void {
  const { deadline } = input.limits;
  if (deadline === undefined) return;
  void root
    .run(async () => {
      await sleep(Math.max(1, deadline - Date.now()));
      s.reason ??= 'deadline';
      root.cancel();
    })
    .catch(() => undefined);
}

/** A model that asks for the same thing for ever has to be stopped by somebody. */
function isRepeated(s: TurnState, key: string, limit = 0): boolean {
  s.same = s.same?.key === key ? { key, n: s.same.n + 1 } : { key, n: 1 };
  return limit > 0 && s.same.n > limit;
}

function sealedAs(s: TurnState, reason: Reason): TurnState {
  for (const call of s.open?.calls ?? []) s.open!.done[call.index] ??= dropped(reason, undefined, repeatedText(call));
  return s;
}
const repeatedText = (call: CallRef): string =>
  `Not run: ${call.name} was asked for with the same input again and again.`;

const isSettled = (s: TurnState): boolean => !s.open || s.open.calls.every((call) => s.open!.done[call.index]);

/** A cancelled scope is no error of the loop; whoever cancelled has said why, or it was the workflow itself. */
function orCancelled(s: TurnState, root: CancellationScope): (error: unknown) => undefined {
  return (error) => {
    // A worker that died while its activity was being cancelled leaves a failure instead of a cancellation.
    const isLate = error instanceof ActivityFailure && (s.reason !== undefined || root.consideredCancelled);
    if (!isCancellation(error) && !isLate) throw error;
    s.reason ??= 'user';
  };
}
