import {
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  workflowInfo,
} from '@temporalio/workflow';
import { parseTurnId } from '../src/core/paths.ts';
import { shareOf } from '../src/core/purse.ts';
import type { CallRef, Ctx, Done, Known, Patch, Reason } from '../src/shapes/call.ts';
import type { CallId } from '../src/shapes/ids.ts';
import type { Mode } from '../src/shapes/permission.ts';
import type { TurnInput, TurnState } from '../src/shapes/turn.ts';
import { perform } from './effects.ts';
import type { Box } from './listen.ts';
import { prompted, updated, withdrawn } from './messages.ts';
import { runTool } from './steps.ts';

export type Batch = { safe: boolean; calls: CallRef[] };
type Site = { input: TurnInput; s: TurnState; box: Box; root: CancellationScope };

/** A call that has no result of its own. */
export const dropped = (reason: Reason, by?: CallId, text?: string): Done => ({
  dropped: { reason, ...(by ? { by } : {}), ...(text ? { text } : {}) },
});

/** A rewrite made the call unsafe beside others: it runs when they have ended, with what was learned so far. */
type Alone = { alone: Known };

/** Runs neighbours that may run together, or one call alone, and settles each; never throws for a call's sake. */
export async function runBatch(batch: Batch, site: Site, before?: Known): Promise<void> {
  const { input, s, box, root } = site;
  const siblings = new CancellationScope(); // second scope: the batch
  let failed = undefined as CallRef | undefined;
  const queue = batch.calls.filter((call) => !s.open!.done[call.index]);
  const alone: { call: CallRef; known: Known }[] = [];
  const lane = async (): Promise<void> => {
    for (let call; (call = queue.shift());) await one(call);
  };
  const lanes = batch.safe ? input.limits.concurrency : 1;
  await siblings.run(() => Promise.all(Array.from({ length: lanes }, lane)));
  for (const call of batch.calls) apply(s.ctx, s.open!.done[call.index]?.patch); // in call order, when all are done
  for (const { call, known } of alone) {
    if (failed) settle(call, dropped('sibling_error', failed.id));
    else await runBatch({ safe: false, calls: [call] }, site, known);
  }

  async function one(call: CallRef): Promise<void> {
    const scope = new CancellationScope(); // third scope: the call
    const live = { call, scope, waits: false };
    box.live.set(call.index, live);
    const end = await ended(call, scope, live);
    box.live.delete(call.index);
    if ('alone' in end) alone.push({ call, known: end.alone });
    else settle(call, end);
  }

  async function ended(call: CallRef, scope: CancellationScope, live: { waits: boolean }): Promise<Done | Alone> {
    if (s.reason || failed) return why();
    try {
      const end = await scope.run(() => runCall(call, batch.safe ? undefined : { ...before, alone: true }, site, live));
      if ('alone' in end || !end.dropped) return end;
      const { reason, by } = why().dropped!; // the activity saw that it was cancelled, the workflow knows why
      return { ...end, dropped: { ...end.dropped, reason, ...(by ? { by } : {}) } };
    } catch (error) {
      // A worker that died while its call was being cancelled leaves a failure instead of a cancellation.
      if (isCancellation(error) || scope.consideredCancelled) return why();
      return dropped('broken', undefined, String(error).slice(0, 500));
    }
  }

  function why(): Done {
    if (s.reason) return dropped(s.reason);
    return failed ? dropped('sibling_error', failed.id) : dropped('user');
  }

  function settle(call: CallRef, done: Done): void {
    const { spent = 0, ...kept } = done;
    s.open!.done[call.index] = kept;
    s.spent += spent;
    s.purse -= spent;
    if (done.aborts && !failed) {
      failed = call;
      siblings.cancel(); // stays inside the batch
    }
    if (done.interrupt) {
      s.reason ??= 'denied';
      root.cancel(); // goes up to the turn
    }
  }
}

/** One call, pass after pass: a pass ends where somebody has to be waited for. */
async function runCall(
  call: CallRef,
  before: Known | undefined,
  { input, s, box }: Site,
  live: { waits: boolean },
): Promise<Done | Alone> {
  let known = before;
  let open: string | undefined; // key of a question that nobody has answered
  let askedIn: Mode | undefined; // a call whose hooks change the mode goes on in the one it was asked in
  const place = parseTurnId(workflowInfo().workflowId);
  const job = getExternalWorkflowHandle(place.job);
  const withdraw = async (text: string): Promise<void> => {
    const key = open;
    open = undefined;
    if (key === undefined || s.reason) return; // the job drops all questions of a turn that ends
    await CancellationScope.nonCancellable(() => job.signal(withdrawn, { key, text }));
  };
  const waitFor = async <T>(wait: Promise<T>): Promise<T> => {
    live.waits = true;
    return wait.finally(() => {
      live.waits = false;
    });
  };
  try {
    return await passes();
  } finally {
    await withdraw('its call was cancelled');
  }

  async function passes(): Promise<Done | Alone> {
    for (let pass = 0; ; pass++) {
      const rev = s.rulesRev;
      const result = await runTool({
        agent: input.agent,
        reply: s.open!.reply,
        step: s.step,
        call,
        pass,
        ctx: askedIn ? { ...s.ctx, mode: askedIn } : s.ctx,
        rules: s.rules,
        purse: shareOf(s.purse, s.open!.calls.length),
        ...(known ? { known } : {}),
      });
      s.spent += result.spent ?? 0;
      s.purse -= result.spent ?? 0;
      if (result.kind !== 'ask' || result.prompt.key !== open) await withdraw('a rule that somebody gave decided it');
      if (result.kind === 'done') return result.done;
      const { grant, alone, updated: isUpdated } = known ?? {};
      known = {
        resume: result.resume,
        ...(grant ? { grant } : {}),
        ...(alone ? { alone } : {}),
        ...(isUpdated ? { updated: isUpdated } : {}),
      };
      if (result.kind === 'alone') return { alone: known };
      if (result.kind === 'update') {
        const { updates, mode } = result;
        askedIn = mode;
        known.updated = true;
        await job.signal(updated, { updates, turn: place.turn, step: s.step, index: call.index });
        await waitFor(condition(() => s.rulesRev !== rev || !!s.reason)); // the job answers in any case
        if (s.reason) return dropped(s.reason);
      }
      if (result.kind === 'effect') known.outcome = await waitFor(perform(result.effect, s));
      if (result.kind === 'ask') {
        const { prompt } = result;
        if (!box.answers.has(prompt.key)) {
          open = prompt.key;
          await job.signal(prompted, prompt); // idempotent by the prompt's key
        }
        await waitFor(condition(() => box.answers.has(prompt.key) || s.rulesRev !== rev || !!s.reason)); // days, if need be
        if (s.reason) return dropped(s.reason); // waiting never blocks an interrupt
        const grant = box.answers.get(prompt.key);
        if (!grant) continue; // the rules changed, the chain is walked again
        known.grant = grant;
        open = undefined;
      }
    }
  }
}

function apply(ctx: Ctx, patch: Patch = {}): void {
  const { files, ...rest } = patch;
  Object.assign(ctx, rest);
  if (files) ctx.fresh = [...(ctx.fresh ?? []), files];
}
