import { turnId } from '../src/core/paths.ts';
import type { JobEvent } from '../src/shapes/event.ts';
import { stepCosts } from '../test/support/step-costs.ts';
import { rig, RULES, type Rig } from '../test/support/rig.ts';
import { type Figure, mean, round, spread } from './figure.ts';

/** What a step of one tool costs, in time and in history, and whether it grows with the job. */
export async function steps(full: boolean): Promise<Figure[]> {
  const count = full ? 2_000 : 400;
  const r = await rig({
    jobs: [
      {
        match: 'long',
        steps: [{ repeat: count, calls: [{ name: 'Glob', input: { pattern: 'a{{n}}.txt' } }] }, { text: 'done' }],
      },
      {
        match: 'ten',
        steps: [
          { repeat: 10, calls: Array.from({ length: 10 }, () => ({ name: 'Bash', input: { command: 'sleep 0.2' } })) },
          { text: 'done' },
        ],
      },
      {
        match: 'answer',
        steps: [{ repeat: 20, calls: [{ name: 'Bash', input: { command: 'touch {{n}}' } }] }, { text: 'done' }],
      },
    ],
  });
  try {
    return [...(await longJob(r, count)), await tenAtOnce(r), await answers(r)];
  } finally {
    await r.close();
  }
}

async function longJob(r: Rig, count: number): Promise<Figure[]> {
  const id = await r.start('long');
  await r.settled(id);
  const costs = stepCosts(r.events(id));
  const tenth = Math.floor(count / 10);
  const [first, last] = [mean(costs.slice(0, tenth)), mean(costs.slice(-tenth))];
  let events = 0;
  let bytes = 0;
  for await (const run of r.temporal.workflow.list({ query: `WorkflowId = '${turnId(id, 1)}'` })) {
    const seen = await r.temporal.workflow.getHandle(run.workflowId, run.runId).describe();
    events += seen.historyLength;
    bytes += Number(seen.historySize);
  }
  return [
    spread('a one-tool step (Glob), less its model call (min / median / max)', costs, '≤ 35 ms median'),
    { name: 'last tenth ÷ first tenth of the job', value: round(last / first), target: '≤ 1.1', n: count },
    {
      name: 'history of a one-tool step',
      value: `${round(events / count)} events, ${round(bytes / count / 1024)} KiB`,
      target: '12 events, ≤ 4 KiB',
      n: count,
    },
  ];
}

/** From the start of the model call to the last of ten results. */
async function tenAtOnce(r: Rig): Promise<Figure> {
  const id = await r.start('ten');
  await r.settled(id);
  const events = r.events(id);
  const begins = times(events, 'model.started').slice(0, 10);
  const spans = begins.map((begin, step) => {
    const ends = events.flatMap((event) => (event.kind === 'call.ended' && event.step === step + 1 ? [event.at] : []));
    return Math.max(...ends) - begin;
  });
  return spread('ten calls of 200 ms in one message, with its model call', spans, '≤ 280 ms');
}

/** From the answer's command to the start of the tool. */
async function answers(r: Rig): Promise<Figure> {
  const id = await r.start('answer', { rules: RULES });
  const spans: number[] = [];
  for (let n = 1; n <= 20; n++) {
    await r.event(id, 'prompt.opened', (event) => event.id === `${id}:${n}`);
    const before = Date.now();
    await r.client.signal(id, 'answerPermission', { id: `${id}:${n}`, behavior: 'allow' });
    const decided = await r.event(id, 'call.decided', (event) => event.step === n && event.reason.kind === 'person');
    spans.push(decided.at - before);
  }
  await r.settled(id);
  return spread('answer to a question → the tool runs', spans, '≤ 50 ms');
}

const times = (events: JobEvent[], kind: JobEvent['kind']): number[] =>
  events.flatMap((event) => (event.kind === kind ? [event.at] : []));
