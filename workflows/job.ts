import {
  CancelledFailure,
  CancellationScope,
  ParentClosePolicy,
  condition,
  isCancellation,
  log,
  makeContinueAsNewFunc,
  patched,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import { isLimit, limitOf, remaining } from '../src/core/limits.ts';
import { turnId } from '../src/core/paths.ts';
import type { JobEnd, JobInput, JobState, JobWhy } from '../src/shapes/job.ts';
import type { StopWhy, TurnResult, TurnState } from '../src/shapes/turn.ts';
import { openDesk } from './desk.ts';
import { tellUntold } from './tasks.ts';
import { isLong } from './run-length.ts';
import { closeJob, notify, openJob, pinned, pinTo, TASK_TIMEOUT } from './steps.ts';
import type { turn } from './turn.ts';

/**
 * One piece of unattended work: opens, runs one turn per input, holds what outlives a turn, closes. It continues as new
 * only between two runs of a turn.
 */
export async function job(input: JobInput): Promise<JobEnd> {
  const id = workflowInfo().workflowId;
  const s = input.from ?? unopened(input);
  if (input.from && !input.continued) {
    tellUntold(s);
    s.queue.push(...input.inputs);
  }
  pinTo(s.host); // a job that was opened before stays where its files are
  const desk = openDesk(id, s, input.config);
  const end = await live().catch((error: unknown): JobEnd => {
    if (!isCancellation(error)) throw error;
    return { status: 'cancelled' };
  });
  // Also for a cancelled job: what runs is ended, what is open is sealed, and the record is what is left of it.
  await CancellationScope.nonCancellable(async () => {
    await desk.tasks.end();
    await desk.questions.settled();
    await closeJob({ config: input.config, end, state: s });
  });
  if (end.status === 'cancelled') throw new CancelledFailure('the job was cancelled');
  return end;

  async function live(): Promise<JobEnd> {
    if (!input.continued) {
      const opened = await openJob({ config: input.config, state: s });
      if (opened.kind === 'failed') return { status: 'failed', why: 'error', error: opened.error };
      Object.assign(s, opened.fresh);
      pinTo(s.host);
      if (opened.kind === 'stopped') return { status: 'stopped', why: 'hook', error: opened.text };
      // With nothing to do there is no reason to wake the model.
      if (opened.notes && (s.turnOpen || s.queue.length > 0)) s.queue.unshift(...opened.notes);
    }
    desk.questions.climb();
    while (true) {
      if (desk.rollOver || isLong(s.limits.events)) await rollOver();
      if (!s.turnOpen && s.queue.length === 0) {
        if (!s.idle) {
          if (desk.tasks.running().length === 0) return { status: 'done' };
          await desk.tasks.end(); // one that ended by itself meanwhile has something to say
          continue;
        }
        desk.show('idle');
        await condition(() => s.queue.length > 0 || desk.rollOver);
        continue;
      }
      const limit = limitOf(s, Date.now());
      const end: JobEnd | undefined = limit ? { status: 'stopped', why: limit } : await runTurn();
      if (!end) continue;
      if (!isLimit(end.why) || s.onLimit === 'end') return end;
      desk.extended = false;
      desk.show('waiting', { why: 'limit', text: `the limit of ${end.why} is reached` });
      await condition(() => desk.extended || desk.rollOver);
    }
  }

  /** One run of a turn: of the next one, or of the open one, which goes on. A value ends the job. */
  async function runTurn(): Promise<JobEnd | undefined> {
    if (!s.turnOpen) s.turn += 1;
    const state = nextState(s);
    s.turnOpen = true;
    s.idle = false;
    desk.show('running');
    try {
      const result = await run(state).catch((error: unknown) => {
        if (isCancellation(error)) throw error;
        // Once more from where that run began: what it paid is in the spool, what it did in the ledger.
        return run(state);
      });
      keep(s, state.step, result.state);
      const unanswered = desk.questions.unanswered();
      if (unanswered) return { status: 'failed', why: 'permission', error: unanswered };
      const end = settle(s, result);
      if (!end && result.kind === 'stopped' && patched('turn.ended')) await tellEnd(result);
      return end;
    } catch (error) {
      if (isCancellation(error)) throw error;
      return { status: 'failed', why: 'error', error: `The turn itself failed: ${String(error).slice(0, 500)}` };
    } finally {
      desk.turnEnded();
    }
  }

  /** Before the job shows itself idle, so that whoever follows it hears why. */
  async function tellEnd({ why, text = '' }: Extract<TurnResult, { kind: 'stopped' }>): Promise<void> {
    const how = why === 'interrupt' ? 'interrupted' : 'stopped';
    const brief = text.slice(0, 200);
    await notify({ event: { kind: 'turn.ended', turn: s.turn, how, brief } }).catch((error: unknown) => {
      if (isCancellation(error)) throw error;
      log.warn('the end of a turn was not told', { error: String(error) });
    });
  }

  async function run(state: TurnState): Promise<TurnResult> {
    const child = await startChild<typeof turn>('turn', {
      workflowId: turnId(id, s.turn),
      args: [{ v: 1, agent: s.agent, limits: remaining(s, state.step), state, ...pinned() }],
      parentClosePolicy: ParentClosePolicy.TERMINATE,
      workflowTaskTimeout: TASK_TIMEOUT,
    });
    desk.turnStarted(child, state);
    return child.result();
  }

  async function rollOver(): Promise<never> {
    await desk.questions.settled();
    const again = makeContinueAsNewFunc<typeof job>({ workflowTaskTimeout: TASK_TIMEOUT, memo: { job: desk.memo() } });
    return again({ v: 1, config: input.config, inputs: [], from: s, continued: true });
  }
}

/** Before `openJob` has read the config: only what can be known without it. */
function unopened(input: JobInput): JobState {
  return {
    v: 1,
    head: null,
    turn: 0,
    turnOpen: false,
    idle: false,
    agent: '',
    rules: '',
    rulesRev: 0,
    limits: { concurrency: 1 },
    onLimit: 'end',
    stay: false,
    spent: 0,
    steps: 0,
    queue: input.inputs,
    tasks: {},
    prompts: [],
    asked: 0,
    early: [],
    answers: [],
    startedAt: Date.now(),
  };
}

/** The state that the next run of a turn begins with. */
function nextState(s: JobState): TurnState {
  const fresh: TurnState = {
    head: s.head,
    step: 0,
    inbox: [...s.queue],
    taken: [],
    ctx: s.last?.ctx ?? {},
    ...(s.last?.open ? { open: s.last.open } : {}),
    ...(s.last?.same ? { same: s.last.same } : {}),
    rules: s.rules,
    rulesRev: s.rulesRev,
    purse: (s.limits.budget ?? Number.MAX_SAFE_INTEGER) - s.spent,
    spent: 0,
  };
  if (!s.turnOpen || !s.last) return fresh;
  const { step, cuts, tries, after, stopBlocks } = s.last;
  return {
    ...fresh,
    step,
    ...(cuts ? { cuts } : {}),
    ...(tries ? { tries } : {}),
    ...(after ? { after } : {}),
    ...(stopBlocks === undefined ? {} : { stopBlocks }),
  };
}

/** Takes over what a run came to. */
function keep(s: JobState, stepBefore: number, state: TurnState): void {
  const { reason: _reason, rollOver: _rollOver, ...last } = state;
  s.head = state.head;
  s.spent += state.spent;
  s.steps += state.step - stepBefore;
  s.queue = s.queue.filter((note) => !state.taken.includes(note.id));
  for (const id of state.taken) {
    const task = s.tasks[id];
    if (task?.status === 'running') task.told = true; // the news of its end is on its way, and none any more
  }
  s.last = { ...last, inbox: [], taken: [], spent: 0 };
}

/** What the end of a run means for the job; a value ends it. */
function settle(s: JobState, result: TurnResult): JobEnd | undefined {
  switch (result.kind) {
    case 'more':
      return undefined;
    case 'answer':
      s.turnOpen = false;
      s.idle = s.stay;
      s.answer = { node: result.answer, brief: result.brief };
      return undefined;
    case 'failed':
      return { status: 'failed', why: 'error', error: result.error };
    case 'stopped':
      if (result.why === 'user') return { status: 'cancelled' };
      if (result.why !== 'interrupt' && !(result.why === 'hook' && s.stay)) {
        return { status: 'stopped', why: jobWhy(result.why), ...(result.text ? { error: result.text } : {}) };
      }
      s.turnOpen = false;
      s.idle = true;
      return undefined;
  }
}

function jobWhy(why: StopWhy): JobWhy {
  switch (why) {
    case 'budget':
      return 'usd';
    case 'user':
    case 'interrupt':
    case 'sibling_error':
    case 'unanswered':
    case 'shutdown':
    case 'broken':
      return 'error';
    default:
      return why;
  }
}
