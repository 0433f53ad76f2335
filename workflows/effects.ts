import { condition } from '@temporalio/workflow';
import type { Effect, Outcome } from '../src/shapes/effect.ts';
import type { TurnState } from '../src/shapes/turn.ts';

/** Does what a tool may only ask for: things that change the job and not the world. */
export async function perform(effect: Effect, s: TurnState): Promise<Outcome> {
  switch (effect.kind) {
    case 'sleep': {
      const interrupted = await condition(() => s.reason !== undefined, effect.ms);
      return { kind: 'sleep', ok: !interrupted };
    }
  }
}
