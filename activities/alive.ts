import { activityInfo, ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import type { Hosts } from '../src/core/hosts.ts';

/** How often a running activity says that it lives; the server's time-outs are several times longer. */
const BEAT_MS = 1_000;
/** The server may hand what is due at once to a last poll of the worker that stops. */
const RETRY_AFTER = '100 milliseconds';

/** What a body gets of the activity around it. */
export type Life = {
  /** Aborted when the workflow wants the activity to end. */
  cancelled: AbortSignal;
  /** Aborted when whoever only waits is to throw its reason: the worker stops, or the activity is lost. */
  leave: AbortSignal;
  /** What watchers see of it: the last few hundred bytes. */
  say(text: string): void;
};

/**
 * Runs an activity's body under heartbeats, with its task token kept where it is found when this process dies. A cancel
 * by the workflow aborts `cancelled` and the body ends by itself. When the worker is told to stop, `leave` aborts, and a
 * body that does not heed it may end within the worker's grace time. When the activity is lost otherwise (time-out, a
 * newer attempt, a terminated workflow, the end of the grace time), nobody waits for the body any more and what it
 * started is left to the next owner.
 */
export async function alive<T>(hosts: Hosts, body: (life: Life) => Promise<T>): Promise<T> {
  const context = Context.current();
  const release = hosts.holdToken(activityInfo().base64TaskToken);
  let said: string | undefined;
  const beat = setInterval(() => context.heartbeat(said), BEAT_MS);
  const cancel = new AbortController();
  const leave = new AbortController();
  const stop = (): void => leave.abort(stopped());
  hosts.stopping.addEventListener('abort', stop, { once: true });
  if (hosts.stopping.aborted) stop();
  const life: Life = {
    cancelled: cancel.signal,
    leave: leave.signal,
    say: (text) => {
      said = text;
    },
  };
  const lost = new Promise<never>((_, reject) => {
    context.cancelled.catch((error: unknown) => {
      if (context.cancellationDetails?.cancelRequested) return cancel.abort(error);
      const reason = error instanceof Error ? error : new CancelledFailure('the activity was lost');
      leave.abort(reason);
      reject(reason);
      hosts.activityLost();
    });
  });
  lost.catch(() => undefined);
  try {
    return await Promise.race([body(life), lost]);
  } catch (error) {
    throw toldSafely(error, hosts);
  } finally {
    clearInterval(beat);
    hosts.stopping.removeEventListener('abort', stop);
    release();
  }
}

/** What an activity fails with that is left to the next worker; it is no fault of the activity. */
const stopped = (): ApplicationFailure =>
  ApplicationFailure.create({
    message: 'the worker was stopped',
    type: 'WorkerStopped',
    category: 'BENIGN',
    nextRetryDelay: RETRY_AFTER,
  });

/** Characters of a failure's message, and of its stack, that are told of it; of its causes less and less. */
const TOLD = 2_000;

/**
 * A failure goes into the server's history, with its stack and its causes: without secrets, and cut, as of one that is
 * too large the server keeps nothing that says what it was.
 */
function toldSafely(error: unknown, hosts: Hosts): unknown {
  let limit = TOLD;
  for (let one = error, depth = 0; one instanceof Error && depth < 10; one = one.cause, depth += 1) {
    const { message, stack } = one;
    one.message = clipped(hosts.scrub(message), limit);
    // It begins with the message.
    if (stack !== undefined) one.stack = clipped(hosts.scrub(stack.replace(message, '…')), limit / 4);
    limit /= 4;
  }
  return error;
}

const clipped = (text: string, limit: number): string => (text.length > limit ? `${text.slice(0, limit)}…` : text);
