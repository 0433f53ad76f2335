import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ToolIo } from '../../src/core/tool.ts';
import { hasEnded, statOf } from '../../src/host/identity.ts';
import { mayMove } from '../../src/tools/background.ts';
import { bash } from '../../src/tools/bash.ts';
import { taskOutput } from '../../src/tools/task-output.ts';
import { taskStop } from '../../src/tools/task-stop.ts';
import { appears, tellPid } from '../support/appears.ts';
import { type Bench, createBench, textOf } from '../support/tool-io.ts';

let bench: Bench;
beforeEach(() => {
  bench = createBench();
});
afterEach(() => bench.remove());

const untilGo = 'until [ -e go ]; do sleep 0.05; done';
const go = () => writeFileSync(bench.path('go'), '');

/** Runs a command as the runner does, and keeps the call's world. */
async function call(input: object): Promise<{ io: ToolIo; output: Awaited<ReturnType<NonNullable<typeof bash.run>>> }> {
  const io = bench.io();
  return { io, output: await bash.run!(bash.input.parse(input), io) };
}
const started = ({ task }: ToolIo) =>
  `Command running in background with ID: ${task.id}. Output is being written to: ${task.outputPath}`;
const ask = (task_id: string, more: object = {}) => bench.call(taskOutput, { task_id, ...more });

