import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ShellExit, ShellRun, ShellSpec } from '../../src/core/ports.ts';
import {
  currentIdentity,
  hasEnded,
  identityOf,
  isAlive,
  killIdentity,
  ProcessIdentity,
  statOf,
} from '../../src/host/identity.ts';
import { membersOf } from '../../src/host/kill-tree.ts';
import { readOutput } from '../../src/host/read-output.ts';
import { adopt, killMarked, MAX_COMMAND_BYTES, start } from '../../src/host/supervisor.ts';
import { runTs } from '../support/run-ts.ts';

const SCRIPT = fileURLToPath(new URL('../../src/host/supervisor.sh', import.meta.url));
const STARTER = fileURLToPath(new URL('../support/shell-starter.ts', import.meta.url));

let root: string;
let count = 0;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'supervisor-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

interface Place {
  dir: string;
  mark: string;
}

function place(): Place {
  count++;
  return { dir: join(root, `run ${count}'s "folder"`), mark: `${root}/${count}` };
}

function specOf(command: string, more: Partial<ShellSpec> = {}): Omit<ShellSpec, 'mark'> {
  const env = { PATH: process.env['PATH'] ?? '', HOME: root };
  return { command, cwd: root, env, timeoutMs: 30_000, maxBytes: 100e6, ...more };
}

const patience = (): AbortSignal => AbortSignal.timeout(20_000);

async function run(command: string, more: Partial<ShellSpec> = {}, sh?: string): Promise<Ran> {
  const { dir, mark } = place();
  const shell = await start(dir, { ...specOf(command, more), mark }, sh);
  const exit = await shell.exit(patience());
  return { exit, output: await readFile(shell.outputPath, 'utf8'), dir, mark, shell };
}
interface Ran extends Place {
  exit: ShellExit;
  output: string;
  shell: ShellRun;
}

const supervisorOf = (dir: string): ProcessIdentity =>
  ProcessIdentity.parse(JSON.parse(readFileSync(join(dir, 'process'), 'utf8')));

const isRunning = (pid: number): boolean => !hasEnded(statOf(pid));

function pidsInSession(session: number): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && isRunning(pid) && statOf(pid)?.sid === session);
}

function nameOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[0] ?? '';
  } catch {
    return 'gone';
  }
}

/** Waits until a command has written `n` pids, a line each, to the file. */
async function pidsIn(path: string, n: number): Promise<number[]> {
  const read = (): number[] =>
    existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean).map(Number) : [];
  await expect.poll(() => read().length, { timeout: 10_000 }).toBeGreaterThanOrEqual(n);
  return read();
}

