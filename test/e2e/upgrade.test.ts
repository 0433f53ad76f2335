import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ModelServer, startModelServer } from '../../src/app/model-server/start-model-server.ts';
import { distFile } from '../../src/app/service/dist-file.ts';
import type { ServiceStatus } from '../../src/app/service/service-status.ts';
import { stopService } from '../../src/app/service/service.ts';
import { temporalProgram } from '../support/temporal.ts';

const bash = (command: string) => ({ name: 'Bash', input: { command } });
const waitFor = (file: string) => bash(`until [ -e ${file} ]; do sleep 0.05; done; echo ${file} >> journal.txt`);

let top: string;
let work: string;
let model: ModelServer;
let env: Record<string, string | undefined>;
/** Installed packages of the product, by what is different in them. */
let packages: Record<'first' | 'alike' | 'changed' | 'broken' | 'dead', string>;

type End = { code: number; out: string; err: string };

function nightshift(from: string, ...args: string[]): Promise<End> {
  return new Promise((resolve) => {
    const file = join(from, 'dist/src/app/cli.js');
    execFile(process.execPath, [file, ...args], { env, cwd: work }, (error, out, err) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, out, err });
    });
  });
}

function install(name: string, bundle: string): string {
  const root = join(top, name);
  mkdirSync(root);
  cpSync(distFile('.'), join(root, 'dist'), { recursive: true });
  cpSync(distFile('../package.json'), join(root, 'package.json'));
  symlinkSync(join(dirname(distFile('.')), 'node_modules'), join(root, 'node_modules'));
  writeFileSync(join(root, 'dist/workflow-bundle.js'), bundle);
  return root;
}

beforeAll(async () => {
  top = mkdtempSync(join(tmpdir(), 'nightshift-upgrade-'));
  work = join(top, 'work');
  mkdirSync(work);
  model = await startModelServer({
    script: {
      jobs: [
        { match: 'one step', steps: [{ calls: [waitFor('one')] }, { text: 'one step' }] },
        {
          match: 'two steps',
          steps: [{ calls: [waitFor('two')] }, { calls: [waitFor('three')] }, { text: 'two steps' }],
        },
        { match: 'held up', steps: [{ calls: [waitFor('four')] }, { text: 'went on' }] },
        { match: 'a question', steps: [{ calls: [bash('echo asked >> asked.txt')] }, { text: 'asked' }] },
      ],
    },
  });
  const { program } = await temporalProgram();
  const { PATH, HOME } = process.env;
  env = {
    PATH,
    HOME,
    NIGHTSHIFT_HOME: join(top, 'home'),
    NIGHTSHIFT_TEMPORAL_CLI: program,
    ANTHROPIC_BASE_URL: model.url,
    ANTHROPIC_API_KEY: 'test-key',
  };
  const bundle = readFileSync(distFile('workflow-bundle.js'), 'utf8');
  const workflowsPath = fileURLToPath(new URL('../replay/changed-workflows.ts', import.meta.url));
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') });
  const dead = install('dead', `// a build whose worker ends at once\n${bundle}`);
  writeFileSync(join(dead, 'dist/src/app/worker-main.js'), 'process.exit(7);\n');
  packages = {
    first: install('first', bundle),
    alike: install('alike', `// another build\n${bundle}`),
    changed: install('changed', code),
    broken: install('broken', 'this is no program'),
    dead,
  };
  const up = await nightshift(packages.first, 'up');
  if (up.code !== 0) throw new Error(up.err);
});

afterAll(async () => {
  await stopService({ env, now: true });
  await model.close();
  rmSync(top, { recursive: true, force: true });
});

async function status(): Promise<ServiceStatus> {
  return JSON.parse((await nightshift(packages.first, 'status', '--json')).out) as ServiceStatus;
}

async function start(name: string, prompt: string, ...args: string[]): Promise<void> {
  const started = await nightshift(packages.first, 'start', prompt, '--name', name, ...args);
  expect(started, started.err).toMatchObject({ code: 0 });
}

const executing = (name: string, step: number): Promise<void> =>
  expect
    .poll(
      async () => {
        const file = join(top, 'home/jobs', name, 'events.jsonl');
        return existsSync(file) && readFileSync(file, 'utf8').includes(`"call.decided","turn":1,"step":${step}`);
      },
      { timeout: 30_000 },
    )
    .toBe(true);

