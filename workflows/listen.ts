import { type CancellationScope, setDefaultSignalHandler, setHandler, log } from '@temporalio/workflow';
import type { CallRef } from '../src/shapes/call.ts';
import type { Answer } from '../src/shapes/prompt.ts';
import type { TurnState, TurnView } from '../src/shapes/turn.ts';
import { answer, note, rollOver, rules, stop, turnView, wake } from './messages.ts';

/** What reaches a turn from outside, and what of it is running. */
export type Box = {
  model: CancellationScope | undefined;
  woken: boolean;
  answers: Map<string, Answer>;
  /** Calls in flight, by index. `waits`: for a person or a timer; then it is always interruptible. */
  live: Map<number, { call: CallRef; scope: CancellationScope; waits: boolean }>;
};

/** Registers the turn's doors. Handlers only store, and cancel what must end at once. */
export function listen(s: TurnState, root: CancellationScope): Box {
  const box: Box = { model: undefined, woken: false, answers: new Map(), live: new Map() };
  setHandler(answer, (a) => void box.answers.set(a.id, box.answers.get(a.id) ?? a));
  setHandler(note, (n) => {
    if (!s.taken.includes(n.id) && !s.inbox.some((known) => known.id === n.id)) s.inbox.push(n);
  });
  setHandler(rules, (r) => {
    if (r.rev <= s.rulesRev) return;
    [s.rules, s.rulesRev] = [r.sha, r.rev];
    if (r.mode) s.ctx.mode = r.mode;
  });
  setHandler(wake, () => {
    box.woken = true;
  });
  setHandler(rollOver, () => {
    s.rollOver = true;
  });
  const presses = new Set<string>();
  setHandler(stop, ({ why, now, press }) => {
    if (press && presses.has(press)) return; // the same one, by way of the job
    if (press) presses.add(press);
    if (s.reason || now) root.cancel(); // pressed twice: calls that block end too
    s.reason ??= why;
    box.model?.cancel();
    for (const live of box.live.values()) {
      if (live.call.interrupt === 'cancel' || live.waits) live.scope.cancel();
    }
  });
  setDefaultSignalHandler((name) => log.warn('unknown signal', { name }));
  setHandler(turnView, () => view(s, box));
  return box;
}

function view(s: TurnState, box: Box): TurnView {
  const live = [...box.live.values()];
  const asks = live.some((l) => l.waits);
  const state = (call: CallRef): TurnView['calls'][number]['state'] => {
    if (s.open?.done[call.index]) return 'completed';
    return box.live.has(call.index) ? 'executing' : 'queued';
  };
  return {
    step: s.open ? s.step : s.step + 1,
    head: s.head,
    ...(s.open ? { open: s.open } : {}),
    activity: box.model ? 'model' : asks ? 'prompt' : live.length > 0 ? 'tool_exec' : 'wait',
    calls: (s.open?.calls ?? []).map((call) => ({ id: call.id, name: call.name, state: state(call) })),
    interruptible: live.every((l) => l.waits || l.call.interrupt === 'cancel'),
  };
}
