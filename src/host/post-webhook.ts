import type { Delivery } from '../core/ports.ts';

const TRIES = 3;
const TIMEOUT_MS = 10_000;
/** Before the second and the third try. */
const PAUSES_MS = [1_000, 4_000];

/**
 * Posts JSON to an address that a person gave, up to three times while the other side is not reached, busy or broken.
 * `key` is the same for every try and every repeat, so that the other side can tell them from news. It never throws, and
 * what it says holds no more of the address than its origin: the rest may be a secret.
 */
export async function postWebhook(
  url: string,
  body: string,
  { key, signal, pausesMs = PAUSES_MS }: { key: string; signal: AbortSignal; pausesMs?: readonly number[] },
): Promise<Delivery> {
  for (let n = 0; ; n += 1) {
    const end = await post(url, body, key, signal);
    if (end.ok || !end.again || n + 1 >= TRIES || signal.aborted) return { ok: end.ok, text: end.text };
    await pause(pausesMs[n] ?? 0, signal);
  }
}

async function post(
  url: string,
  body: string,
  key: string,
  signal: AbortSignal,
): Promise<Delivery & { again: boolean }> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'nightshift', 'idempotency-key': key },
      body,
      redirect: 'manual', // the question goes to nobody else
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    await response.body?.cancel();
    const { ok, status } = response;
    return { ok, again: status === 408 || status === 429 || status >= 500, text: `it answered with status ${status}` };
  } catch (error) {
    if (signal.aborted) return { ok: false, again: false, text: 'it was cut off' };
    return { ok: false, again: true, text: `it can't be reached: ${reasonOf(error)}` };
  }
}

/** `fetch` hides the reason one level below. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `no answer for ${TIMEOUT_MS / 1_000} s`;
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
  });
}
