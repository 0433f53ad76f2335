import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { event, type Frame } from './frames.ts';
import type { Pace, Trouble } from './plan.ts';

/** How sending a reply ended; `stalled`: the client gave up in a stall, `aborted`: it went away at another time. */
export type Outcome = 'complete' | 'cut' | 'error_event' | 'stalled' | 'aborted';

/** A reply on its way out. */
export interface Sending {
  frames: readonly Frame[];
  contentType: string;
  pace: Pace;
  /** Applies at a byte offset into the frames. */
  trouble?: { at: number; what: Exclude<Trouble, { kind: 'fail' }> };
  /** Called whenever something became visible to the client. */
  onProgress(progress: { frames: number; stalled: boolean }): void;
}

/** Writes a reply with its pace and its scripted trouble. */
export async function sendReply(response: ServerResponse, sending: Sending): Promise<Outcome> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  if (response.destroyed) gone.abort();
  let stalling = false;
  try {
    return await play(response, sending, gone.signal, (stalled) => (stalling = stalled));
  } catch (error) {
    if (!gone.signal.aborted) throw error;
    return stalling ? 'stalled' : 'aborted';
  }
}

async function play(
  response: ServerResponse,
  sending: Sending,
  signal: AbortSignal,
  setStalling: (stalled: boolean) => void,
): Promise<Outcome> {
  const { frames, pace, trouble } = sending;
  const gap = pace.duration / frames.length;
  const pings = createPings(pace.pingEvery);
  let sent = 0;

  const write = async (bytes: Buffer) => {
    if (bytes.length === 0) return;
    if (!response.headersSent)
      response.writeHead(200, { 'content-type': sending.contentType, 'cache-control': 'no-cache' });
    sent += bytes.length;
    if (!response.write(bytes)) await once(response, 'drain', { signal });
    signal.throwIfAborted();
  };
  const pause = async (ms: number, withPings: boolean) => {
    if (ms === Infinity && !(withPings && pace.pingEvery)) {
      await once(signal, 'abort');
      signal.throwIfAborted();
    }
    for (let left = ms; left > 0;) {
      const step = withPings ? Math.min(left, pings.next()) : left;
      await wait(step, undefined, { signal });
      left -= step;
      if (withPings && pings.passed(step)) response.write(event('ping', {}));
    }
  };
  /** The outcome, when the reply ends here; `between`: no event is half written, so that pings may go out. */
  const meetTrouble = async (written: number, between: boolean): Promise<Outcome | undefined> => {
    const what = trouble!.what;
    if (what.kind === 'stall') {
      setStalling(true);
      sending.onProgress({ frames: written, stalled: true });
      await pause(what.ms, what.pings && between && response.headersSent);
      setStalling(false);
      sending.onProgress({ frames: written, stalled: false });
      return undefined;
    }
    if (what.kind === 'error') {
      await write(event('error', { error: { type: what.type, message: what.message } }));
      await finish(response, signal);
      return 'error_event';
    }
    await cut(response, what.how, signal);
    return 'cut';
  };

  if (pace.delay > 0) await wait(pace.delay, undefined, { signal });
  signal.throwIfAborted();
  for (const [i, { bytes }] of frames.entries()) {
    if (gap > 0) await pause(gap, response.headersSent);
    const upTo = trouble ? trouble.at - sent : Infinity;
    if (upTo >= 0 && upTo < bytes.length) {
      await write(bytes.subarray(0, upTo));
      const end = await meetTrouble(i, upTo === 0);
      if (end) return end;
      await write(bytes.subarray(upTo));
    } else {
      await write(bytes);
    }
    sending.onProgress({ frames: i + 1, stalled: false });
  }
  if (trouble && trouble.at === sent) {
    const end = await meetTrouble(frames.length, true);
    if (end) return end;
  }
  await finish(response, signal);
  return 'complete';
}

function createPings(every: number | undefined) {
  let left = every ?? Infinity;
  return {
    next: () => left,
    /** Whether a ping is due after so many milliseconds. */
    passed(ms: number): boolean {
      left -= ms;
      if (left > 0) return false;
      left = every ?? Infinity;
      return true;
    },
  };
}

async function finish(response: ServerResponse, signal: AbortSignal): Promise<void> {
  response.end();
  if (!response.writableFinished) await once(response, 'finish', { signal });
}

/** Milliseconds between the last bytes and a reset, because a reset takes away what the client has not read yet. */
const RESET_AFTER = 20;

/** Ends the connection early, after everything written so far has left this process. */
async function cut(response: ServerResponse, how: 'fin' | 'close' | 'reset', signal: AbortSignal): Promise<void> {
  if (how === 'fin' && response.headersSent) return finish(response, signal);
  const { socket } = response;
  if (!socket || socket.destroyed) return;
  if (how === 'reset' && response.headersSent) await wait(RESET_AFTER, undefined, { signal });
  const closed = new Promise((resolve) => socket.once('close', resolve));
  if (how === 'reset') socket.resetAndDestroy();
  else socket.destroySoon();
  await closed;
}
