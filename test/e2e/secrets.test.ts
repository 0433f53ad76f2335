import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SCRUBBED } from '../../src/core/scrub.ts';
import { type Rig, rig, RULES } from '../support/rig.ts';

const KEY = 'sk-ant-rehearsal-0123456789';
const steal = (many: string): { name: string; input: Record<string, unknown> } => ({
  name: 'Bash',
  input: {
    command: `key=$(tr '\\0' '\\n' < /proc/{{prompt | match /worker (\\d+)/}}/environ | grep ^ANTHROPIC_API_KEY); for i in $(seq ${many}); do echo "$key"; done`,
  },
});
let r: Rig;

beforeAll(async () => {
  r = await rig(
    { keys: [KEY], steps: [{ calls: [steal('1')] }, { calls: [steal('2000')] }, { text: 'I read {{result.0}}' }] },
    { env: { ANTHROPIC_API_KEY: KEY } },
  );
});
afterAll(() => r.close());

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

/** Every text in a history, those inside its payloads too. */
function* texts(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (value instanceof Uint8Array) yield Buffer.from(value).toString('utf8');
  else if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) yield* texts(part);
}

test('the key of the model, read from the worker by a command, reaches neither model nor watchers nor the server', async () => {
  const pid = r.workers[0]!.child.pid;
  const allow = { text: 'Bash', tool: 'Bash', source: { kind: 'cli' as const, base: r.dir } };
  const id = await r.start(`steal from worker ${pid}`, { rules: { ...RULES, allow: [allow] } });
  expect(await r.settled(id)).toMatchObject({ status: 'done' });
  const messages = JSON.stringify(await r.messages(id));
  expect(messages).toContain(`ANTHROPIC_API_KEY=${SCRUBBED}`);
  expect(messages).not.toContain(KEY);
  const history = await r.temporal.workflow.getHandle(`${id}/t1`).fetchHistory();
  const said = [...texts(history)].join('\n');
  expect(said).toContain('runTool');
  expect(said).not.toContain(KEY);
  const jobs = join(r.home.jobs, id);
  for (const place of ['events.jsonl', 'record.json'])
    expect(readFileSync(join(jobs, place), 'utf8')).not.toContain(KEY);
  for (const file of filesBelow(join(jobs, 'blobs'))) expect(readFileSync(file, 'utf8'), file).not.toContain(KEY);
});