describe.each(['/bin/sh', '/bin/bash'])('a command under the supervisor in %s', (sh) => {
  const here = (command: string, more: Partial<ShellSpec> = {}): Promise<Ran> => run(command, more, sh);

  it('tells exit code, last working directory and the output in the order it was written', async () => {
    const { exit, output, dir } = await here('echo a; echo b >&2; bash -c "echo c; echo d >&2"; cd /usr; exit 7');
    expect(exit).toEqual({ code: 7, why: 'exit', cwd: '/usr' });
    expect(output).toBe('a\nb\nc\nd\n');
    expect(readdirSync(dir).sort()).toEqual(['command', 'cwd', 'exit', 'output', 'prelude', 'process']);
  });

  it('does not lose output when a program opens /dev/stderr anew', async () => {
    const { output } = await here('echo before; echo note >/dev/stderr; echo more >/dev/stdout; echo after');
    expect(output).toBe('before\nnote\nmore\nafter\n');
  });

  it('is a plain `bash -c`: no arguments, no stdin, no open files, default signals, its own errors', async () => {
    const { exit, output } = await here(
      'echo "$0 $# $NIGHTSHIFT_CALL ${BASH_ENV-unset} ${OLDPWD-unset}"; cat; echo /proc/$$/fd/*; no-such-program; kill -INT $$',
    );
    // What the test runner itself hands on to every child is not ours.
    const inherited = execFileSync('/bin/bash', ['-c', 'echo /proc/$$/fd/*'], { encoding: 'utf8' });
    const [first, fds, error] = output.split('\n');
    expect(first).toMatch(/^bash 0 \S+supervisor-\S+\/\d+ unset unset$/);
    expect(fds?.replaceAll(/\d+\/fd/g, 'fd')).toBe(inherited.replaceAll(/\d+\/fd/g, 'fd').trim());
    expect(error).toBe('bash: line 1: no-such-program: command not found');
    expect(exit).toMatchObject({ code: 130, signal: 'SIGINT', why: 'exit' });
  });

  it('gets the environment as given, also what the script itself could use', async () => {
    const env = { PATH: '/nowhere', dir: 'a', IFS: ':', ns: 'it\'s\n"new"', LANG: 'C', BASH_ENV: join(root, 'rc') };
    await writeFile(join(root, 'rc'), 'SOURCED=yes\n');
    const { output } = await here('echo "$PATH|$dir|$ns|$SOURCED|$BASH_ENV"', { env });
    expect(output).toBe(`/nowhere|a|it's\n"new"|yes|${join(root, 'rc')}\n`);
  });

  it('takes newlines, quotes, unicode, here-documents and long commands as they are', async () => {
    const long = `echo ${'ä'.repeat(2_500)}`;
    const { exit, output } = await here(`cat <<'END'\n$HOME 'quoted' "\\n" 🌙\nEND\n\n${long}\n# end`);
    expect(exit.code).toBe(0);
    expect(output).toBe(`$HOME 'quoted' "\\n" 🌙\n${'ä'.repeat(2_500)}\n`);
    const huge = `: ${'x'.repeat(MAX_COMMAND_BYTES - 2)}`;
    expect((await here(huge)).exit).toMatchObject({ code: 0 });
  });

  it('keeps every byte of 20 MB and of binary output', async () => {
    const { output } = await here('yes 0123456789abcde | head -c 20000000');
    expect(output.length).toBe(20_000_000);
    const { shell } = await here('head -c 1000000 /dev/urandom | tee copy.bin; cmp -s copy.bin copy.bin', {
      cwd: root,
    });
    expect((await readFile(shell.outputPath)).equals(await readFile(join(root, 'copy.bin')))).toBe(true);
  });

  it('never takes a command that it cannot read for one that did nothing and succeeded', async () => {
    const sh = join(root, 'sh-without-command');
    await writeFile(sh, '#!/bin/sh\nrm command\nexec /bin/sh "$@"\n', { mode: 0o755 });
    const { exit, output } = await run('echo never', {}, sh);
    expect(exit).toMatchObject({ code: 126, why: 'exit' });
    expect(output).toMatch(/command'?: No such file/);
  });

  it('tells no working directory when the command deleted it or set its own trap', async () => {
    const doomed = join(root, `doomed-${sh.replaceAll('/', '')}`);
    await mkdir(doomed);
    const { exit, output } = await here(`rm -rf "$PWD"; echo done`, { cwd: doomed });
    expect({ exit, output }).toEqual({ exit: { code: 0, why: 'exit' }, output: 'done\n' });
    expect((await here('trap "echo bye" EXIT')).exit).toEqual({ code: 0, why: 'exit' });
    expect((await here('exec true')).exit).toEqual({ code: 0, why: 'exit' });
    expect((await here('kill -KILL $$')).exit).toEqual({ code: 137, signal: 'SIGKILL', why: 'exit' });
  });

  it('ends a command at its deadline, lets it clean up, and kills what ignores that', async () => {
    const polite = await here('trap "echo cleaned; exit 3" TERM; echo on; while :; do sleep 0.05; done', {
      timeoutMs: 300,
    });
    expect(polite.exit).toEqual({ code: 3, why: 'deadline', cwd: root });
    expect(polite.output).toMatch(/^on\n(.*\n)*cleaned\n$/);
    const stubborn = await here('trap "" TERM; setsid bash -c "sleep 1000; :" & while :; do sleep 0.05; done', {
      timeoutMs: 300,
    });
    expect(stubborn.exit).toEqual({ code: 137, signal: 'SIGKILL', why: 'deadline' });
    expect(await membersOf(stubborn)).toEqual([]);
  });

  it('ends a command whose output is too large', async () => {
    const { exit, shell, mark } = await here('while :; do echo 0123456789; done', { maxBytes: 10_000 });
    expect(exit).toMatchObject({ why: 'size' });
    expect(statSync(shell.outputPath).size).toBeGreaterThan(10_000);
    expect(await membersOf({ mark })).toEqual([]);
  });

  it('does not wait for what the command left running, and leaves none of it', async () => {
    const pidFile = join(root, `left-${sh.replaceAll('/', '')}`);
    const { exit, output } = await here(
      `note() { echo $BASHPID >>'${pidFile}'; exec "$@"; }
       note sleep 1000 &
       (note setsid sleep 1000 &)
       (note env -i sleep 1000 &)
       (note env -i setsid bash -c 'sleep 1000; :' &)
       (note nohup setsid sh -c 'trap "" HUP TERM; sleep 1000; :' &)
       while [ "$(wc -l <'${pidFile}')" -lt 5 ]; do :; done; echo left`,
    );
    expect({ exit, output: output.split('\n').at(-2) }).toEqual({
      exit: { code: 0, why: 'exit', cwd: root },
      output: 'left',
    });
    expect((await pidsIn(pidFile, 5)).filter(isRunning)).toEqual([]);
  });

  it('is not ended by signals that are meant for others, keeps its deadline, and leaves no process of its own', async () => {
    const { dir, mark } = place();
    const shell = await start(dir, { ...specOf('echo up; sleep 1000', { timeoutMs: 1_500 }), mark }, sh);
    const supervisor = supervisorOf(dir);
    const namesOf = (): string[] => pidsInSession(supervisor.pid).map(nameOf).sort();
    // The supervisor, its watchdog between two looks, and the reader of the output.
    await expect.poll(namesOf, { interval: 5 }).toEqual(['cat', 'sh', 'sh', 'sleep']);
    await expect.poll(() => readFileSync(shell.outputPath, 'utf8')).toBe('up\n');
    for (const pid of pidsInSession(supervisor.pid)) {
      if (nameOf(pid) !== 'sh') continue;
      for (const signal of ['SIGHUP', 'SIGTERM', 'SIGINT'] as const) killIdentity(identityOf(pid)!, signal);
    }
    expect(await shell.exit(patience())).toMatchObject({ why: 'deadline', signal: 'SIGTERM' });
    expect(await membersOf({ mark })).toEqual([]);
    await expect.poll(namesOf).toEqual([]);
  });

  it('is ended by its watchdog when the supervisor is killed and no worker lives', async () => {
    const { dir, mark } = place();
    const pidFile = join(root, `orphan-${count}`);
    await start(dir, { ...specOf(`echo $$ >'${pidFile}'; setsid sleep 1000 & sleep 1000`), mark }, sh);
    const [pid] = await pidsIn(pidFile, 1);
    const supervisor = supervisorOf(dir);
    killIdentity(supervisor, 'SIGKILL');
    await expect.poll(() => isRunning(pid!), { timeout: 5_000 }).toBe(false);
    await expect.poll(() => membersOf({ mark }), { timeout: 5_000 }).toEqual([]);
    await expect.poll(() => pidsInSession(supervisor.pid), { timeout: 5_000 }).toEqual([]);
  });
});

describe('a running command', () => {
  it('ends, with its supervisor, when its folder is removed', async () => {
    const { dir, mark } = place();
    await start(dir, { ...specOf('sleep 1000'), mark });
    await expect.poll(async () => (await membersOf({ mark })).length).toBeGreaterThan(0);
    const supervisor = supervisorOf(dir);
    await rm(dir, { recursive: true });
    await expect.poll(() => membersOf({ mark }), { timeout: 5_000 }).toEqual([]);
    await expect.poll(() => pidsInSession(supervisor.pid), { timeout: 5_000 }).toEqual([]);
  });

  it('is killed as a tree: fork storm, stopped and escaped processes included', async () => {
    const { dir, mark } = place();
    const pidFile = join(root, `storm-${count}`);
    const shell = await start(dir, {
      ...specOf(
        `note() { echo $BASHPID >>'${pidFile}'; }
         storm() { note; [ "$1" -gt 0 ] && for i in 1 2 3; do storm $(($1 - 1)) & done; wait; sleep 1000; }
         trap '' TERM
         env -i setsid bash -c 'echo $$ >>"${pidFile}"; trap "" TERM; while :; do sleep 0.01; done' &
         (note; kill -STOP $BASHPID; sleep 1000) &
         storm 3`,
      ),
      mark,
    });
    const pids = await pidsIn(pidFile, 42);
    expect(pids.filter(isRunning).length).toBe(42);
    const waiting = shell.exit(patience());
    await shell.kill();
    expect(pids.filter(isRunning)).toEqual([]);
    expect(await membersOf({ mark })).toEqual([]);
    expect(await waiting).toMatchObject({ why: 'killed' });
    await shell.kill();
  });

  it('may clean up when it is killed', async () => {
    const { dir, mark } = place();
    const lock = join(root, `lock-${count}`);
    const shell = await start(dir, {
      ...specOf(`bash -c 'trap "rm ${lock}; exit" TERM; echo >${lock}; while :; do sleep 0.02; done'`),
      mark,
    });
    await expect.poll(() => existsSync(lock)).toBe(true);
    await shell.kill();
    expect(existsSync(lock)).toBe(false);
    expect(await shell.exit(patience())).toMatchObject({ why: 'killed' });
  });

  it('is killed also when its supervisor is stopped', async () => {
    const { dir, mark } = place();
    const shell = await start(dir, { ...specOf('sleep 1000'), mark });
    await expect.poll(async () => (await membersOf({ mark })).length).toBeGreaterThan(0);
    const supervisor = supervisorOf(dir);
    for (const pid of pidsInSession(supervisor.pid)) killIdentity(identityOf(pid)!, 'SIGSTOP');
    await shell.kill();
    expect(await membersOf({ mark })).toEqual([]);
    await expect.poll(() => pidsInSession(supervisor.pid)).toEqual([]);
    expect(await shell.exit(patience())).toEqual({ code: null, why: 'killed' });
  });

  it('is killed by its mark alone', async () => {
    const { dir, mark } = place();
    const shell = await start(dir, { ...specOf('sleep 1000 & setsid sleep 1000'), mark });
    await expect.poll(async () => (await membersOf({ mark })).length).toBeGreaterThanOrEqual(3);
    expect(await killMarked(`${mark}0`)).toBe(0);
    expect(await killMarked(mark)).toBeGreaterThanOrEqual(3);
    expect(await shell.exit(patience())).toMatchObject({ why: 'exit', code: 143 });
  });

  it('tells its progress while it grows', async () => {
    const { dir, mark } = place();
    const go = join(root, `go-${count}`);
    const command = `printf '%0500d🌙\\n' 7; until [ -e '${go}' ]; do sleep 0.05; done`;
    const shell = await start(dir, { ...specOf(command), mark });
    const told: [string, number][] = [];
    const exit = shell.exit(patience(), (tail, bytes) => {
      told.push([tail, bytes]);
      void writeFile(go, '');
    });
    expect(await exit).toMatchObject({ code: 0 });
    expect(told).toEqual([[`${'0'.repeat(394)}7🌙\n`, 505]]);
  });

  it('goes on when nobody waits for it any more', async () => {
    const { dir, mark } = place();
    const shell = await start(dir, { ...specOf('sleep 1000'), mark });
    const stop = new AbortController();
    const waiting = shell.exit(stop.signal);
    stop.abort(new Error('not needed now'));
    await expect(waiting).rejects.toThrow('not needed now');
    expect((await adopt(dir)).kind).toBe('running');
    await shell.kill();
  });
});

describe('adopting a command', () => {
  it('finds it running after the kill of the process that started it, and its end', async () => {
    const { dir, mark } = place();
    const go = join(root, `go-${count}`);
    const starter = runTs(STARTER, [
      dir,
      mark,
      `echo one; until [ -e '${go}' ]; do sleep 0.02; done; echo two; exit 5`,
    ]);
    expect(await starter.line()).toBe('started');
    await starter.kill();
    const adoption = await adopt(dir);
    if (adoption.kind !== 'running') throw new Error(adoption.kind);
    await writeFile(go, '');
    const exit = { code: 5, why: 'exit', cwd: '/' };
    expect(await adoption.run.exit(patience())).toEqual(exit);
    expect(await readFile(adoption.run.outputPath, 'utf8')).toBe('one\ntwo\n');
    expect(await adopt(dir)).toEqual({ kind: 'ended', exit, outputPath: join(dir, 'output') });
  });

  it('says `gone`, and leaves nothing, when the supervisor was killed', async () => {
    const { dir, mark } = place();
    const shell = await start(dir, { ...specOf('setsid sleep 1000 & sleep 1000'), mark });
    await expect.poll(async () => (await membersOf({ mark })).length).toBeGreaterThanOrEqual(3);
    const waiting = shell.exit(patience());
    const supervisor = supervisorOf(dir);
    killIdentity(supervisor, 'SIGKILL');
    await expect.poll(() => isAlive(supervisor)).toBe(false);
    expect((await adopt(dir)).kind).toBe('gone');
    expect(await membersOf({ mark })).toEqual([]);
    expect(await waiting).toEqual({ code: null, why: 'killed' });
  });

  it('does not take a process that only has the same pid, or an earlier boot, for the supervisor', async () => {
    const self = currentIdentity();
    const claims = [
      { ...self, startTime: self.startTime - 1 },
      { ...self, bootId: 'an earlier boot' },
      { ...self, pidNamespace: 'pid:[1]' },
    ];
    for (const claim of claims) {
      const { dir, mark } = place();
      await mkdir(dir);
      await writeFile(join(dir, 'process'), JSON.stringify({ ...claim, mark }));
      expect((await adopt(dir)).kind).toBe('gone');
    }
  });

  it('says `gone` of a damaged record, as the command may have run, and reads a torn exit as none', async () => {
    const { dir, mark } = place();
    await mkdir(dir);
    await writeFile(join(dir, 'process'), '');
    expect((await adopt(dir)).kind).toBe('gone');
    await writeFile(join(dir, 'process'), JSON.stringify({ ...currentIdentity(), startTime: 1, mark }));
    await writeFile(join(dir, 'exit'), '{"code":');
    expect((await adopt(dir)).kind).toBe('gone');
  });

  it('prevents a start that has not happened: exactly one of both wins', async () => {
    const self = currentIdentity();
    const outcomes = new Set<string>();
    for (let round = 0; round < 30; round++) {
      const { dir, mark } = place();
      await mkdir(dir);
      await writeFile(join(dir, 'command'), 'echo ran >ran');
      await writeFile(join(dir, 'prelude'), '');
      const name = `ticket-${self.bootId}.late`;
      const fd = openSync(join(dir, name), 'wx');
      const late = spawn('/bin/sh', [SCRIPT, name, self.bootId, self.pidNamespace, mark, '0', '1000', dir], {
        cwd: dir,
        detached: true,
        stdio: ['ignore', 'ignore', 'ignore', fd],
      });
      closeSync(fd);
      const ended = once(late, 'exit');
      // Odd rounds let the supervisor win, even ones are decided by whoever is faster.
      const started = (): boolean => round % 2 === 0 || existsSync(join(dir, 'process'));
      await expect.poll(started, { interval: 1 }).toBe(true);
      const { kind } = await adopt(dir);
      const [code] = await ended;
      outcomes.add(`${kind === 'ended' ? 'running' : kind}, ended with ${code}, ran: ${existsSync(join(dir, 'ran'))}`);
      // What was prevented may be started anew.
      const again = await start(dir, { ...specOf('echo again >again'), mark }).catch(() => undefined);
      await again?.exit(patience());
      outcomes.add(`${kind === 'ended' ? 'running' : kind}, again: ${existsSync(join(root, 'again'))}`);
      await rm(join(root, 'again'), { force: true });
    }
    expect([...outcomes].sort()).toEqual([
      'never-started, again: true',
      'never-started, ended with 75, ran: false',
      'running, again: false',
      'running, ended with 0, ran: true',
    ]);
  });

  it('does not promise anything of a start before a power cut', async () => {
    const { dir } = place();
    expect(await adopt(dir)).toEqual({ kind: 'never-started' });
    await mkdir(dir);
    expect(await adopt(dir)).toEqual({ kind: 'never-started' });
    await writeFile(join(dir, 'ticket-another-boot.x'), '');
    expect((await adopt(dir)).kind).toBe('gone');
    expect((await adopt(dir)).kind).toBe('gone');
  });
});

describe('a command that cannot be started', () => {
  it.each<[string, Partial<ShellSpec>, RegExp]>([
    ['too long', { command: 'x'.repeat(MAX_COMMAND_BYTES + 1) }, /131072 bytes long.*Write it to a file/],
    ['with a NUL byte', { command: 'echo \0' }, /NUL byte/],
    ['with a bad mark', { mark: 'a "b"' }, /mark "a \\"b\\"" holds/],
    ['without time', { timeoutMs: 0 }, /time-out is 0 ms/],
    ['without room', { maxBytes: Number.NaN }, /output limit is NaN/],
    ['in a missing folder', { cwd: '/no/such/folder' }, /\/no\/such\/folder cannot be entered \(ENOENT\)/],
    ['in a file', { cwd: SCRIPT }, /is no directory/],
    ['with a bad environment', { env: { A: 'b\0c' } }, /null bytes/],
  ])('is refused: %s', async (_, more, message) => {
    const { dir, mark } = place();
    await expect(start(dir, { ...specOf('true'), mark, ...more })).rejects.toThrow(message);
    expect((await adopt(dir)).kind).toBe('never-started');
  });

  it('is refused in the folder of another one', async () => {
    const { dir, mark } = await run('echo first');
    await expect(start(dir, { ...specOf('echo second'), mark })).rejects.toThrow(/already started in .*adopt it/);
    expect((await readOutput(join(dir, 'output'), { headBytes: 100, tailBytes: 0 })).head).toBe('first\n');
  });

  it('says which shell is missing', async () => {
    const { dir, mark } = place();
    await expect(start(dir, { ...specOf('true'), mark }, '/no/such/shell')).rejects.toThrow(/ENOENT/);
    expect((await adopt(dir)).kind).toBe('never-started');
  });
});