describe('Bash with run_in_background', () => {
  it('answers at once, and the output is a file that grows', async () => {
    const { io, output } = await call({ command: `echo one; ${untilGo}; echo two`, run_in_background: true });
    expect(output).toEqual({ content: started(io), background: true });
    const waits = ask(io.task.id);
    go();
    expect((await waits).text).toBe(`${io.task.id} completed (exit code 0).\n\none\ntwo`);
    expect(readFileSync(io.task.outputPath, 'utf8')).toBe('one\ntwo\n');
    // One file under two names: nothing was copied.
    expect(statSync(io.task.outputPath).nlink).toBe(2);
  });

  it('has no time limit', async () => {
    const { io, output } = await call({ command: `${untilGo}; echo done`, run_in_background: true, timeout: 1 });
    expect(output.background).toBe(true);
    expect((await ask(io.task.id, { timeout: 1200 })).text).toBe(
      `${io.task.id} is still running.\nIt has printed nothing.`,
    );
    go();
    expect((await ask(io.task.id)).text).toBe(`${io.task.id} completed (exit code 0).\n\ndone`);
  });

  it('never runs beside its neighbours', () => {
    expect(bash.isConcurrencySafe({ command: 'ls' })).toBe(true);
    expect(bash.isConcurrencySafe({ command: 'ls', run_in_background: true })).toBe(false);
  });

  it('is refused where background commands are switched off', async () => {
    const env = { CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1' };
    const refused = await bench.call(bash, { command: 'true', run_in_background: true }, { env });
    expect(refused).toMatchObject({ isError: true, claims: [] });
    expect(refused.text).toBe(
      'Background commands are switched off for this job (CLAUDE_CODE_DISABLE_BACKGROUND_TASKS). Run the command without run_in_background.',
    );
  });

  it('is killed, and no task, when the call was cancelled while it started', async () => {
    const controller = new AbortController();
    const io = bench.io({ signal: controller.signal });
    const start: ToolIo['shell']['start'] = async (dir, spec) => {
      const run = await io.shell.start(dir, spec);
      controller.abort(new Error('cancelled'));
      return run;
    };
    const input = { command: 'sleep 1000', run_in_background: true };
    const output = await bash.run!(input, { ...io, shell: { ...io.shell, start } });
    expect(output).toMatchObject({ isError: true });
    expect(output.background).toBeUndefined();
    expect(await io.shell.adopt(io.dir)).toMatchObject({ kind: 'ended', exit: { why: 'killed' } });
    expect(await io.tasks.ids()).toEqual([]);
  });

  it('after the death of its worker is in the background all the same, whether it runs or has ended', async () => {
    const input = { command: `echo one; ${untilGo}`, run_in_background: true };
    const { io } = await call(input);
    const running = await bash.recover!({ kind: 'process', movable: true }, input, io);
    expect(running.kind).toBe('running');
    const output = running.kind === 'running' ? await running.wait() : undefined;
    expect(output).toEqual({ content: started(io), background: true });
    go();
    await ask(io.task.id);
    expect(await bash.recover!({ kind: 'process', movable: true }, input, io)).toEqual({
      kind: 'done',
      output: { content: started(io), background: true },
    });
  });
});

describe('a command that reaches its time limit', () => {
  it('goes on in the background, and says what it printed', async () => {
    const { io, output } = await call({ command: `echo one; ${untilGo}; echo two; cd /`, timeout: 600 });
    expect(output).toEqual({
      content: `${started(io)}\nIt did not end within 0.6 s, its time limit, and goes on; you will be told when it ends. The working directory is still ${bench.root}, whatever it does. It had printed:\none`,
      background: true,
    });
    go();
    expect((await ask(io.task.id)).text).toBe(`${io.task.id} completed (exit code 0).\n\none\ntwo`);
  });

  it('is moved by the next owner when its worker died, its time counted from its start', async () => {
    const io = bench.io();
    const command = `${tellPid('pid')}; ${untilGo}`;
    await io.shell.start(io.dir, {
      command,
      cwd: io.cwd,
      env: io.env,
      timeoutMs: Infinity,
      maxBytes: 1e9,
      mark: io.mark,
    });
    await appears(bench.path('pid'));
    const recovery = await bash.recover!({ kind: 'process', movable: true }, { command, timeout: 1 }, io);
    expect(recovery.kind).toBe('running');
    if (recovery.kind !== 'running') return;
    const output = await recovery.wait();
    expect(output.background).toBe(true);
    expect(textOf(output)).toContain('It did not end within 0.001 s');
    go();
    await ask(io.task.id);
  });

  it.each([
    ['npm run build && node server.js', true],
    ['for i in 1 2; do make; done', true],
    ['FOO=1 sleepy', true],
    ['sleep 5', false],
    ['  sleep 5; make', false],
    ['make; sleep 5', true],
    ['git clone x', false],
    ['make && git push', false],
    ['sudo git fetch', false],
    ['timeout 50 git fetch', false],
    ['echo "$(git log)"', false],
    ['/usr/bin/git status', false],
    ['echo git', true],
    ['if then', false],
    ['echo "', false],
  ])('%j: moved %s', (command, moved) => {
    expect(mayMove(command, {})).toBe(moved);
    expect(mayMove(command, { CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1' })).toBe(false);
  });

  it('is killed when it is one that may not be moved', async () => {
    const { io, output } = await call({ command: 'sleep 1000', timeout: 300 });
    expect(textOf(output)).toMatch(/^The command was killed after 0\.3 s, its time limit; it may have acted\./);
    expect(output).toMatchObject({ isError: true, failedShell: true });
    expect(await io.tasks.ids()).toEqual([]);
  });
});

describe('TaskOutput', () => {
  it('says how a command failed', async () => {
    const { io } = await call({ command: 'echo why; exit 3', run_in_background: true });
    const failed = { text: `${io.task.id} failed with exit code 3.\n\nwhy`, told: io.task.id };
    expect(await ask(io.task.id)).toMatchObject(failed);
  });

  it('does not wait when it is told not to', async () => {
    const { io } = await call({ command: untilGo, run_in_background: true });
    const running = await ask(io.task.id, { block: false });
    expect(running.text).toMatch(/ is still running\./);
    expect(running.told).toBeUndefined(); // the end itself is news
    go();
    await ask(io.task.id);
  });

  it('shows both ends of a long output, and where all of it is', async () => {
    const { io } = await call({ command: 'seq 1 200000', run_in_background: true });
    const { text } = await ask(io.task.id);
    expect(text.length).toBeLessThan(7000);
    const lines = text.split('\n');
    expect(lines.slice(0, 7)).toEqual([
      `${io.task.id} completed (exit code 0).`,
      '',
      '<persisted-output>',
      `Output too large (1.2 MB). Full output saved to: ${io.task.outputPath}`,
      '',
      'Preview (first 2.0 KB):',
      '1',
    ]);
    expect(lines).toContain('Its end:');
    expect(lines.at(-1)).toBe('200000');
  });

  it('leaves the command alone when the wait is cancelled', async () => {
    const { io } = await call({ command: `${untilGo}; echo done`, run_in_background: true });
    const controller = new AbortController();
    const waits = bench.call(taskOutput, { task_id: io.task.id }, { signal: controller.signal });
    controller.abort(new Error('cancelled'));
    expect(await waits).toMatchObject({ isError: true, text: 'The wait was cancelled. The command runs on.' });
    go();
    expect((await ask(io.task.id)).text).toMatch(/completed \(exit code 0\)\.\n\ndone$/);
  });

  it('knows no other ids, and lists those it knows', async () => {
    expect(await ask('shell-9-9-9')).toMatchObject({
      isError: true,
      text: 'There is no background task "shell-9-9-9". None was started in this job.',
    });
    const { io } = await call({ command: 'true', run_in_background: true });
    expect((await ask('x')).text).toBe(`There is no background task "x". Tasks of this job: ${io.task.id}.`);
    expect(taskOutput.input.safeParse({ task_id: 'x', timeout: 600_001 }).success).toBe(false);
  });
});

describe('TaskStop', () => {
  it('ends a command with all that it started', async () => {
    const command = `${tellPid('pid')}; (setsid sleep 1000 & echo $! > child.new; mv child.new child; wait) & wait`;
    const { io } = await call({ command, run_in_background: true });
    const pids = [Number(await appears(bench.path('pid'))), Number(await appears(bench.path('child')))];
    const stopped = await bench.call(taskStop, { task_id: io.task.id });
    expect(stopped).toMatchObject({ text: `Stopped ${io.task.id}.` });
    expect(pids.map((pid) => hasEnded(statOf(pid)))).toEqual([true, true]);
    expect((await ask(io.task.id)).text).toMatch(/^\S+ was stopped\./);
    const again = await bench.call(taskStop, { shell_id: io.task.id });
    expect(again).toMatchObject({ text: `There is nothing to stop: ${io.task.id} was stopped.` });
    expect(again.isError).toBeUndefined();
  });

  it('wants to know which one', async () => {
    expect(await bench.call(taskStop, {})).toMatchObject({
      isError: true,
      text: 'Say which task to stop: give its task_id.',
    });
    expect(await bench.call(taskStop, { task_id: 'y' })).toMatchObject({ isError: true });
  });
});
