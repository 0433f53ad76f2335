import { activityInfo, CancelledFailure, Context } from '@temporalio/activity';
import type { Hosts } from '../src/core/ports.ts';

/** How often a running activity says that it lives; the server's time-outs are several times longer. */
const BEAT_MS = 1_000;

/** What a body gets of the activity around it. */
export type Life = {
  /** Aborted when the workflow wants the activity to end. */
  cancelled: AbortSignal;
  /** What watchers see of it: the last few hundred bytes. */
  say(text: string): void;
};

/**
 * Runs an activity's body under heartbeats, with its task token kept where it is found when this process dies. A cancel
 * by the workflow aborts `cancelled` and the body ends by itself; when the activity is lost otherwise (shutdown,
 * time-out, a newer attempt), nobody waits for the body any more and what it started is left to the next owner.
 */
export async function alive<T>(hosts: Hosts, body: (life: Life) => Promise<T>): Promise<T> {
  const context = Context.current();
  const release = hosts.holdToken(activityInfo().base64TaskToken);
  let said: string | undefined;
  const beat = setInterval(() => context.heartbeat(said), BEAT_MS);
  const cancel = new AbortController();
  const letGo = new Promise<never>((_, reject) => {
    context.cancelled.catch((error: unknown) => {
      if (context.cancellationDetails?.cancelRequested) cancel.abort(error);
      else reject(error instanceof Error ? error : new CancelledFailure('the activity was lost'));
    });
  });
  letGo.catch(() => undefined);
  try {
    const life: Life = {
      cancelled: cancel.signal,
      say: (text) => {
        said = text;
      },
    };
    return await Promise.race([body(life), letGo]);
  } catch (error) {
    throw withoutSecrets(error, hosts);
  } finally {
    clearInterval(beat);
    release();
  }
}

/** A failure goes into the server's history, with its stack and its causes. */
function withoutSecrets(error: unknown, hosts: Hosts): unknown {
  for (let one = error, depth = 0; one instanceof Error && depth < 10; one = one.cause, depth += 1) {
    one.message = hosts.scrub(one.message);
    if (one.stack !== undefined) one.stack = hosts.scrub(one.stack);
  }
  return error;
}
