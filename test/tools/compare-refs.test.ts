import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Recovery, ToolIo } from '../../src/core/tool.ts';
import { bash } from '../../src/tools/bash.ts';
import { appears } from '../support/appears.ts';
import { type Bench, createBench, textOf } from '../support/tool-io.ts';

const FOUND_OUT =
  '(The process that ran this died; the repository shows that the commit was made. Whether its hooks after the commit ran to their end is not known.)';
let bench: Bench;
let repository: string;
beforeEach(() => {
  bench = createBench();
  repository = bench.path('till');
  mkdirSync(repository);
  git('init', '-q', '-b', 'main');
  git('config', 'user.name', 't');
  git('config', 'user.email', 't@example.org');
  bench.cwd = repository;
});
afterEach(() => bench.remove());

const git = (...args: string[]): string =>
  execFileSync('git', ['-C', repository, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim();
const subjects = (): string[] => git('log', '--format=%s').split('\n');
const put = (text: string): void => writeFileSync(join(repository, 'file'), text);
const lock = (): string => join(repository, '.git/index.lock');

/** A repository with one commit and one change in the index. */
function begun(): void {
  put('one\n');
  git('add', 'file');
  git('commit', '-q', '-m', 'start');
  put('two\n');
  git('add', 'file');
}

type Death = { input: { command: string }; io: ToolIo; claim: unknown };

/** Runs a commit until it waits in one of its hooks, and kills its supervisor with the whole group of that. */
async function dieIn(hook: 'pre-commit' | 'post-commit', command: string): Promise<Death> {
  const there = bench.path('there');
  const file = join(repository, '.git/hooks', hook);
  writeFileSync(file, `#!/bin/sh\n: > '${there}.new' && mv '${there}.new' '${there}'\nexec sleep 1000\n`);
  chmodSync(file, 0o755);
  const io = bench.io();
  const running = bash.run!({ command }, io);
  await appears(there);
  const { pid } = JSON.parse(readFileSync(join(io.dir, 'process'), 'utf8')) as { pid: number };
  process.kill(-pid, 'SIGKILL');
  expect(await running).toMatchObject({ isError: true });
  expect(existsSync(join(io.dir, 'exit'))).toBe(false);
  rmSync(file);
  return { input: { command }, io, claim: io.claims.at(-1) };
}
const recover = ({ input, io, claim }: Death): Promise<Recovery> => bash.recover!(claim, input, io);

async function answer(death: Death): Promise<string> {
  const recovery = await recover(death);
  if (recovery.kind === 'unknown') return recovery.check;
  return recovery.kind === 'done' ? textOf(recovery.output) : recovery.kind;
}

describe('a commit that died with its supervisor before it was made', () => {
  it.each(['git commit -q -m made', 'git commit -q --amend -m made'])('runs again: %s', async (command) => {
    begun();
    const death = await dieIn('pre-commit', command);
    expect(await recover(death)).toEqual({ kind: 'notDone' });
    // As the runner does it: in the same folder.
    expect(await bash.run!(death.input, death.io)).toEqual({ content: '' });
    expect(subjects()).toEqual(command.includes('amend') ? ['made'] : ['made', 'start']);
    expect(git('show', 'HEAD:file')).toBe('two');
  });

  it('runs again when the process that found this out has died too', async () => {
    begun();
    const death = await dieIn('pre-commit', 'git commit -q -m made');
    await recover(death);
    expect(await recover(death)).toEqual({ kind: 'notDone' });
  });

  it('is told as not made when it left a lock, with which it could not run again', async () => {
    begun();
    const death = await dieIn('pre-commit', 'git commit -q -am made');
    expect(existsSync(lock())).toBe(true);
    const recovery = await recover(death);
    expect(recovery).toEqual({
      kind: 'done',
      output: {
        isError: true,
        content: `The commit was not made: the process that ran it died, and HEAD is still at ${git('rev-parse', '--short=7', 'HEAD')}. It left ${lock()} behind, with which git refuses to commit. If no other git process works in this repository, remove that file and commit again.`,
      },
    });
    expect(subjects()).toEqual(['start']);
  });
});

describe('a commit that died with its supervisor after it was made', () => {
  it('is done, and answers as git does', async () => {
    begun();
    const death = await dieIn('post-commit', 'git commit -q -m made');
    expect(await answer(death)).toBe(`[main ${git('rev-parse', '--short', 'HEAD')}] made\n${FOUND_OUT}`);
    expect(subjects()).toEqual(['made', 'start']);
  });

  it('is done when it was the first of its repository', async () => {
    put('one\n');
    git('add', 'file');
    const death = await dieIn('post-commit', 'git commit -m made');
    expect(await answer(death)).toBe(`[main (root-commit) ${git('rev-parse', '--short', 'HEAD')}] made\n${FOUND_OUT}`);
  });

  it('is done when it took the place of another', async () => {
    begun();
    const death = await dieIn('post-commit', 'git commit -q --amend -m made');
    expect(await answer(death)).toMatch(/^\[main [0-9a-f]{7,}\] made\n/);
    expect(subjects()).toEqual(['made']);
  });

  it('is done on no branch, in another folder, with a message that only the shell knew', async () => {
    begun();
    git('checkout', '-q', '--detach');
    bench.cwd = bench.root;
    const death = await dieIn('post-commit', `git -C till commit -m "$(cat <<'EOF'\nmade\n\nat last\nEOF\n)"`);
    expect(await answer(death)).toMatch(/^\[detached HEAD [0-9a-f]{7,}\] made\n/);
  });

  it('is done when it ended a merge', async () => {
    begun();
    git('commit', '-q', '-m', 'ours');
    git('checkout', '-q', '-b', 'side', 'HEAD~1');
    git('commit', '-q', '--allow-empty', '-m', 'theirs');
    git('checkout', '-q', 'main');
    git('merge', '-q', '--no-ff', '--no-commit', 'side');
    const death = await dieIn('post-commit', 'git commit -q -m merged');
    expect(await answer(death)).toMatch(/^\[main [0-9a-f]{7,}\] merged\n/);
  });

  it('is done, and says what else it left behind', async () => {
    begun();
    const death = await dieIn('post-commit', 'git commit -q -am made');
    writeFileSync(lock(), '');
    expect(await answer(death)).toContain(
      `It left ${lock()} behind, and the index may still be the one before the commit.`,
    );
  });
});

describe('a commit of which nobody can tell', () => {
  const dead = async (): Promise<Death> => {
    begun();
    return dieIn('pre-commit', 'git commit -q -m made');
  };
  const CHECK = 'Look at `git log -3` and `git reflog` to see whether the commit was made. It had printed nothing.';

  it('because somebody else committed meanwhile', async () => {
    const death = await dead();
    git('commit', '-q', '-m', 'other');
    const text = await answer(death);
    expect(text).toMatch(
      /^HEAD was at [0-9a-f]{7} before it and is at [0-9a-f]{7} now, but by a commit with another subject: other\. /,
    );
    expect(text).toContain(CHECK);
  });

  it.each([
    ['two commits came', ['commit -q -m made', 'commit -q --allow-empty -m more']],
    ['it was undone and made anew elsewhere', ['commit -q --amend -m made']],
    ['HEAD was set back', ['commit -q -m made', 'commit -q --allow-empty -m x', 'reset -q --hard HEAD~1']],
  ])('because %s', async (_, commands) => {
    const death = await dead();
    for (const command of commands) git(...command.split(' '));
    expect(await answer(death)).toMatch(/ now, which is not just this commit\. Look at `git log -3`/);
  });

  it('because HEAD is another branch', async () => {
    const death = await dead();
    git('checkout', '-q', '-b', 'other');
    expect(await answer(death)).toMatch(/^HEAD was main before it and is other now\. Look at/);
  });

  it('because the repository is gone', async () => {
    const death = await dead();
    rmSync(join(repository, '.git'), { recursive: true });
    expect(await answer(death)).toMatch(/^git does not say any more where HEAD is\. Look at/);
  });
});

describe('the claim of a command', () => {
  it('holds refs only when it is a commit, and where git knows any', async () => {
    const claims = async (command: string): Promise<unknown[]> => (await bench.call(bash, { command })).claims;
    expect(await claims('true')).toEqual([{ kind: 'process', movable: true }]);
    expect(await claims('git commit -q --allow-empty -m made')).toEqual([
      {
        kind: 'process',
        movable: false,
        commit: { git: [], amend: false, subject: 'made', head: null, ref: 'refs/heads/main' },
      },
    ]);
    const head = git('rev-parse', 'HEAD');
    expect(await claims('git commit -q --allow-empty --amend')).toEqual([
      { kind: 'process', movable: false, commit: { git: [], amend: true, head, ref: 'refs/heads/main' } },
    ]);
    bench.cwd = bench.root;
    expect(await claims('git commit -q -m made')).toEqual([{ kind: 'process', movable: false }]);
  });
});
