import { createHash } from 'node:crypto';
import type { JobEvent } from '../shapes/event.ts';
import type { Usage } from '../shapes/message.ts';
import { isRepeated } from './job-summary.ts';
import type { JobResult } from './job-result.ts';

/** A message of `--output-format stream-json`, one per line. */
export type StreamMessage = { type: string; session_id: string; uuid: string } & Record<string, unknown>;

/** Turns events into stream-json messages; `tools` are the names of those that the model has. What has no shape of its own there is a `system` message. */
export function createStreamJson(
  id: string,
  tools: readonly string[],
): {
  take(event: JobEvent): StreamMessage[];
  end(result: JobResult, durationMs: number, steps: number): StreamMessage;
} {
  const seen = new Set<string>();
  const replies = new Set<string>();
  const callIds = new Map<string, string>();
  const denials: { tool_name: string; tool_use_id: string; tool_input: unknown }[] = [];
  const inputs = new Map<string, { name: string; id: string; input: unknown }>();
  let apiMs = 0;
  let asked: number | undefined;
  let model = '';

  const message = (type: string, body: Record<string, unknown>): StreamMessage => ({
    type,
    ...body,
    session_id: id,
    uuid: uuidOf(`${id} ${type} ${JSON.stringify(body)}`),
  });
  const system = (subtype: string, body: Record<string, unknown>): StreamMessage =>
    message('system', { subtype, ...body });

  return { take, end };

  /** Events may come twice; of what has a place only the first is told. */
  function take(event: JobEvent): StreamMessage[] {
    const key = keyOf(event);
    if (key !== undefined && seen.has(key)) return [];
    if (key !== undefined) seen.add(key);
    switch (event.kind) {
      case 'job.opened':
        ({ model } = event);
        return [
          system('init', {
            cwd: event.dir,
            model,
            permissionMode: event.mode,
            tools,
            mcp_servers: [],
            slash_commands: [],
            title: event.title,
            warnings: event.warnings,
          }),
        ];
      case 'job.waiting':
        return [system('status', { status: 'waiting', why: event.why, until: iso(event.until), text: event.text })];
      case 'job.resumed':
        return [system('status', { status: 'running' })];
      case 'model.started':
        asked = event.at;
        return [];
      case 'model.ended': {
        if (isRepeated(replies, event)) return [];
        apiMs += asked === undefined ? 0 : event.at - asked;
        for (const call of event.calls) inputs.set(`${event.turn}.${event.step}.${call.index}`, call);
        return [
          message('assistant', {
            parent_tool_use_id: null,
            timestamp: iso(event.at),
            message: {
              id: `${id}/${event.turn}.${event.step}`,
              type: 'message',
              role: 'assistant',
              model,
              content: [
                ...(event.text === '' ? [] : [{ type: 'text', text: event.text }]),
                ...event.calls.map((call) => ({ type: 'tool_use', id: call.id, name: call.name, input: call.input })),
              ],
              stop_reason: event.stop,
              usage: apiUsage(event.usage),
            },
          }),
        ];
      }
      case 'model.failed':
        return [system('api_retry', { error: event.error, retry_at: iso(event.until) })];
      case 'call.started':
        callIds.set(`${event.turn}.${event.step}.${event.index}`, event.id);
        return [];
      case 'call.progress':
        return [message('tool_progress', { tool_use_id: callId(event), parent_tool_use_id: null, text: event.text })];
      case 'call.ended': {
        const { preview, bytes, path, outcome } = event;
        const call = inputs.get(`${event.turn}.${event.step}.${event.index}`);
        if (outcome === 'denied' && call) {
          denials.push({ tool_name: call.name, tool_use_id: call.id, tool_input: call.input });
        }
        const result = { type: 'tool_result', tool_use_id: callId(event), content: preview, is_error: event.isError };
        return [
          message('user', {
            parent_tool_use_id: null,
            timestamp: iso(event.at),
            message: { role: 'user', content: [result] },
            tool_use_result: { outcome, preview, bytes, path: path ?? null },
          }),
        ];
      }
      case 'prompt.opened':
        return [system('permission_request', { id: event.id, tool_name: event.tool, brief: event.brief })];
      case 'prompt.answered':
        return [system('permission_answer', { id: event.id, behavior: event.behavior, used: event.used })];
      case 'prompt.withdrawn':
        return [system('permission_answer', { id: event.id, behavior: null, used: false, text: event.text })];
      case 'task.started':
        return [system('task_started', { task_id: event.id, description: event.brief, output_file: event.outputFile })];
      case 'task.ended':
        return [system('task_notification', { task_id: event.id, status: event.status, summary: event.summary })];
      case 'hook.ended':
        return [
          system('hook_response', {
            hook_event: event.event,
            hook_name: event.hook,
            outcome: event.status,
            decision: event.decision ?? null,
            output: event.text ?? '',
          }),
        ];
      case 'job.closed':
      case 'turn.started':
      case 'turn.ended':
      case 'message.taken':
      case 'model.text':
      case 'call.decided':
      case 'call.asked':
      case 'events.lost':
        return [];
      // A kind of a later version.
      default:
        return [];
    }
  }

  function callId(event: { turn: number; step: number; index: number }): string {
    const place = `${event.turn}.${event.step}.${event.index}`;
    return inputs.get(place)?.id ?? callIds.get(place) ?? place;
  }

  function end(result: JobResult, durationMs: number, steps: number): StreamMessage {
    return message('result', {
      subtype: subtypeOf(result),
      is_error: result.isError,
      duration_ms: durationMs,
      duration_api_ms: apiMs,
      num_turns: steps,
      ...(result.isError ? { errors: [result.result] } : { result: result.result }),
      total_cost_usd: result.costUsd,
      usage: apiUsage(result.usage),
      permission_denials: denials,
      status: result.status,
    });
  }
}

function subtypeOf(result: JobResult): string {
  if (result.status === 'done' || result.status === 'idle') return 'success';
  if (result.why === 'usd') return 'error_max_budget_usd';
  return result.why === 'turns' || result.why === 'steps' ? 'error_max_turns' : 'error_during_execution';
}

/** Tokens under the names that the Messages API gives them. */
function apiUsage(usage: Usage): Record<string, unknown> {
  const { cacheWrite5m, cacheWrite1h } = usage;
  return {
    input_tokens: usage.input,
    output_tokens: usage.output,
    cache_read_input_tokens: usage.cacheRead,
    cache_creation_input_tokens: cacheWrite5m + cacheWrite1h,
    cache_creation: { ephemeral_5m_input_tokens: cacheWrite5m, ephemeral_1h_input_tokens: cacheWrite1h },
  };
}

function keyOf(event: JobEvent): string | undefined {
  switch (event.kind) {
    case 'call.ended':
      return `${event.kind} ${event.turn}.${event.step}.${event.index}`;
    case 'prompt.opened':
    case 'task.started':
    case 'task.ended':
      return `${event.kind} ${event.id}`;
    default:
      return undefined;
  }
}

/** The same message has the same id, however often it is read. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}

function iso(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
