import { appendFileSync, closeSync, openSync } from 'node:fs';
import type { ReplyUsage } from './frames.ts';
import type { Outcome } from './send.ts';

/** One request as the server saw it; fields that never became known stay away. */
export interface LoggedRequest {
  /** ISO 8601, UTC: when the request arrived. */
  at: string;
  /** Counts from 1. */
  n: number;
  path: string;
  job?: string;
  /** Counts from 1. */
  step?: number;
  /** How many requests this step of this conversation has had, with this one. */
  attempt?: number;
  model?: string;
  /** The number of messages in the request. */
  messages?: number;
  /** Sha256 of system, tools and messages without cache_control. */
  prefixHash?: string;
  stream?: boolean;
  status?: number;
  /** The text of the error answer. */
  refused?: string;
  /** Events written so far; an unstreamed answer is one. */
  events: number;
  /** A scripted stall holds the answer at this moment. */
  stalled?: boolean;
  /** `open` until the answer has ended. */
  outcome: Outcome | 'open';
  usage?: ReplyUsage;
  /** Only when the script says `bodies: true`. */
  body?: unknown;
}

/** Keeps every request, writes each as a JSON line when it ends, and wakes those who wait for one. */
export function createRequestLog(file: string | undefined, onEnd?: (entry: LoggedRequest) => void) {
  const entries: LoggedRequest[] = [];
  const waiting = new Set<() => void>();
  const descriptor = file === undefined ? undefined : openSync(file, 'a');
  let closed = false;
  const changed = () => {
    for (const look of waiting) look();
  };
  return {
    entries: (): LoggedRequest[] => entries.map((entry) => ({ ...entry })),
    begin(entry: Omit<LoggedRequest, 'n' | 'events' | 'outcome'>): LoggedRequest {
      const begun: LoggedRequest = { n: entries.length + 1, ...entry, events: 0, outcome: 'open' };
      entries.push(begun);
      return begun;
    },
    update(entry: LoggedRequest, change: Partial<LoggedRequest>): void {
      Object.assign(entry, change);
      changed();
    },
    end(entry: LoggedRequest, change: Partial<LoggedRequest> & { outcome: Outcome }): void {
      Object.assign(entry, change);
      const { stalled: _, ...line } = entry;
      if (descriptor !== undefined && !closed) appendFileSync(descriptor, `${JSON.stringify(line)}\n`);
      onEnd?.({ ...entry });
      changed();
    },
    /** Resolves with the first request that fits, now or later; rejects when the server closes before. */
    waitFor(fits: (entry: LoggedRequest) => boolean): Promise<LoggedRequest> {
      return new Promise((resolve, reject) => {
        const look = () => {
          const found = entries.find(fits);
          if (!found && !closed) return;
          waiting.delete(look);
          if (found) resolve({ ...found });
          else reject(new Error('the model server closed before the awaited request came'));
        };
        waiting.add(look);
        look();
      });
    },
    close(): void {
      if (closed) return;
      closed = true;
      if (descriptor !== undefined) closeSync(descriptor);
      changed();
    },
  };
}
