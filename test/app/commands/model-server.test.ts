import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { modelServer } from '../../../src/app/commands/model-server.ts';

let folder: string;
let script: string;
const printed = { stdout: '', stderr: '' };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'model-command-'));
  script = join(folder, 'ok.yaml');
  await writeFile(script, 'steps: [{ text: hello }]\n');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

beforeEach(() => {
  for (const name of ['stdout', 'stderr'] as const) {
    printed[name] = '';
    vi.spyOn(process[name], 'write').mockImplementation((text) => {
      printed[name] += String(text);
      return true;
    });
  }
});
afterEach(() => vi.restoreAllMocks());

test.each(['SIGINT', 'SIGTERM'] as const)('serves until %s, says how to use it, and ends with 0', async (signal) => {
  const log = join(folder, `${signal}.jsonl`);
  const before = process.listenerCount(signal);
  const ended = modelServer({ script, log });
  await vi.waitUntil(() => process.listenerCount(signal) > before);
  const url = printed.stdout.trim();
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect(printed.stderr).toContain(`ANTHROPIC_BASE_URL=${url} ANTHROPIC_API_KEY=rehearsal nightshift up`);
  expect((await fetch(`${url}/v1/models`)).status).toBe(401);
  process.rawListeners(signal).at(-1)!(signal);
  expect(await ended).toBe(0);
  expect(process.listenerCount(signal)).toBe(before);
  expect(printed.stderr).toContain('#1: 401 complete: x-api-key header is required');
  expect(JSON.parse(await readFile(log, 'utf8'))).toMatchObject({ path: '/v1/models', status: 401 });
});

test('a wrong script ends with 2 and the place of the fault', async () => {
  const broken = join(folder, 'broken.yaml');
  await writeFile(broken, 'steps:\n  - txt: hello\n');
  expect(await modelServer({ script: broken })).toBe(2);
  expect(printed.stderr).toContain(`${broken}:2: steps.0: unknown field txt`);
  expect(await modelServer({ script: join(folder, 'none.yaml') })).toBe(2);
  expect(printed.stderr).toContain("can't read the script (ENOENT)");
});

test('an impossible port ends with 2', async () => {
  expect(await modelServer({ script, port: 70_000 })).toBe(2);
  expect(printed.stderr).toContain('a port is a whole number from 0 to 65535');
});

test('a taken port ends with 4 and what to do', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const address = other.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  expect(await modelServer({ script, port })).toBe(4);
  expect(printed.stderr).toContain(`port ${port} is taken: give another with --port`);
  other.close();
  await once(other, 'close');
});

test('a log that can not be written ends with 4 and what to do', async () => {
  expect(await modelServer({ script, log: join(folder, 'none', 'log.jsonl') })).toBe(4);
  expect(printed.stderr).toMatch(/can't write the log .* \(ENOENT\)/);
});
