import type { JobEvent } from '../../src/shapes/event.ts';

/** What each step but the first cost in ms, from the end of its call to the end of the one before, less the time of its model call: that one grows with the conversation. */
export function stepCosts(events: readonly JobEvent[]): number[] {
  const costs: number[] = [];
  let asked = 0;
  let model = 0;
  let before: number | undefined;
  for (const event of events) {
    if (event.kind === 'model.started') asked = event.at;
    if (event.kind === 'model.ended') model = event.at - asked;
    if (event.kind !== 'call.ended') continue;
    if (before !== undefined) costs.push(event.at - before - model);
    before = event.at;
  }
  return costs;
}
