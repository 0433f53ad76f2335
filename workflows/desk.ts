import { log, patched, setDefaultSignalHandler, setHandler, upsertMemo, workflowInfo } from '@temporalio/workflow';
import { endOfWait } from '../src/core/ladder.ts';
import type { Note } from '../src/shapes/call.ts';
import type { Sha } from '../src/shapes/ids.ts';
import type { JobMemo, JobState, JobStatus, JobView } from '../src/shapes/job.ts';
import type { TurnState } from '../src/shapes/turn.ts';
import * as messages from './messages.ts';
import { listenToQuestions, type Questions, type Tell, type TurnHandle } from './questions.ts';
import { notify, pinned } from './steps.ts';
import { listenToTasks, type Tasks } from './tasks.ts';

type Shown = { why?: JobMemo['why']; text?: string; until?: number };
const INTERRUPTING = 'the turn is told to stop; a command that runs may end first';

/** The job's front desk: takes what people and turns send, passes it on, and shows how the job stands. */
export type Desk = {
  rollOver: boolean;
  extended: boolean;
  tasks: Tasks;
  questions: Questions;
  show(status: JobStatus, detail?: Shown): void;
  turnStarted(child: TurnHandle, state: TurnState): void;
  turnEnded(): void;
  memo(): JobMemo;
};

/** Registers the job's doors, before anything is awaited. Handlers store, pass on, and never fail. */
export function openDesk(id: string, s: JobState, config: Sha): Desk {
  const { title = '', dir = '' } = (workflowInfo().memo?.job ?? {}) as Partial<JobMemo>;
  let child: TurnHandle | undefined;
  let shown: { status: JobStatus } & Shown = { status: 'running' };
  let waits: Shown | undefined;
  let away: Shown | undefined; // the host, while nothing runs but what it has in the background
  let interrupted = false;
  let stopping = false; // the running turn was told to
  let published = '';
  const tasks = listenToTasks(id, s, queue);
  const desk = { rollOver: false, extended: false };
  setHandler(messages.send, queue);
  setHandler(messages.interrupt, ({ now, press }) => {
    if (!child) interrupted = s.turnOpen; // between two runs of a turn: the next one hears of it
    else if (!stopping && patched('interrupting')) {
      stopping = true;
      publish();
    }
    const stop = { why: 'interrupt' as const, ...(now ? { now } : {}), ...(press ? { press } : {}) };
    tell((running) => running.signal(messages.stop, stop));
  });
  setHandler(messages.extend, (limits) => {
    Object.assign(s.limits, limits);
    desk.extended = true;
    tell((running) => running.signal(messages.rollOver)); // the next run carries the new limits
  });
  setHandler(messages.rollOver, () => {
    desk.rollOver = true;
    tell((running) => running.signal(messages.rollOver));
  });
  setHandler(messages.wake, () => tell((running) => running.signal(messages.wake)));
  setHandler(messages.waiting, (wait) => {
    if (!wait && !waits) return;
    waits = wait ? { why: wait.why, text: wait.text, ...(wait.until ? { until: wait.until } : {}) } : undefined;
    away = waits?.why === 'host' && shown.status === 'idle' && patched('idle-host') ? waits : undefined;
    publish();
    aside({ event: wait ? { kind: 'job.waiting', ...wait } : { kind: 'job.resumed' } });
  });
  const questions = listenToQuestions(id, s, config, { tell, aside, publish, isIdle: () => !child });
  setHandler(messages.view, view);
  setDefaultSignalHandler((name) => log.warn('unknown signal', { name }));
  return Object.assign(desk, { tasks, questions, show, turnStarted, turnEnded, memo });

  /** Into the running turn at its next step, or the input of a new one; it stays here until a turn has taken it. */
  function queue(note: Note): void {
    if (s.queue.some((known) => known.id === note.id)) return;
    s.queue.push(note);
    tell((running) => running.signal(messages.note, note));
  }

  function turnStarted(started: TurnHandle, state: TurnState): void {
    child = started;
    // What came between making the state and the start.
    for (const note of s.queue)
      if (!state.inbox.some((known) => known.id === note.id)) tell((running) => running.signal(messages.note, note));
    if (s.rulesRev > state.rulesRev)
      tell((running) => running.signal(messages.rules, { sha: s.rules, rev: s.rulesRev }));
    if (desk.rollOver) tell((running) => running.signal(messages.rollOver));
    if (interrupted) tell((running) => running.signal(messages.stop, { why: 'interrupt' }));
    if (questions.unanswered()) tell((running) => running.signal(messages.stop, { why: 'unanswered' }));
    interrupted = false;
  }

  function turnEnded(): void {
    child = undefined;
    waits = undefined;
    away = undefined;
    questions.drop();
    publish();
  }

  function tell(send: Parameters<Tell>[0]): void {
    if (child) send(child).catch((error: unknown) => log.info('a turn was gone', { error: String(error) }));
  }

  function aside(input: Parameters<typeof notify>[0]): void {
    notify(input).catch((error: unknown) => log.warn('not told', { error: String(error) }));
  }

  function show(status: JobStatus, detail: Shown = {}): void {
    shown = { status, ...detail };
    stopping = false;
    if (status !== 'idle') away = undefined;
    publish();
  }

  function status(): { status: JobStatus } & Shown {
    if (shown.status !== 'running') return { ...shown, ...away };
    if (stopping) return { ...shown, why: 'interrupting', text: INTERRUPTING };
    const first = s.prompts[0];
    if (first) {
      const until = endOfWait(s.ladder ?? [], first);
      const text = `${first.tool}: ${first.brief}`;
      return { status: 'waiting', why: 'permission', text, ...(until === undefined ? {} : { until }) };
    }
    return waits ? { status: 'waiting', ...waits } : shown;
  }

  function memo(): JobMemo {
    const prompts = s.prompts.slice(0, 20).map(({ id, key, tool, body, since }) => ({ id, key, tool, body, since }));
    return { title, dir, ...status(), updatedAt: Date.now(), prompts, asked: s.asked, ...pinned() };
  }

  /** The memo is what lists show, with no worker up; written only when it says something new. */
  function publish(): void {
    const { updatedAt, ...said } = memo();
    const text = JSON.stringify(said);
    if (text === published) return;
    published = text;
    upsertMemo({ job: { ...said, updatedAt } });
  }

  function view(): JobView {
    const { prompts, spent, limits, answers } = s;
    return {
      ...status(),
      prompts,
      tasks: Object.values(s.tasks),
      queue: s.queue.length,
      spent,
      limits,
      answers,
      head: s.head,
      ...(s.last?.open ? { open: s.last.open } : {}),
      ...(child ? { turn: child.workflowId } : {}),
    };
  }
}
