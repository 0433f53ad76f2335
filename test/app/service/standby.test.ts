import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Env } from '../../../src/app/service/home.ts';
import { findOrphans } from '../../../src/app/service/orphans.ts';
import {
  type Service,
  currentService,
  ensureService,
  keepStandby,
  renewVariables,
  stopService,
} from '../../../src/app/service/service.ts';
import { serviceStatus } from '../../../src/app/service/service-status.ts';
import { isAlive, killIdentity } from '../../../src/host/identity.ts';
import { closeServiceHome, openServiceHome, standInWorker } from '../../support/stand-in-service.ts';

let root: string;
let env: Env;

beforeEach(async () => {
  ({ root, env } = await openServiceHome('standby'));
});
afterEach(() => closeServiceHome({ root, env }));

const pids = (service: Service): (number | undefined)[] => {
  const { worker, standby } = service.state.record;
  return [worker?.identity.pid, standby?.identity.pid];
};
/** The pids of both workers once both run and none is of those. */
const others = (than: (number | undefined)[]): Promise<(number | undefined)[]> =>
  vi.waitFor(
    async () => {
      const now = pids((await currentService(env))!);
      if (now.some((pid) => pid === undefined || than.includes(pid))) throw new Error(`not yet: ${now.join(' ')}`);
      return now;
    },
    { timeout: 20_000, interval: 50 },
  );

test('a service with a standby keeps two workers, shows both, and replaces whichever dies', async () => {
  const service = await ensureService({ env, files: { worker: standInWorker }, standby: true });
  const first = pids(service);
  const status = await serviceStatus(env);
  expect(status.worker?.pid).toBe(first[0]);
  expect(new Set(status.workers.map(({ pid }) => pid))).toEqual(new Set(first));
  const { worker: one, standby: two } = service.state.record;
  for (const { identity } of [two!, one!]) killIdentity(identity, 'SIGKILL');
  const second = await others(first);
  expect((await currentService(env))!.state.record).toMatchObject({
    worker: { restarts: 1 },
    standby: { restarts: 1 },
  });
  expect(await stopService({ env, now: true })).toBe(true);
  expect(findOrphans(service.home)).toEqual({ servers: [], workers: [] });
  expect([one!, two!].some(({ identity }) => isAlive(identity))).toBe(false);
  expect(second).not.toContain(undefined);
});

test('a running service is given a standby, once, and new variables reach both workers', async () => {
  const alone = await ensureService({ env, files: { worker: standInWorker } });
  expect(pids(alone)[1]).toBeUndefined();
  const both = await keepStandby(alone, () => undefined);
  expect(pids(both)[0]).toBe(pids(alone)[0]);
  expect(pids(both)[1]).toBeGreaterThan(0);
  expect(pids(await keepStandby(both, () => undefined))).toEqual(pids(both));
  const renewed = await renewVariables(both, { ...env, ANTHROPIC_API_KEY: 'another' }, () => undefined);
  expect(pids(renewed).filter((pid) => pids(both).includes(pid))).toEqual([]);
});
