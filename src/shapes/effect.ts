import type { Micros, Sha } from './ids.ts';

/** What a tool asks the workflow to do for it: things that change the job and not the world. */
export type Effect =
  | { kind: 'sleep'; ms: number }
  /** The call's command goes on in the background: somebody has to watch it. */
  | { kind: 'background'; task: string; brief: string };

/** How an effect ended, handed to the call's next pass. */
export type Outcome = { kind: Effect['kind'] | 'failed'; ok: boolean; body?: Sha; text?: string; spent?: Micros };
