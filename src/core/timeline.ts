import type { CallPlace, JobEvent, Place } from '../shapes/event.ts';
import type { Timeline, TimelineCall, TimelineStep, TimelineTurn } from '../shapes/timeline.ts';

type Of<K extends JobEvent['kind']> = Extract<JobEvent, { kind: K }>;

export const createTimeline = (): Timeline => ({
  warnings: [],
  status: 'running',
  prompts: [],
  turns: [],
  tasks: [],
  hooks: [],
  lost: 0,
});

/** The timeline of a log. */
export function foldEvents(events: Iterable<JobEvent>): Timeline {
  const timeline = createTimeline();
  for (const event of events) apply(timeline, event);
  return timeline;
}

/**
 * Takes one event into the timeline, in place; it costs the same however long the job is. An event that comes twice
 * counts once (of live text it may be seen twice); a kind of a later version is left out.
 */
export function apply(timeline: Timeline, event: JobEvent): void {
  switch (event.kind) {
    case 'job.opened':
      timeline.title = event.title;
      timeline.dir = event.dir;
      timeline.model = event.model;
      timeline.mode = event.mode;
      timeline.warnings = event.warnings;
      return goOn(timeline);
    case 'job.waiting': {
      const { why, until, text, at } = event;
      timeline.status = 'waiting';
      timeline.waiting = { why, until, text, since: at };
      return;
    }
    case 'job.resumed':
      return goOn(timeline);
    case 'job.closed':
      return close(timeline, event);
    case 'turn.started':
      goOn(timeline);
      turnOf(timeline, event).input = event.input;
      return;
    case 'message.taken': {
      const { messages } = stepOf(timeline, event);
      if (!messages.some(({ id }) => id === event.id)) messages.push({ id: event.id, text: event.text });
      return;
    }
    case 'turn.ended':
      return endTurn(turnOf(timeline, event), event.how, event.at);
    case 'model.started':
    case 'model.text':
    case 'model.ended':
    case 'model.failed':
      return applyModel(timeline, event);
    case 'call.started':
    case 'call.decided':
    case 'call.described':
    case 'call.asked':
    case 'call.progress':
    case 'call.ended':
      return applyCall(timeline, callOf(stepOf(timeline, event), event), event);
    case 'prompt.opened': {
      const { id, key, tool, brief, since } = event;
      if (!timeline.prompts.some((prompt) => prompt.id === id)) timeline.prompts.push({ id, key, tool, brief, since });
      return;
    }
    case 'prompt.answered':
    case 'prompt.withdrawn':
      timeline.prompts = timeline.prompts.filter(({ id }) => id !== event.id);
      return;
    case 'task.started': {
      const { id, task: kind, brief, outputFile, at } = event;
      if (timeline.tasks.some((task) => task.id === id)) return;
      timeline.tasks.push({ id, kind, status: 'running', brief, startedAt: at, outputFile });
      return;
    }
    case 'task.ended': {
      const task = timeline.tasks.find(({ id }) => id === event.id);
      if (task?.status !== 'running') return;
      const { status, exitCode, summary, at } = event;
      Object.assign(task, { status, exitCode, summary, endedAt: at });
      return;
    }
    case 'hook.ended': {
      const { kind: _kind, ms: _ms, ...hook } = event;
      // Told again it comes soon, so that only the last few have to be looked through.
      const isKnown = timeline.hooks.slice(-20).some((known) => known.at === hook.at && known.hook === hook.hook);
      if (isNotable(event) && !isKnown) timeline.hooks.push(hook);
      return;
    }
    case 'events.lost':
      timeline.lost += event.lines;
  }
}

/** Most handlers have no objection: of those nobody needs to hear. */
export const isNotable = ({ status, decision, text }: Of<'hook.ended'>): boolean =>
  status !== 'ok' || decision !== undefined || text !== undefined;

function applyModel(
  timeline: Timeline,
  event: Of<'model.started'> | Of<'model.text'> | Of<'model.ended'> | Of<'model.failed'>,
): void {
  const step = stepOf(timeline, event);
  switch (event.kind) {
    case 'model.started':
      sealBefore(timeline, event);
      goOn(timeline);
      beginTurn(turnOf(timeline, event));
      step.live = { attempt: event.attempt, since: event.at, text: '', thinking: '' };
      return;
    case 'model.text':
      if (step.live) step.live[event.thinking ? 'thinking' : 'text'] += event.text;
      return;
    case 'model.failed': {
      delete step.live;
      const { at, error, until, spent } = event;
      if (!step.failures.some((failure) => failure.at === at)) step.failures.push({ at, error, until, spent });
      return;
    }
    case 'model.ended':
      delete step.live;
      addReply(step, event);
      if (event.calls.length === 0 && !goesOn(event.stop)) endTurn(turnOf(timeline, event), 'answered', event.at);
  }
}

function addReply(step: TimelineStep, { text, stop, usage, spent, cut, calls }: Of<'model.ended'>): void {
  const reply = { text, stop, usage, spent, cut: cut === true, ids: calls.map(({ id }) => id).join(' ') };
  const last = step.replies.at(-1);
  const isSame = last?.text === text && last.ids === reply.ids && last.usage.output === usage.output;
  // Another reply to the same request takes the place of the first: only what was cut at a limit goes on in a second.
  if (last && (isSame || !goesOn(last.stop))) step.replies.pop();
  step.replies.push(reply);
  const known = new Map(step.calls.map((call) => [call.id, call]));
  step.calls = calls.map(({ index, id, name, brief, input }) => {
    const { state = 'queued', owners = 0, ...rest } = known.get(id) ?? {};
    return { ...rest, index, id, name, brief, input, state, owners };
  });
}

