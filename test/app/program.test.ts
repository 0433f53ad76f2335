import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { explainError } from '../../src/app/cli-error.ts';
import { buildProgram, runProgram } from '../../src/app/program.ts';
import type { Env } from '../../src/app/io.ts';
import { distFile } from '../../src/app/service/dist-file.ts';
import { captureIo } from '../support/capture-io.ts';

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'program-'));
});
afterAll(() => rmSync(home, { recursive: true }));

/** Runs a command line as the program does: errors are told and turned into exit codes. */
async function nightshift(args: string[], env: Env = {}): Promise<{ code: number; out: string; err: string }> {
  const io = captureIo({ env: { NIGHTSHIFT_HOME: join(home, 'never-made'), ...env } });
  const code = await runProgram(args, io).catch((error: unknown) => {
    const { exitCode, text } = explainError(error, false);
    io.stderr.write(text);
    return exitCode;
  });
  return { code, out: io.out(), err: io.err() };
}

const program = buildProgram(captureIo(), () => {});
const names = program.commands.map((command) => command.name());

test('every command of the contract is there, and help lists it', async () => {
  const contract = [
    'run',
    'start',
    'ls',
    'show',
    'transcript',
    'watch',
    'logs',
    'result',
    'inbox',
    'allow',
    'deny',
    'send',
    'interrupt',
    'cancel',
    'resume',
    'up',
    'down',
    'status',
    'doctor',
    'worker',
    'model-server',
    'partition',
    'trust',
    'config',
    'permissions',
  ];
  expect(names).toEqual(expect.arrayContaining(contract));
  const { code, out } = await nightshift(['--help']);
  expect(code).toBe(0);
  for (const name of contract) expect(out).toMatch(new RegExp(`^ {2}${name}\\b`, 'm'));
});

test.each(names)('%s -h says what it does, with an example that calls it', async (name) => {
  const { code, out, err } = await nightshift([name, '-h']);
  expect([code, err]).toEqual([0, '']);
  expect(out).toMatch(new RegExp(`Examples:\\n(.*\\n)*.*nightshift ${name}\\b`));
  expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(120);
});

test.each<[string, string[], RegExp]>([
  ['a flag with a typo', ['run', '--modle', 'x', 'Fix it'], /unknown option '--modle'\n\(Did you mean --model\?\)/],
  ['a command with a typo', ['shwo', 'x'], /unknown command 'shwo'\n\(Did you mean show\?\)/],
  ['a prompt without quotes', ['run', 'Fix', 'it'], /too many arguments[^]*"Fix the failing test"/],
  ['a missing id', ['show'], /missing required argument 'id'/],
  ['a status that is none', ['ls', '--status', 'asleep'], /Allowed choices are running, waiting/],
  ['a format that is none', ['run', '--output-format', 'xml', 'Fix it'], /Allowed choices are text, json, stream-json/],
  ['a flag of another command', ['ls', '--max-usd', '5'], /unknown option '--max-usd'/],
  ['a port that is none', ['model-server', '--script', 'x', '--port', 'http'], /it takes a number from 0 to 65535/],
  ['an empty prompt', ['run', '  '], /the prompt is empty\nSay what is to be done/],
  ['no prompt at a terminal', ['start'], /there is no prompt\nSay what is to be done/],
  ['a budget in words', ['start', '--max-usd', 'ten', 'Fix it'], /--max-usd ten: it takes US dollars above 0/],
  [
    'a folder that is not there',
    ['start', '--dir', '/no/such/folder', 'Fix it'],
    /\/no\/such\/folder: there is no such folder/,
  ],
  ['no key for the model', ['start', 'Fix it'], /no credentials for the model API\nexport ANTHROPIC_API_KEY=/],
  ['--reuse without a name', ['start', '--reuse', 'Fix it'], /--reuse needs the name of the job\n--name NAME --reuse/],
  ['no id to answer', ['allow'], /which question\?\nnightshift allow ID/],
  ['ids and all of them', ['deny', '--all', 'a:1'], /--all answers every question; leave the ids out/],
  ['an input for two calls', ['allow', 'a:1', 'a:2', '--input', '{}'], /give exactly one id/],
  ['an input that is no JSON', ['allow', 'a:1', '--input', '{command}'], /--input is not JSON.*\nFor example: --input/],
  ['an input that is no object', ['allow', 'a:1', '--input', '[1]'], /--input is not a JSON object/],
])('%s is wrong usage and says what is right', async (_what, args, message) => {
  const { code, out, err } = await nightshift(args);
  expect(err).toMatch(message);
  expect([code, out]).toEqual([2, '']);
});

