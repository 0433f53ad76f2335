import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadScript, parseScript } from '../../../src/app/model-server/load-script.ts';
import { parseDuration, parsePattern, parsePoint } from '../../../src/app/model-server/notation.ts';
import { planScript, troubleOf } from '../../../src/app/model-server/plan.ts';
import { startModelServer } from '../../../src/app/model-server/start-model-server.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'model-server-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const BROKEN: Array<[what: string, yaml: string, message: string | RegExp]> = [
  ['broken YAML', 'steps:\n  - text: "open\n', /^s\.yaml:\d+: not valid YAML or JSON/],
  ['broken JSON', '{\n  "steps": [\n', /^s\.yaml:\d+: not valid YAML or JSON/],
  ['a key twice', 'steps:\n  - text: a\nsteps: []\n', /^s\.yaml:3: .*unique/],
  ['an empty file', '', 's.yaml: the script: Invalid input: expected object'],
  ['neither jobs nor steps', 'bodies: true\n', 's.yaml:1: the script: a script needs jobs (a list), or steps'],
  ['no steps', 'jobs:\n  - match: x\n', 's.yaml:2: jobs.0.steps: Invalid input: expected array'],
  [
    'an unknown field',
    'steps:\n  - text: a\n  - txet: b\n',
    's.yaml:3: steps.1: unknown field txet; see docs/model-server.md',
  ],
  [
    'a step that says nothing',
    'steps:\n  - text: a\n  - delay: 1s\n',
    's.yaml:3: steps.1: a step needs text, thinking, calls or blocks',
  ],
  [
    'a wrong duration',
    'steps:\n  - text: a\n    delay: soon\n',
    's.yaml:3: steps.0.delay: expected a duration such as 200ms',
  ],
  [
    'a wrong place',
    'steps:\n  - text: a\n    cut:\n      after: noon\n',
    /^s\.yaml:4: .*expected one of: start, first_byte/,
  ],
  [
    'an error event inside an event',
    'steps:\n  - text: a\n    error_event: { after: 9 bytes }\n',
    'an error event stands between events',
  ],
  [
    'a wrong count',
    'steps:\n  - text: a\n    fail: { status: 500, times: 0 }\n',
    /times: expected a whole number from 1, or forever/,
  ],
  ['a wrong status', 'steps:\n  - text: a\n    fail:\n      - status: 200\n', /^s\.yaml:4: steps\.0\.fail\.0\.status/],
  [
    'a broken expression',
    'jobs:\n  - match: "/(/"\n    steps: [{ text: a }]\n',
    's.yaml:2: jobs.0.match: expected a text to look for',
  ],
  [
    'a broken template',
    'steps:\n  - calls:\n      - name: Bash\n        input:\n          command: "{{env.HOME}}"\n',
    /^s\.yaml:5: steps\.0\.calls\.0\.input\.command: can't read the template "\{\{env\.HOME\}\}"/,
  ],
  [
    'a job that is never reached',
    'jobs:\n  - steps: [{ text: a }]\n  - match: x\n    steps: [{ text: a }]\n',
    's.yaml:2: jobs.0: a job without match takes every conversation',
  ],
  [
    'two kinds of content',
    'steps:\n  - text: a\n    blocks: []\n',
    'give blocks, or text, thinking and calls, not both',
  ],
  [
    'two kinds of input',
    'steps:\n  - calls: [{ name: A, input: {}, input_json: "{}" }]\n',
    'give input or input_json, not both',
  ],
  [
    'a block without its content',
    'steps:\n  - blocks: [{ type: redacted_thinking }]\n',
    'a redacted_thinking block needs data',
  ],
];

test.each(BROKEN)('says where and what is wrong: %s', (_, yaml, message) => {
  expect(() => parseScript(yaml, 's.yaml')).toThrow(message);
});

test('a script is YAML or JSON, with or without lists round single entries', async () => {
  const yaml = 'steps:\n  - thinking: hm\n    text: a\n    expect: ok\n    fail: { status: 429 }\n';
  const json = JSON.stringify(
    { steps: [{ thinking: { text: 'hm' }, text: 'a', expect: ['ok'], fail: [{ status: 429 }] }] },
    null,
    '\t',
  );
  await writeFile(join(folder, 'a.yaml'), yaml);
  await writeFile(join(folder, 'a.json'), json);
  expect(await loadScript(join(folder, 'a.yaml'))).toEqual(await loadScript(join(folder, 'a.json')));
});

test('a missing file and a folder are named', async () => {
  await expect(loadScript(join(folder, 'none.yaml'))).rejects.toThrow(/none\.yaml: can't read the script \(ENOENT\)/);
  await expect(loadScript(folder)).rejects.toThrow(/EISDIR/);
});

test('a script given as a value is checked too', async () => {
  await expect(startModelServer({ script: {} })).rejects.toThrow('script: the script: a script needs jobs');
});

test.each([
  [0, 0],
  [250, 250],
  ['200ms', 200],
  ['1.5s', 1500],
  ['2m', 120_000],
  ['1h', 3_600_000],
  ['2', undefined],
  [-1, undefined],
  ['30d', undefined],
  ['999h', undefined],
  [null, undefined],
])('the duration %j is %j ms', (written, ms) => {
  expect(parseDuration(written)).toBe(ms);
});

test('a pattern is a text, or an expression without memory', () => {
  expect(parsePattern('a.b')?.('xa.bx')).toBe(true);
  expect(parsePattern('a.b')?.('axb')).toBe(false);
  const global = parsePattern('/A.b/gi');
  expect([global?.('axb'), global?.('axb')]).toEqual([true, true]);
  expect(parsePattern('/(/')).toBeUndefined();
});

test.each([
  ['start', { at: 'start' }],
  ['1 event', { at: 'events', count: 1 }],
  ['12 bytes', { at: 'bytes', count: 12 }],
  ['block 2', { at: 'block', index: 2 }],
  ['two events', undefined],
])('the place %s', (written, point) => {
  expect(parsePoint(written)).toEqual(point);
});

test('troubles follow each other by kind and count, then stop', () => {
  const script = parseScript(
    'steps:\n  - text: a\n    stall: { after: start, for: 1s }\n    cut: { after: end, times: 2 }\n    fail: { status: 500 }\n',
  );
  const step = planScript(script)[0]!.steps[0]!.step;
  expect([1, 2, 3, 4, 5].map((attempt) => troubleOf(step, attempt)?.kind)).toEqual([
    'fail',
    'cut',
    'cut',
    'stall',
    undefined,
  ]);
});

test('defaults of the script, the job and the step override each other', () => {
  const script = parseScript(
    'defaults: { chunk: 1, delay: 1s, ping_every: 1s }\njobs:\n  - defaults: { delay: 2s, ping_every: 2s }\n    steps: [{ text: a, ping_every: 3s }]\n',
  );
  expect(planScript(script)[0]!.steps[0]!.pace).toEqual({ chunk: 1, delay: 2000, duration: 0, pingEvery: 3000 });
});
