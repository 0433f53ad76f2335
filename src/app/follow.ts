import type { Writable } from 'node:stream';
import type { JobEvent } from '../shapes/event.ts';
import { isServiceError } from './cli-error.ts';
import type { JobClient } from './client.ts';
import { type Io, lineWidth, tell } from './io.ts';
import type { JobInfo } from './job-info.ts';
import { type LiveView, createLiveView } from './live-view.ts';
import { paintFor } from './paint.ts';
import { nextSteps, statusText } from './render.ts';
import { watchTrouble } from './watch-trouble.ts';

/** How following ended: the job settled, or the person left. */
export type Followed = { kind: 'settled'; info: JobInfo } | { kind: 'detached' };

/** A job of which nothing was heard for so long has nobody to do it, in ms. */
const SILENT_AFTER = 15_000;

/** Hands every event of a job to `take`, from the first one, until the job settles or Ctrl-C. Deaths of server and worker only delay it. */
export async function followEvents(
  jobs: JobClient,
  id: string,
  io: Io,
  view: { take(event: JobEvent): void; say(text: string): void },
): Promise<Followed> {
  const stop = new AbortController();
  let detached = false;
  const restore = io.onInterrupt(() => {
    detached = true;
    stop.abort();
  });
  let limit = '';
  let latest: JobInfo | undefined;
  const settled = jobs.settle(id, stop.signal, {
    onInfo: (info) => {
      latest = info;
      const { status, why, text = '' } = info;
      if (status !== 'waiting' || why !== 'limit' || text === limit) return;
      limit = text;
      view.say(`${text}; it goes on with more: nightshift resume ${id} --max-usd X --max-steps N`);
    },
    onLost: () => view.say('the Temporal server does not answer; waiting for it, the job goes on'),
    onBack: () => view.say('the Temporal server is back'),
  });
  const ending = settled.then(
    () => stop.abort(),
    () => stop.abort(),
  );
  const endTrouble = watchTrouble(
    jobs,
    () => latest,
    (text) => view.say(text),
  );
  const silent = setTimeout(() => view.say('no worker has taken the job yet: nightshift status'), SILENT_AFTER);
  try {
    let taken = 0;
    for await (const event of jobs.store.follow(id, stop.signal)) {
      clearTimeout(silent);
      view.take(event);
      taken += 1;
    }
    await ending;
    const info = await settled;
    // All that was written by now belongs to it.
    for (const event of (await jobs.store.events(id)).slice(taken)) view.take(event);
    return { kind: 'settled', info };
  } catch (error) {
    if (detached && !isServiceError(error)) return { kind: 'detached' };
    throw error;
  } finally {
    clearTimeout(silent);
    endTrouble();
    stop.abort();
    restore();
  }
}

/** Follows a job for a person: lines on stderr, on a terminal with a live part below them. `told`: warnings that were read before. */
export async function followForPeople(
  jobs: JobClient,
  id: string,
  io: Io,
  { out = io.stderr, told = [] }: { out?: Writable; told?: readonly string[] } = {},
): Promise<Followed> {
  const screen = await openScreen(out, { id, told }, io);
  const followed = await followEvents(jobs, id, io, screen).finally(() => screen.close());
  if (followed.kind === 'settled' && followed.info.open) {
    const { id, status, why } = followed.info;
    out.write(`\n${[statusText(status, why), ...nextSteps(id, status, why)].join('\n')}\n`);
  }
  if (followed.kind === 'detached') {
    tell(
      io,
      `\nStopped watching; ${id} goes on.\n  nightshift watch ${id}    # look again\n  nightshift cancel ${id}   # end it`,
    );
  }
  return followed;
}

/** How often what changes by itself is drawn anew, in ms. */
const LOOK_EVERY = 1_000;

/** A terminal that is narrower wraps the lines, in columns. */
const NARROWEST = 30;

type Screen = { take(event: JobEvent): void; say(text: string): void; close(): void };

async function openScreen(
  out: Writable & { isTTY?: boolean; columns?: number },
  { id, told }: { id: string; told: readonly string[] },
  io: Io,
): Promise<Screen> {
  const live = out.isTTY === true && io.env['TERM'] !== 'dumb';
  const width = Math.max(NARROWEST, Math.min(lineWidth(out) - 1, 120));
  const view = createLiveView(id, { width, paint: paintFor(live, io.env), told });
  return live ? liveScreen(view, out) : plainScreen(view, out);
}

/** Lines only: a pipe gets no cursor codes. */
function plainScreen(view: LiveView, out: Writable): Screen {
  const print = (lines: string[]): void => {
    if (lines.length > 0) out.write(`${lines.join('\n')}\n`);
  };
  const timer = setInterval(() => print(view.overdue(Date.now())), LOOK_EVERY);
  return {
    take: (event) => print(view.take(event)),
    say: (text) => print(view.note(text)),
    close() {
      clearInterval(timer);
      print(view.rest());
    },
  };
}

/** Printed lines scroll away above; what still changes is drawn anew below them. */
async function liveScreen(view: LiveView, out: Writable): Promise<Screen> {
  const { createLogUpdate } = await import('log-update');
  const update = createLogUpdate(out, { showCursor: true });
  let isDue = false;
  let isOpen = true;
  // Of many events at once, as when a long job is looked at again, only the last needs drawing.
  const draw = (): void => {
    if (isDue) return;
    isDue = true;
    setImmediate(() => {
      isDue = false;
      if (isOpen) update(view.bottom(Date.now()).join('\n'));
    });
  };
  const print = (lines: string[]): void => {
    if (lines.length > 0) {
      update.clear();
      out.write(`${lines.join('\n')}\n`);
    }
    draw();
  };
  const timer = setInterval(draw, LOOK_EVERY);
  return {
    take: (event) => print(view.take(event)),
    say: (text) => print(view.note(text)),
    close() {
      isOpen = false;
      clearInterval(timer);
      const rest = view.rest();
      update.clear();
      if (rest.length > 0) out.write(`${rest.join('\n')}\n`);
      update.done();
    },
  };
}
