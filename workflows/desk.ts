import {
  type ChildWorkflowHandle,
  condition,
  log,
  patched,
  setDefaultSignalHandler,
  setHandler,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import { endOfWait } from '../src/core/ladder.ts';
import type { Note } from '../src/shapes/call.ts';
import type { Sha } from '../src/shapes/ids.ts';
import type { JobMemo, JobState, JobStatus, JobView } from '../src/shapes/job.ts';
import type { LadderEnd } from '../src/shapes/ladder.ts';
import type { Mode } from '../src/shapes/permission.ts';
import type { Answer, OpenPrompt, Prompt } from '../src/shapes/prompt.ts';
import type { TurnState } from '../src/shapes/turn.ts';
import { climb } from './ladder.ts';
import * as messages from './messages.ts';
import { oneByOne } from './one-by-one.ts';
import { addRules, notify, pinned, saveRule, tellHooks, updatePermissions } from './steps.ts';
import { listenToTasks, type Tasks } from './tasks.ts';
import type { turn } from './turn.ts';

type TurnHandle = ChildWorkflowHandle<typeof turn>;
type Shown = { why?: JobMemo['why']; text?: string; until?: number };
/** Answers and their fates that a job remembers. */
const KEPT = 100;
const INTERRUPTING = 'the turn is told to stop; a command that runs may end first';
/** The place of a prompt in the order of asking, from its id. */
const asNumber = (id: string): number => Number(id.slice(id.lastIndexOf(':') + 1));

/** The job's front desk: takes what people and turns send, passes it on, and shows how the job stands. */
export type Desk = {
  rollOver: boolean;
  extended: boolean;
  /** Why nobody's answer ended the job. */
  unanswered: string | undefined;
  tasks: Tasks;
  show(status: JobStatus, detail?: Shown): void;
  turnStarted(child: TurnHandle, state: TurnState): void;
  turnEnded(): void;
  /** Begins to take questions up the ladder; it never throws and ends with the job. */
  climb(): void;
  /** Resolves when no change of permissions is on its way any more. */
  settled(): Promise<void>;
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
  let changes = 0; // of the open questions
  const inTurn = oneByOne('rules-in-turn'); // changes of the rules: each starts from what the last came to
  let updates = 0; // that hooks asked for and that are not made yet
  const tasks = listenToTasks(id, s, queue);
  const desk: Desk = {
    rollOver: false,
    extended: false,
    unanswered: undefined,
    tasks,
    show,
    turnStarted,
    turnEnded,
    climb: () => void climb(s, { changes: () => changes, over }),
    settled: () => condition(() => updates === 0),
    memo,
  };

  setHandler(messages.send, queue);
  setHandler(messages.interrupt, ({ now }) => {
    if (!child) interrupted = s.turnOpen; // between two runs of a turn: the next one hears of it
    else if (!stopping && patched('interrupting')) {
      stopping = true;
      publish();
    }
    tell((running) => running.signal(messages.stop, { why: 'interrupt', ...(now ? { now } : {}) }));
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
  setHandler(messages.prompted, ask);
  setHandler(messages.withdrawn, withdraw);
  setHandler(messages.answerPermission, take);
  setHandler(messages.updated, (asked) => {
    updates += 1;
    void inTurn(() => update(asked)).finally(() => {
      updates -= 1;
    });
  });
  setHandler(messages.view, view);
  setDefaultSignalHandler((name) => log.warn('unknown signal', { name }));
  return desk;

  /** Into the running turn at its next step, or the input of a new one; it stays here until a turn has taken it. */
  function queue(note: Note): void {
    if (s.queue.some((known) => known.id === note.id)) return;
    s.queue.push(note);
    tell((running) => running.signal(messages.note, note));
  }

  function ask(prompt: Prompt): void {
    if (s.prompts.some((known) => known.key === prompt.key)) return;
    const open: OpenPrompt = { ...prompt, id: `${id}:${++s.asked}` };
    s.prompts.push(open);
    changes += 1;
    publish();
    if (s.notifies)
      tellHooks({ agent: s.agent, prompt: open }).catch((error: unknown) =>
        log.warn('hooks were not told', { error: String(error) }),
      );
    const { key, tool, brief, since } = prompt;
    aside({ event: { kind: 'prompt.opened', id: open.id, key, tool, brief, since } });
    const early = s.early.find((answer) => answer.id === open.id);
    s.early = s.early.filter((answer) => answer !== early);
    if (early) take(early);
  }

  /** First answer wins; later ones are told so by `view`; answers to what was not asked yet are kept. */
  function take(answer: Answer): void {
    const prompt = s.prompts.find((open) => open.id === answer.id);
    if (!prompt && asNumber(answer.id) > s.asked) {
      s.early = [...s.early, answer].slice(-KEPT);
      return;
    }
    const { behavior, by } = answer;
    const record = { id: answer.id, behavior, used: prompt !== undefined, at: Date.now(), ...(by ? { by } : {}) };
    s.answers = [...s.answers, record].slice(-KEPT);
    const { message } = answer;
    aside({
      event: {
        kind: 'prompt.answered',
        id: answer.id,
        behavior,
        used: record.used,
        by,
        ...(message ? { message } : {}),
      },
    });
    if (!prompt) return;
    close(prompt);
    tell((running) => running.signal(messages.answer, { ...answer, id: prompt.key }));
    if (behavior === 'allow-always') void inTurn(() => widen(prompt, answer));
    if (behavior !== 'deny' && answer.save) void keepRules(prompt, answer);
  }

  function close(prompt: OpenPrompt): void {
    s.prompts = s.prompts.filter((open) => open !== prompt);
    changes += 1;
    publish();
  }

  /** A rule that came meanwhile, or the end of its call, has answered it. */
  function withdraw({ key, text }: { key: string; text: string }): void {
    const prompt = s.prompts.find((open) => open.key === key);
    if (!prompt) return;
    close(prompt);
    aside({ event: { kind: 'prompt.withdrawn', id: prompt.id, text } });
  }

  /** Nobody has answered in time. */
  function over(prompt: OpenPrompt, then: LadderEnd): void {
    if (then !== 'fail') return take({ id: prompt.id, behavior: 'deny', by: 'the ladder', unanswered: then });
    desk.unanswered = `Nobody answered the question ${prompt.id} in time: ${prompt.tool} ${prompt.brief}`;
    close(prompt);
    aside({ event: { kind: 'prompt.withdrawn', id: prompt.id, text: 'nobody answered in time, so the job fails' } });
    tell((running) => running.signal(messages.stop, { why: 'unanswered' }));
  }

  /** What hooks give with their answer holds as what a person gives. The call that brought it waits for the news, also for that nothing changed. */
  async function update(asked: messages.PermissionsUpdated): Promise<void> {
    let mode: Mode | undefined;
    try {
      const made = await updatePermissions({ agent: s.agent, rules: s.rules, config, ...asked });
      s.rules = made.sha;
      mode = made.mode;
    } catch (error) {
      log.warn('permissions could not be changed', { error: String(error) });
    }
    s.rulesRev += 1;
    if (mode && !child && s.last) s.last.ctx.mode = mode;
    const { rules: sha, rulesRev: rev } = s;
    tell((running) => running.signal(messages.rules, { sha, rev, ...(mode ? { mode } : {}) }));
  }

  /** A rule that a person gave holds for the whole job: every call that waits walks its chain again. */
  async function widen(prompt: OpenPrompt, answer: Answer): Promise<void> {
    try {
      const { sha } = await addRules({
        rules: s.rules,
        prompt: prompt.body,
        ...(answer.rules ? { add: answer.rules } : {}),
      });
      if (sha === s.rules) return;
      s.rules = sha;
      s.rulesRev += 1;
      const { rulesRev: rev } = s;
      tell((running) => running.signal(messages.rules, { sha, rev }));
    } catch (error) {
      log.warn('a rule could not be added', { error: String(error) });
    }
  }

  async function keepRules(prompt: OpenPrompt, { rules: add }: Answer): Promise<void> {
    try {
      await saveRule({ agent: s.agent, rules: s.rules, prompt, ...(add ? { add } : {}) });
    } catch (error) {
      log.warn('a rule could not be kept', { error: String(error) });
    }
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
    if (desk.unanswered) tell((running) => running.signal(messages.stop, { why: 'unanswered' }));
    interrupted = false;
  }

  function turnEnded(): void {
    child = undefined;
    waits = undefined;
    away = undefined;
    s.prompts = []; // nobody waits for them any more
    changes += 1;
    publish();
  }

  /** Passes something on to the running turn. One that has just ended gets the same from its successor's state. */
  function tell(send: (running: TurnHandle) => Promise<void>): void {
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