test('without a command, help is wrong usage on stderr', async () => {
  const { code, out, err } = await nightshift([]);
  expect([code, out]).toEqual([2, '']);
  expect(err).toContain('Usage: nightshift');
});

test('--version is the version of the package', async () => {
  const { code, out } = await nightshift(['--version']);
  expect(code).toBe(0);
  expect(out).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test('in a home that was never made there is nothing, and looking makes nothing', async () => {
  expect((await nightshift(['ls', '--json'])).out).toBe('[]\n');
  expect((await nightshift(['ls'])).out).toMatch(/no jobs yet/);
  expect((await nightshift(['inbox', '--json'])).out).toBe('[]\n');
  expect((await nightshift(['allow', '--all', '--json'])).out).toBe('[]\n');
  for (const args of [
    ['show', 'x'],
    ['result', 'x'],
    ['logs', 'x'],
    ['cancel', 'x'],
    ['send', 'x', 'y'],
    ['show', '../x'],
  ]) {
    const { code, err } = await nightshift(args);
    expect([code, err]).toEqual([3, expect.stringContaining(`there is no job ${args[1]}`)]);
  }
  const { code, err } = await nightshift(['allow', 'x:1']);
  expect([code, err]).toEqual([3, expect.stringContaining('there is no question x:1')]);
});

test('a rule that is wrong is refused before anything is started', async () => {
  const { code, err } = await nightshift(['start', '--allow', 'Bash(npm', 'Fix it'], { ANTHROPIC_API_KEY: 'k' });
  expect([code, err]).toEqual([2, expect.stringContaining(`"Bash(npm" is not a rule`)]);
});

test.each(['allow', 'deny', 'send', 'resume'])('a command of a job can not %s', async (name) => {
  const args = name === 'send' ? [name, 'x', 'y'] : [name, 'x'];
  const { code, err } = await nightshift(args, { NIGHTSHIFT_CALL: 'job/t1/1.0' });
  expect([code, err]).toEqual([1, expect.stringMatching(/can't be used by a command that a job runs/)]);
});

test('a command of a job is known by its ancestors too, when it drops its own mark', () => {
  const drop = `env -u NIGHTSHIFT_CALL "${process.execPath}" "${cli()}" allow x:1; exit $?`;
  const env = { ...process.env, NIGHTSHIFT_HOME: home, NIGHTSHIFT_CALL: 'job/t1/1.0' };
  const { status, stderr } = spawnSync('sh', ['-c', drop], { env, encoding: 'utf8' });
  expect([status, stderr]).toEqual([1, expect.stringContaining('job/t1/1.0')]);
});

test('an error of ours is its text and its code; anything else is called a bug, with the stack only when asked', () => {
  const bug = new TypeError('x is not a function');
  expect(explainError(bug, false)).toEqual({
    exitCode: 1,
    text: expect.stringMatching(/TypeError: x is not[^]*NIGHTSHIFT_DEBUG=1/),
  });
  expect(explainError(bug, false).text).not.toContain('program.test.ts');
  expect(explainError(bug, true).text).toContain('program.test.ts');
});

test('a reader that leaves early is no error', async () => {
  const child = spawn(process.execPath, [cli(), '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  let said = '';
  child.stderr.on('data', (text) => (said += String(text)));
  const code = await new Promise((resolve) => child.on('close', resolve));
  expect([code, said]).toEqual([0, '']);
});

test('in a folder that was removed a command still works', () => {
  const gone = mkdtempSync(join(tmpdir(), 'gone-'));
  const script = 'cd "$0" && rmdir "$0" && "$1" "$2" ls';
  const env = { ...process.env, NIGHTSHIFT_HOME: join(home, 'never-made') };
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script, gone, process.execPath, cli()], { env });
  expect([status, String(stderr)]).toEqual([0, '']);
  expect(String(stdout)).toMatch(/no jobs yet/);
});

/** The compiled program. */
function cli(): string {
  return distFile('src/app/cli.js');
}