/** Resolves when the process has said that on stderr; what it says is kept. */
async function says(child: ChildProcess, text: string): Promise<void> {
  let said = '';
  for await (const part of child.stderr!) {
    said += String(part);
    if (said.includes(text)) return;
  }
  throw new Error(`it ended without a word of "${text}": ${said}`);
}

const result = (name: string): Promise<End> => nightshift(packages.first, 'result', name, '--wait');
const journal = (): string => readFileSync(join(work, 'journal.txt'), 'utf8');

describe('up with another build', () => {
  it('takes the worker to it when the open jobs can go on with it, and they do', async () => {
    await start('kept', 'one step', '--allow', 'Bash');
    await executing('kept', 1);
    const before = await status();
    const end = await nightshift(packages.alike, 'up');
    expect(end, end.err).toMatchObject({ code: 0 });
    expect(end.err).toMatch(/2 open workflows replayed, 0 of them/);
    const after = await status();
    expect(after.worker!.pid).not.toBe(before.worker!.pid);
    expect(after.worker!.build).not.toBe(before.worker!.build);
    expect(after.server!.pid).toBe(before.server!.pid);
    // The same build again: nothing is restarted.
    await nightshift(packages.alike, 'up');
    expect((await status()).worker!.pid).toBe(after.worker!.pid);
    writeFileSync(join(work, 'one'), '');
    expect(await result('kept')).toMatchObject({ code: 0, out: 'one step\n' });
    expect(journal()).toBe('one\n');
  });

  it('keeps the worker it has when a job can not, and says which and why', async () => {
    await start('asking', 'a question');
    await expect
      .poll(async () => (await nightshift(packages.first, 'inbox')).out, { timeout: 30_000 })
      .toContain('asking');
    const before = await status();
    const end = await nightshift(packages.changed, 'up', '--wait', '1');
    expect(end.code).toBe(1);
    expect(end.err).toMatch(/asking: asking\/t1 does not fit \(.*[Nn]ondeterminism/);
    expect(end.err).toContain(`the worker of build ${before.worker!.build} works on`);
    expect((await status()).worker).toEqual(before.worker);
  });

  it('keeps the worker it has when the new one is broken or does not start', async () => {
    const before = await status();
    const broken = await nightshift(packages.broken, 'up');
    expect(broken.code, broken.err).toBe(1);
    expect(broken.err).toContain('could not be replayed');
    expect((await status()).worker).toEqual(before.worker);
    const dead = await nightshift(packages.dead, 'up');
    expect(dead.code).toBe(4);
    expect(dead.err).toContain('the one before works on');
    expect((await status()).worker!.build).toBe(before.worker!.build);
  });

  it('says what can not go on when the service was down meanwhile, and the build before mends it', async () => {
    const { worker } = await status();
    await start('held', 'held up', '--allow', 'Bash');
    await executing('held', 1);
    await nightshift(packages.alike, 'down', '--now');
    const end = await nightshift(packages.changed, 'up');
    expect(end.code).toBe(1);
    expect(end.err).toContain('asking');
    expect(end.err).toContain(`put build ${worker!.build} back`);
    writeFileSync(join(work, 'four'), '');
    const listed = async (): Promise<string> => (await nightshift(packages.changed, 'ls')).out;
    await expect.poll(listed, { timeout: 60_000 }).toMatch(/held is stuck: .*another version.*nightshift up/);
    await nightshift(packages.changed, 'down', '--now');
    const again = await nightshift(packages.alike, 'up');
    expect(again, again.err).toMatchObject({ code: 0 });
    expect(await result('held')).toMatchObject({ code: 0, out: 'went on\n' });
    await nightshift(packages.alike, 'allow', 'asking:1');
    expect(await result('asking')).toMatchObject({ code: 0, out: 'asked\n' });
    expect(readFileSync(join(work, 'asked.txt'), 'utf8')).toBe('asked\n');
  });

  it('has a job that does not fit begin a fresh run with the old worker first', async () => {
    await start('renewed', 'two steps', '--allow', 'Bash');
    await executing('renewed', 1);
    const file = join(packages.changed, 'dist/src/app/cli.js');
    const up = spawn(process.execPath, [file, 'up', '--wait', '50'], {
      env,
      cwd: work,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const ended = once(up, 'exit');
    await says(up, 'renewed: renewed/t1 does not fit');
    writeFileSync(join(work, 'two'), '');
    expect(await ended).toEqual([0, null]);
    writeFileSync(join(work, 'three'), '');
    expect(await result('renewed')).toMatchObject({ code: 0, out: 'two steps\n' });
    expect(journal()).toBe('one\nfour\ntwo\nthree\n');
  });
});
