import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Recovery, ToolIo } from '../../src/core/tool.ts';
import { hasEnded, statOf } from '../../src/host/identity.ts';
import { bash } from '../../src/tools/bash.ts';
import { type Bench, createBench, sha256, textOf } from '../support/tool-io.ts';

let bench: Bench;
beforeEach(() => {
  bench = createBench();
});
afterEach(() => bench.remove());

const run = (command: string, more: { timeout?: number } & Parameters<Bench['call']>[2] = {}) => {
  const { timeout, ...options } = more;
  return bench.call(bash, { command, ...(timeout !== undefined && { timeout }) }, options);
};

/** Resolves when a file of the workspace is there; commands put it there by a rename. */
function appears(name: string): Promise<string> {
  return new Promise((found) => {
    const look = () => {
      if (!existsSync(bench.path(name))) return;
      watcher.close();
      found(readFileSync(bench.path(name), 'utf8').trim());
    };
    const watcher = watch(bench.root, look);
    look();
  });
}
/** Writes the shell's pid where `appears` sees it whole. */
const tellPid = 'echo $$ > pid.new && mv pid.new pid';

/** Without it a command has no time limit of its own: it is moved to the background. */
const NEVER_MOVE = { CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1' };

describe('Bash', () => {
  it('returns what a command printed, both streams in order', async () => {
    const result = await run('echo one; echo two >&2; printf three');
    expect(result).toMatchObject({ content: 'one\ntwo\nthree', claims: [{ kind: 'process' }] });
    expect(result.isError).toBeUndefined();
    expect(result.failedShell).toBeUndefined();
  });

  it('returns nothing for nothing', async () => {
    expect((await run('true')).content).toBe('');
  });

  it('says the exit code first when a command failed', async () => {
    expect(await run('echo why; exit 3')).toMatchObject({
      content: 'Exit code 3\nwhy',
      isError: true,
      failedShell: true,
    });
    expect(await run('exit 4')).toMatchObject({ content: 'Exit code 4', isError: true });
  });

  it('takes exit code 1 of grep for the answer that it is', async () => {
    const result = await run('echo hay | grep needle');
    expect(result.isError).toBeUndefined();
    expect(result.failedShell).toBeUndefined();
    expect(await run('grep needle /no/such/file')).toMatchObject({
      isError: true,
      content: expect.stringMatching(/^Exit code 2\n/),
    });
  });

  it('says by which signal a command ended', async () => {
    expect(await run('kill -SEGV $$')).toMatchObject({
      content: expect.stringMatching(/^Exit code 139 \(ended by SIGSEGV\)/),
      isError: true,
      failedShell: true,
    });
  });

  it('kills a command at its time limit with all that it started, and shows what it printed', async () => {
    const result = await run('echo begun; (sleep 1000 & echo $! > child; wait)', { timeout: 800, env: NEVER_MOVE });
    expect(result).toMatchObject({
      content: expect.stringMatching(
        /^The command was killed after 0\.8 s, its time limit; it may have acted\..*\nbegun$/,
      ),
      isError: true,
      failedShell: true,
    });
    expect(hasEnded(statOf(Number(readFileSync(bench.path('child'), 'utf8'))))).toBe(true);
  });

  it('lowers a time limit to the ceiling, and takes both from the job variables', async () => {
    const limit = async (timeout: number | undefined, env: Record<string, string>) => {
      let asked = 0;
      const io = bench.io({ env: { ...NEVER_MOVE, ...env } });
      const shell: ToolIo['shell'] = {
        ...io.shell,
        start: (dir, spec) => {
          asked = spec.timeoutMs;
          return io.shell.start(dir, spec);
        },
      };
      await bash.run!({ command: 'true', ...(timeout !== undefined && { timeout }) }, { ...io, shell });
      return asked;
    };
    expect(await limit(undefined, {})).toBe(120_000);
    expect(await limit(5_000_000, {})).toBe(600_000);
    expect(await limit(undefined, { BASH_DEFAULT_TIMEOUT_MS: '900000' })).toBe(900_000);
    expect(await limit(5_000_000, { BASH_DEFAULT_TIMEOUT_MS: '900000' })).toBe(900_000);
    expect(await limit(5_000_000, { BASH_MAX_TIMEOUT_MS: '1000' })).toBe(120_000);
    expect(await limit(5_000_000, { BASH_DEFAULT_TIMEOUT_MS: 'soon', BASH_MAX_TIMEOUT_MS: '-1' })).toBe(600_000);
  });

  it('keeps the working directory, and no variables', async () => {
    mkdirSync(bench.path('sub'));
    expect((await run('cd sub; X=1')).cwd).toBe(bench.path('sub'));
    expect((await run('pwd; echo "[$X]"')).content).toBe(`${bench.path('sub')}\n[]`);
    expect((await run('cd ..; false')).cwd).toBe(bench.root);
  });

  it('keeps the directory of a workspace that is reached by a link', async () => {
    symlinkSync(bench.root, `${bench.root}-link`);
    mkdirSync(bench.path('sub'));
    const io = { ...bench.io({ cwd: `${bench.root}-link` }), root: `${bench.root}-link` };
    expect((await bash.run!({ command: 'true' }, io)).cwd).toBeUndefined();
    expect((await bash.run!({ command: 'cd sub' }, { ...io, dir: join(io.dir, 'b') })).cwd).toBe(bench.path('sub'));
  });

  it('goes back to the workspace with a notice when a command leaves it', async () => {
    mkdirSync(bench.path('sub'));
    await run('cd sub');
    const notice = `[The working directory is ${bench.root} again: / is outside of the workspace.]`;
    expect(await run('cd / && echo here')).toMatchObject({ cwd: bench.root, content: `here\n\n${notice}` });
    expect(await run('cd /; exit 2')).toMatchObject({ content: `Exit code 2\n\n${notice}`, isError: true });
    expect((await run('cd /', { directories: ['/'] })).cwd).toBe('/');
  });

  it('says that the workspace is gone when a command has removed or moved it', async () => {
    const { content } = await run(`mv "$PWD" "$PWD.moved"`);
    expect(content).toBe(
      `[The workspace ${bench.root} does not exist any more; the command ended in ${bench.root}.moved.]`,
    );
  });

  it('does not run in a directory that is gone', async () => {
    mkdirSync(bench.path('sub'));
    await run('cd sub');
    rmSync(bench.path('sub'), { recursive: true });
    const result = await run('touch x');
    expect(result).toMatchObject({
      isError: true,
      cwd: bench.root,
      claims: [],
      content: expect.stringContaining('was not run'),
    });
    expect(result.failedShell).toBeUndefined();
    expect((await run('pwd')).content).toBe(bench.root);
    rmSync(bench.root, { recursive: true });
    expect(await run('pwd')).toMatchObject({
      isError: true,
      content: expect.stringContaining('does not exist any more'),
    });
  });

  it('gives the command the environment of a job', async () => {
    const result = await run(
      'echo "$CLAUDECODE $TERM $JOB_VARIABLE ${ANTHROPIC_API_KEY-none}"; [ -n "$NIGHTSHIFT_CALL" ]',
      {
        env: { JOB_VARIABLE: 'yes', ANTHROPIC_API_KEY: 'secret' },
      },
    );
    expect(result.content).toBe('1 dumb yes none');
  });

  it('returns all of a large output of a good command, and both ends of that of a failed one', async () => {
    const good = await run('seq 1 200000');
    expect(good.text).toHaveLength(1_288_894);
    const failed = await run('seq 1 200000; exit 1');
    expect(failed.text.length).toBeLessThan(10_200);
    expect(failed.text).toMatch(/^Exit code 1\n1\n2\n3\n/);
    expect(failed.text).toMatch(/\n\n\[1\.2 MB left out here\]\n\n/);
    expect(failed.text).toMatch(/\n199999\n200000$/);
  });

  it('shows a failure of exactly 10,000 characters whole, in any script', async () => {
    const exact = await run(`printf 'é%.0s' $(seq 1 10000); exit 1`);
    expect(exact.text).toBe(`Exit code 1\n${'é'.repeat(10_000)}`);
    const more = await run(`printf '😀%.0s' $(seq 1 6000); exit 1`);
    expect(more.text).toBe(
      `Exit code 1\n${'😀'.repeat(2500)}\n\n[2,000 characters left out here]\n\n${'😀'.repeat(2500)}`,
    );
  });

  it('replaces bytes that are no UTF-8', async () => {
    expect((await run(`printf 'a\\377b'`)).content).toBe('a\uFFFDb');
  });

  it('says what is wrong with a command that cannot be run', async () => {
    expect(await run('  ')).toMatchObject({ isError: true, claims: [], content: expect.stringContaining('is empty') });
    expect(await run('echo \0')).toMatchObject({ isError: true, claims: [], content: expect.stringContaining('NUL') });
    const long = await run(`: ${'x'.repeat(200_000)}`);
    expect(long).toMatchObject({ isError: true, content: expect.stringContaining('Write it to a file') });
    expect(long.failedShell).toBeUndefined();
  });

  it('reports a syntax error as the failure of the shell', async () => {
    expect(await run('if then')).toMatchObject({
      isError: true,
      failedShell: true,
      content: expect.stringMatching(/^Exit code 2\n.*syntax error/s),
    });
  });

  it('counts a file that it printed as read', async () => {
    const path = bench.path('a.txt');
    const seenBy = async (command: string) => {
      bench.seen.clear();
      await run(command);
      return bench.seen.get(path);
    };
    const sha = sha256('one\ntwo\n');
    writeFileSync(path, 'one\ntwo\n');
    expect(await seenBy('cat a.txt')).toEqual({ sha });
    expect(await seenBy('head -1 a.txt')).toEqual({ sha, partial: true, via: 'range' });
    expect(await seenBy('grep two a.txt')).toEqual({ sha, partial: true, via: 'range' });
    expect(await seenBy('grep three a.txt')).toBeUndefined();
    expect(await seenBy('cat a.txt | tail -1')).toBeUndefined();
    expect(await seenBy('cat b.txt')).toBeUndefined();
    writeFileSync(path, 'x'.repeat(30_001));
    expect(await seenBy('cat a.txt')).toBeUndefined();
  });

  it('does not forget the whole of a file for a part of it', async () => {
    writeFileSync(bench.path('a.txt'), 'one\ntwo\n');
    await run('cat a.txt');
    await run('head -1 a.txt');
    expect(bench.seen.get(bench.path('a.txt'))).toEqual({ sha: sha256('one\ntwo\n') });
  });

  it('tells watchers what is happening', async () => {
    const command = 'echo working; until [ -e go ]; do sleep 0.05; done';
    let running: Promise<unknown> | undefined;
    const told = new Promise<string>((seen) => {
      running = bash.run!({ command }, { ...bench.io(), progress: seen });
    });
    expect(await told).toContain('working');
    await run('touch go');
    expect(await running).toEqual({ content: 'working' });
  });

  it('does not begin a cancelled call', async () => {
    expect(await run('touch x', { signal: AbortSignal.abort() })).toMatchObject({ isError: true, claims: [] });
    expect(existsSync(bench.path('x'))).toBe(false);
  });

  it('is killed with all its processes when the call is cancelled, and says what was seen', async () => {
    const controller = new AbortController();
    const running = run(`echo begun; ${tellPid}; sleep 1000`, { signal: controller.signal });
    const pid = Number(await appears('pid'));
    controller.abort(new Error('cancelled'));
    const result = await running;
    expect(result).toMatchObject({
      isError: true,
      content: 'The command was killed because the call was cancelled; it may have acted. It had printed:\nbegun',
    });
    expect(result.failedShell).toBeUndefined();
    expect(hasEnded(statOf(pid))).toBe(true);
  });
});

describe('Bash after its worker died', () => {
  const input = { command: '' };
  /** Starts a command as the first owner did, and forgets it. */
  async function abandoned(command: string): Promise<ToolIo> {
    const io = bench.io();
    await io.shell.start(io.dir, {
      command,
      cwd: bench.root,
      env: io.env,
      timeoutMs: 60_000,
      maxBytes: 1e9,
      mark: io.mark,
    });
    return io;
  }
  async function textOfRecovery(recovery: Recovery): Promise<string> {
    switch (recovery.kind) {
      case 'unknown':
        return recovery.check;
      case 'running':
        return textOf(await recovery.wait());
      case 'done':
        return textOf(recovery.output);
      case 'notDone':
        return 'not done';
    }
  }
  const recover = (io: ToolIo, command: string) => bash.recover!({ kind: 'process' }, { ...input, command }, io);

  it('waits for a command that still runs', async () => {
    const command = `${tellPid}; until [ -e go ]; do sleep 0.05; done; echo done; exit 3`;
    const io = await abandoned(command);
    await appears('pid');
    const recovery = await recover(io, command);
    expect(recovery.kind).toBe('running');
    if (recovery.kind !== 'running') return;
    const waiting = recovery.wait();
    await bench.call(bash, { command: 'touch go' });
    expect(await waiting).toMatchObject({ content: 'Exit code 3\ndone', isError: true, failedShell: true });
  });

  it('reads how a command ended meanwhile', async () => {
    const io = await abandoned('echo done');
    const first = await io.shell.adopt(io.dir);
    if (first.kind === 'running') await first.run.exit(new AbortController().signal);
    expect(await recover(io, 'echo done')).toEqual({ kind: 'done', output: { content: 'done' } });
  });

  it('says that what a command printed is gone, not that it printed nothing', async () => {
    const io = await abandoned('echo done');
    const first = await io.shell.adopt(io.dir);
    if (first.kind === 'running') await first.run.exit(new AbortController().signal);
    rmSync(join(io.dir, 'output'));
    expect(await textOfRecovery(await recover(io, 'echo done'))).toContain('What this command printed is gone');
  });

  it('takes over a command whose claim is gone instead of saying that it was not run', async () => {
    const command = `${tellPid}; until [ -e go ]; do sleep 0.05; done; echo done`;
    const io = await abandoned(command);
    await appears('pid');
    const again = bash.run!({ command }, io);
    await bench.call(bash, { command: 'touch go' });
    expect((await again).content).toBe('done');
    expect((await bash.run!({ command }, io)).content).toBe('done');
  });

  it('does not say that a command was not run whose claim is gone and whose end nobody saw', async () => {
    const io = await abandoned(`echo begun; ${tellPid}; sleep 1000`);
    await appears('pid');
    const { pid: supervisor } = JSON.parse(readFileSync(join(io.dir, 'process'), 'utf8')) as { pid: number };
    process.kill(supervisor, 'SIGKILL');
    const { content, isError } = await bash.run!({ command: 'sleep 1000' }, io);
    expect([content, isError]).toEqual([expect.stringMatching(/may have acted.*begun/s), true]);
  });

  it('runs a command that never started', async () => {
    expect(await recover(bench.io(), 'true')).toEqual({ kind: 'notDone' });
  });

  it('does not guess how a command ended whose supervisor was killed', async () => {
    const io = await abandoned(`echo begun; ${tellPid}; sleep 1000`);
    const pid = Number(await appears('pid'));
    const { pid: supervisor } = JSON.parse(readFileSync(join(io.dir, 'process'), 'utf8')) as { pid: number };
    process.kill(supervisor, 'SIGKILL');
    const recovery = await recover(io, 'x');
    // The signal may still be on its way, and the command's watchdog may have ended it and said so: each is no guess.
    const text = await textOfRecovery(recovery);
    expect(text).toMatch(/may have acted/);
    expect(text).toMatch(/begun/);
    expect(hasEnded(statOf(pid))).toBe(true);
  });

  it('says so when the record of the claim is damaged', async () => {
    expect(await bash.recover!({ kind: 'other' }, { command: 'true' }, bench.io())).toMatchObject({
      kind: 'unknown',
      check: expect.stringContaining('damaged'),
    });
  });
});
