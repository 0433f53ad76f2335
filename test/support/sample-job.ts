import type { JobEvent } from '../../src/shapes/event.ts';
import { usage } from './usage.ts';

/** A time of the sample job, in milliseconds since the epoch. */
export const at = (second: number): number => Date.parse('2026-11-30T12:00:00Z') + second * 1000;

const place = { turn: 1, step: 1 };
const bash = { turn: 1, step: 2, index: 0 };
const command = 'rm -rf build && make';

/** A job of three steps: two reads, a command that a person allows and a second worker takes over, the answer. */
export const sampleJob: JobEvent[] = [
  {
    at: at(0),
    kind: 'job.opened',
    title: 'Fix it',
    dir: '/srv/app',
    model: 'claude-sonnet-5-5',
    mode: 'default',
    warnings: [],
  },
  { at: at(0), kind: 'turn.started', turn: 1, input: 'prompt' },
  { at: at(0), kind: 'model.started', ...place, attempt: 1 },
  { at: at(1), kind: 'model.text', ...place, text: 'hm', thinking: true },
  { at: at(1), kind: 'model.text', ...place, text: 'I read the code first.\nTwo fi' },
  { at: at(1.2), kind: 'model.text', ...place, text: 'les.' },
  {
    at: at(2),
    kind: 'model.ended',
    ...place,
    text: 'I read the code first.\nTwo files.',
    stop: 'tool_use',
    usage: usage({ input: 900, output: 40 }),
    spent: 3300,
    calls: [
      { index: 0, id: 'a', name: 'Read', brief: 'src/parse.ts', safe: true, input: { file_path: 'src/parse.ts' } },
      { index: 1, id: 'b', name: 'Grep', brief: 'parseDate', safe: true, input: { pattern: 'parseDate' } },
    ],
  },
  { at: at(2), kind: 'call.started', ...place, index: 0, id: 'a', name: 'Read', brief: 'src/parse.ts', owner: 1 },
  { at: at(2), kind: 'call.started', ...place, index: 1, id: 'b', name: 'Grep', brief: 'parseDate', owner: 1 },
  {
    at: at(2),
    kind: 'call.decided',
    ...place,
    index: 0,
    behavior: 'allow',
    reason: { kind: 'tool', text: 'It only reads.' },
    text: 'It only reads.',
  },
  { at: at(2.1), kind: 'call.ended', ...place, index: 0, isError: false, outcome: 'ok', bytes: 1800, preview: 'x' },
  {
    at: at(2.4),
    kind: 'call.ended',
    ...place,
    index: 1,
    isError: true,
    outcome: 'error',
    bytes: 20,
    preview: 'no match\nmore',
  },
  { at: at(3), kind: 'model.started', turn: 1, step: 2, attempt: 1 },
  {
    at: at(4),
    kind: 'model.ended',
    turn: 1,
    step: 2,
    text: '',
    stop: 'tool_use',
    usage: usage({ input: 100, cacheRead: 900, output: 30 }),
    spent: 3600,
    calls: [{ index: 0, id: 'c', name: 'Bash', brief: command, safe: false, input: { command } }],
  },
  { at: at(4), kind: 'call.started', ...bash, id: 'c', name: 'Bash', brief: command, owner: 1 },
  { at: at(4), kind: 'call.asked', ...bash, key: 'k', text: 'no rule allows it', suggestions: ['Bash(make:*)'] },
  { at: at(4), kind: 'prompt.opened', id: 'fix-it-x7k2:1', key: 'k', tool: 'Bash', brief: command, since: at(4) },
  { at: at(64), kind: 'prompt.answered', id: 'fix-it-x7k2:1', behavior: 'allow', used: true, by: 'ann@desk' },
  { at: at(64), kind: 'call.started', ...bash, id: 'c', name: 'Bash', brief: command, owner: 1 },
  {
    at: at(64),
    kind: 'call.decided',
    ...bash,
    behavior: 'allow',
    reason: { kind: 'person', by: 'ann@desk' },
    text: 'ann@desk decided so.',
  },
  { at: at(70), kind: 'call.progress', ...bash, text: 'cc a.c\ncc b.c\n', bytes: 14 },
  { at: at(71), kind: 'call.started', ...bash, id: 'c', name: 'Bash', brief: command, owner: 2 },
  { at: at(80), kind: 'call.ended', ...bash, isError: false, outcome: 'adopted', bytes: 60_000, preview: 'ok' },
  { at: at(80), kind: 'model.started', turn: 1, step: 3, attempt: 1 },
  {
    at: at(82),
    kind: 'model.ended',
    turn: 1,
    step: 3,
    text: 'Done.',
    calls: [],
    stop: 'end_turn',
    usage: usage({ input: 1200, output: 10 }),
    spent: 3700,
  },
  { at: at(83), kind: 'job.closed', status: 'done', spent: 10_600 },
];

/** The sample job up to and with the n-th event of a kind. */
export function upTo(kind: JobEvent['kind'], n = 1): JobEvent[] {
  let left = n;
  const last = sampleJob.findIndex((event) => event.kind === kind && (left -= 1) === 0);
  return sampleJob.slice(0, last + 1);
}
