import type { Client } from '@temporalio/client';
import { CliError, Exit, isServiceError } from './cli-error.ts';

/**
 * A connected client, and the queue of our home on that server; `workers` counts those of the home that live. `early`:
 * the service was started for this, and its worker, of this version, is still to come.
 */
export type Connected = {
  client: Client;
  taskQueue: string;
  workers: () => number | Promise<number>;
  early?: () => boolean;
  close(): Promise<void>;
};

/** How long after its deadline a request may still be tried again, in ms. */
const TRIED_AGAIN_MS = 10_000;

/** The way to the server: dials when it is first used, and again after it was lost. Every request has a deadline. */
export class TemporalDoor {
  readonly #dial: () => Promise<Connected>;
  #connected: Promise<Connected> | undefined;

  constructor(dial: () => Promise<Connected>) {
    this.#dial = dial;
  }

  /** Runs a request that must answer within `ms`; throws a CliError with code 4 when the server does not. */
  async call<T>(request: (to: Connected) => Promise<T>, ms = 10_000): Promise<T> {
    const opening = this.#open();
    const connected = await opening;
    try {
      return await connected.client.withDeadline(Date.now() + ms, () => request(connected));
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      if (this.#connected === opening) this.#connected = undefined;
      // The SDK tries the other requests on it again until their deadline, and a closed channel would end the process.
      setTimeout(() => void connected.close().catch(() => undefined), ms + TRIED_AGAIN_MS).unref();
      throw new CliError(
        Exit.service,
        `the Temporal server does not answer (${rootMessage(error)})`,
        'nightshift status   # what runs\nnightshift doctor   # what is wrong',
      );
    }
  }

  /** The connection is made anew by the next call. */
  async close(): Promise<void> {
    const connected = this.#connected;
    this.#connected = undefined;
    await connected?.then((to) => to.close()).catch(() => undefined);
  }

  #open(): Promise<Connected> {
    this.#connected ??= this.#dial();
    const opening = this.#connected;
    opening.catch(() => {
      if (this.#connected === opening) this.#connected = undefined;
    });
    return opening;
  }
}

const UNREACHABLE = new Set([4, 14]);
const NO_WORKER = new Set([1, 4, 9, 14]);

/** Whether the server itself gave no answer. */
export function isUnreachable(error: unknown): boolean {
  const code = grpcCode(error);
  return code !== undefined && UNREACHABLE.has(code);
}

/** Whether a query found nobody to answer it in time. */
export function isUnanswered(error: unknown): boolean {
  if (isServiceError(error)) return true;
  const code = grpcCode(error);
  return (code !== undefined && NO_WORKER.has(code)) || isNamed(error, 'QueryNotRegisteredError');
}

/** Whether there is no such workflow, or it has ended. */
export function isNotFound(error: unknown): boolean {
  return isNamed(error, 'WorkflowNotFoundError') || grpcCode(error) === 5;
}

/** Whether a workflow of that id is open, or was ever there when that is refused too. */
export function isAlreadyStarted(error: unknown): boolean {
  return isNamed(error, 'WorkflowExecutionAlreadyStartedError') || grpcCode(error) === 6;
}

function isNamed(error: unknown, name: string): boolean {
  return error instanceof Error && error.name === name;
}

/** The status number of the RPC, from wherever the SDK has wrapped it. */
function grpcCode(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  if ('code' in error && typeof error.code === 'number') return error.code;
  return grpcCode(error.cause);
}

function rootMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? rootMessage(error.cause) : error.message;
}