function applyCall(
  timeline: Timeline,
  call: TimelineCall,
  event:
    | Of<'call.started'>
    | Of<'call.decided'>
    | Of<'call.described'>
    | Of<'call.asked'>
    | Of<'call.progress'>
    | Of<'call.ended'>,
): void {
  switch (event.kind) {
    case 'call.started':
      call.id = event.id;
      call.name = event.name;
      call.brief = event.brief;
      call.owners = Math.max(call.owners, event.owner);
      call.startedAt ??= event.at;
      if (!call.end) call.state = 'executing';
      return;
    case 'call.decided': {
      const { behavior, reason, text } = event;
      call.decision = { behavior, reason, text };
      if (behavior !== 'ask') closeQuestion(timeline, call);
      return;
    }
    case 'call.described':
      call.described = event.spent;
      return;
    case 'call.asked': {
      const { key, text, suggestions, at } = event;
      if (!call.end) call.asked = { key, text, suggestions, since: call.asked?.since ?? at };
      return;
    }
    case 'call.progress':
      if (!call.end) call.progress = { text: event.text, bytes: event.bytes, at: event.at };
      return;
    case 'call.ended': {
      const { isError, outcome, bytes, preview, path } = event;
      call.end = { isError, outcome, bytes, preview, ...(path === undefined ? {} : { path }) };
      call.endedAt = event.at;
      if (call.state !== 'yielded') call.state = 'completed';
      delete call.progress;
      closeQuestion(timeline, call);
    }
  }
}

/** A question is over when its call is decided or ended, also by somebody's answer to another one. */
function closeQuestion(timeline: Timeline, call: TimelineCall): void {
  const { asked } = call;
  if (!asked) return;
  timeline.prompts = timeline.prompts.filter(({ key }) => key !== asked.key);
  delete call.asked;
}

function goOn(timeline: Timeline): void {
  timeline.status = 'running';
  delete timeline.waiting;
  delete timeline.why;
  delete timeline.error;
}

function close(timeline: Timeline, { status, why, error, at }: Of<'job.closed'>): void {
  goOn(timeline);
  timeline.status = status;
  if (why !== undefined) timeline.why = why;
  if (error !== undefined) timeline.error = error;
  timeline.prompts = [];
  const turn = timeline.turns.at(-1);
  if (!turn) return;
  sealBefore(timeline, { turn: turn.n, step: Infinity });
  if (turn.status === 'running') endTurn(turn, status === 'done' ? 'answered' : status, at);
}

function beginTurn(turn: TimelineTurn): void {
  turn.status = 'running';
  delete turn.endedAt;
}

function endTurn(turn: TimelineTurn, how: string, at: number): void {
  turn.status = how;
  turn.endedAt = at;
}

/** What lies before this place is with the model. A call of it without an end of its own was cancelled before it began. */
function sealBefore(timeline: Timeline, place: Place): void {
  const { turns } = timeline;
  for (let t = turns.findLastIndex(({ n }) => n <= place.turn); t >= 0; t--) {
    const turn = turns[t]!;
    const isEarlier = turn.n < place.turn;
    if (isEarlier && turn.status === 'running') turn.status = 'stopped';
    for (let s = turn.steps.findLastIndex(({ n }) => isEarlier || n < place.step); s >= 0; s--) {
      const step = turn.steps[s]!;
      if (step.sealed) return;
      step.sealed = true;
      delete step.live;
      for (const call of step.calls) yieldResult(timeline, call);
    }
  }
}

function yieldResult(timeline: Timeline, call: TimelineCall): void {
  call.end ??= { isError: true, outcome: 'cancelled', bytes: 0, preview: '' };
  call.state = 'yielded';
  delete call.progress;
  closeQuestion(timeline, call);
}

const goesOn = (stop: string | null): boolean => stop === 'max_tokens' || stop === 'pause_turn';

function turnOf(timeline: Timeline, { turn: n, at }: { turn: number; at: number }): TimelineTurn {
  return findOrAdd(
    timeline.turns,
    (turn) => turn.n - n,
    () => ({ n, status: 'running', input: '', startedAt: at, steps: [] }),
  );
}

function stepOf(timeline: Timeline, place: Place & { at: number }): TimelineStep {
  const { step: n } = place;
  const { steps } = turnOf(timeline, place);
  return findOrAdd(
    steps,
    (step) => step.n - n,
    () => ({ n, messages: [], replies: [], failures: [], calls: [], sealed: false }),
  );
}

function callOf(step: TimelineStep, { index }: CallPlace): TimelineCall {
  const fresh = (): TimelineCall => ({ index, id: '', name: '', brief: '', state: 'queued', owners: 0 });
  return findOrAdd(step.calls, (call) => call.index - index, fresh);
}

/** The entry that compares as 0; a new one is put where the order wants it. Almost always it is the last. */
function findOrAdd<T>(list: T[], compare: (entry: T) => number, fresh: () => T): T {
  const at = list.findLastIndex((entry) => compare(entry) <= 0);
  const found = list[at];
  if (found !== undefined && compare(found) === 0) return found;
  const added = fresh();
  list.splice(at + 1, 0, added);
  return added;
}
