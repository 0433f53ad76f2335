import type { HookJob } from '../core/ports.ts';
import type { Hook, HookRun } from '../shapes/hook.ts';

type HttpHook = Extract<Hook, { type: 'http' }>;

/** Bytes of an answer that are read. */
const KEPT = 1 << 20;

/** Asks a handler by HTTP. Only an answer 2xx with JSON or nothing counts; a redirect is not followed. */
export async function postHook(hook: HttpHook, job: HookJob): Promise<HookRun> {
  const began = performance.now();
  const timeout = AbortSignal.timeout(job.timeoutMs);
  const end = await ask(hook, job, AbortSignal.any([job.signal, timeout])).catch((error: unknown) => ({
    ...nothing,
    failed: `it can't be reached: ${reasonOf(error)}`,
  }));
  const ms = Math.round(performance.now() - began);
  if (job.signal.aborted) return { ...nothing, ms, aborted: true };
  return timeout.aborted ? { ...nothing, ms, timedOut: true } : { ...end, ms };
}

const nothing = { exit: null, stdout: '', stderr: '' };

async function ask(hook: HttpHook, job: HookJob, signal: AbortSignal): Promise<Omit<HookRun, 'ms'>> {
  const response = await fetch(hook.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headersOf(hook, job.env) },
    body: job.input,
    redirect: 'manual',
    signal,
  });
  const body = await textOf(response);
  if (!response.ok) return { ...nothing, failed: `it answered with status ${response.status}` };
  const text = body.trim();
  if (text !== '' && !text.startsWith('{')) return { ...nothing, failed: 'its answer is no JSON object' };
  return { exit: 0, stdout: text, stderr: '' };
}

/** Variables that were not named for this handler are empty, so that it gets no secret by accident. */
function headersOf({ headers = {}, allowedEnvVars = [] }: HttpHook, env: HookJob['env']): Record<string, string> {
  const valueOf = (name: string): string => (allowedEnvVars.includes(name) ? (env[name] ?? '') : '');
  const fill = (text: string): string =>
    text.replaceAll(/\$(?:\{(\w+)\}|([A-Za-z_]\w*))/g, (_all, braced?: string, plain?: string) =>
      valueOf(braced ?? plain ?? ''),
    );
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, fill(value)]));
}

async function textOf(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let room = KEPT;
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk.subarray(0, room), { stream: true });
    room -= chunk.length;
    if (room <= 0) break;
  }
  return text;
}

/** `fetch` hides the reason one level below. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message || error.message : error.message;
}
