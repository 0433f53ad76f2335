import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Env } from '../../../src/app/service/home.ts';
import { type Service, currentService, ensureService, stopService } from '../../../src/app/service/service.ts';
import { isAlive, type ProcessIdentity } from '../../../src/host/identity.ts';
import { type Rig, rig, RULES } from '../../support/rig.ts';

const preload = fileURLToPath(new URL('../../support/block-on-signal.mjs', import.meta.url));
const command = 'echo begun >> journal.txt; until [ -e go ]; do sleep 0.05; done; echo ended >> journal.txt';
/** In ms. */
const SILENT_AFTER = 3_000;

let r: Rig;
let env: Env;

beforeEach(async () => {
  const steps = [{ calls: [{ name: 'Bash', input: { command } }] }, { text: 'the end' }];
  r = await rig({ jobs: [{ match: 'silent', steps }] }, { workers: 0 });
  const { PATH, HOME } = process.env;
  env = {
    PATH,
    HOME,
    NODE_OPTIONS: `--import ${preload}`,
    NIGHTSHIFT_HOME: r.home.home,
    TEMPORAL_ADDRESS: r.server.address,
    ANTHROPIC_BASE_URL: r.model.url,
    ANTHROPIC_API_KEY: 'test-key',
  };
});
afterEach(async () => {
  await stopService({ env, now: true });
  await r.close();
});

const workerOf = (service: Service | undefined): ProcessIdentity | undefined => service?.state.record.worker?.identity;
const journal = (): string => readFileSync(join(r.dir, 'journal.txt'), 'utf8');

test.each([
  ['is stopped as a process', 'SIGSTOP'],
  ['whose main loop is blocked', 'SIGWINCH'],
] as const)(
  'the only worker, %s (%s), is killed by its keeper and replaced, and what it did goes on',
  async (_, signal) => {
    const silent = workerOf(await ensureService({ env, silentAfter: SILENT_AFTER }))!;
    const allow = [{ text: 'Bash', tool: 'Bash', source: { kind: 'cli' as const, base: r.dir } }];
    const id = await r.start('silent', { rules: { ...RULES, allow } });
    await vi.waitFor(() => expect(journal()).toBe('begun\n'), { timeout: 30_000 });

    process.kill(silent.pid, signal);
    const from = performance.now();
    await vi.waitFor(() => expect(isAlive(silent)).toBe(false), { timeout: 20_000, interval: 20 });
    const took = performance.now() - from;
    expect(took).toBeGreaterThan(SILENT_AFTER - 1_000);
    expect(took).toBeLessThan(SILENT_AFTER + 3_000); // a beat and a look, each of a second

    const owner = await r.event(id, 'call.started', (event) => event.owner === 2);
    expect(owner.name).toBe('Bash');
    expect(workerOf(await currentService(env))).not.toEqual(silent);
    expect(readFileSync(join(r.home.logs, 'keeper.log'), 'utf8')).toContain(
      `worker: silent for 3 s, killing it (pid ${silent.pid})`,
    );
    writeFileSync(join(r.dir, 'go'), '');
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(journal()).toBe('begun\nended\n');
  },
);
