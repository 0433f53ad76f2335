import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CommandLine, commandLine } from '../support/command-line.ts';

const bash = (command: string) => ({ name: 'Bash', input: { command } });
const dir = '{{prompt | match /in (\\S+)/}}';
const looks = ['git status', 'git diff', 'git log -p', 'git show --show-signature', 'git diff HEAD'];
let c: CommandLine;
let top: string;

beforeAll(async () => {
  const write = (name: string, content: string) => ({
    name: 'Write',
    input: { file_path: `${dir}/x/${name}`, content },
  });
  const watcher = `touch ${dir}/ran-made;false`;
  c = await commandLine({
    jobs: [
      { match: 'look', steps: [...looks.map((command) => ({ calls: [bash(command)] })), { text: 'Looked.' }] },
      {
        match: 'make a repository',
        steps: [
          {
            calls: [
              write('HEAD', 'ref: refs/heads/m\n'),
              write('objects/a', ''),
              write('refs/a', ''),
              write(
                'config',
                `[core]\nrepositoryformatversion = 0\nbare = false\nworktree = ${dir}/x\nfsmonitor = "${watcher}"\n`,
              ),
            ],
          },
          { calls: [bash('cd x')] },
          { calls: [bash('git status')] },
          { text: 'Made.' },
        ],
      },
      { match: 'see for yourself', steps: [{ calls: [bash('cd x && git status')] }, { text: 'Seen.' }] },
    ],
  });
  top = dirname(c.dir);
  hostile();
});
afterAll(() => c.close());

const ran = (folder: string): string[] => readdirSync(folder).filter((name) => name.startsWith('ran-'));

/** A repository whose own files name a program for everything that git lets them. */
function hostile(): void {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: c.dir, stdio: 'ignore' });
  const evil = (what: string): string => `touch ${join(top, `ran-${what}`)};false`;
  git('init', '-q');
  writeFileSync(join(c.dir, 'a.txt'), 'a\n');
  writeFileSync(join(c.dir, '.gitattributes'), '* diff=evil filter=evil\n');
  git('add', '-A');
  git('-c', 'user.name=a', '-c', 'user.email=a@example.org', 'commit', '-qm', 'First');
  writeFileSync(join(c.dir, 'a.txt'), 'b\n');
  for (const key of ['core.fsmonitor', 'diff.external', 'diff.evil.textconv', 'filter.evil.clean', 'gpg.program'])
    git('config', key, evil(key));
}

type Shown = { turns: { steps: { calls: { name: string; outcome: string; decision?: unknown }[] }[] }[] };
const callsOf = async (job: string) =>
  ((await c.json(['show', job])) as Shown).turns.flatMap(({ steps }) => steps.flatMap(({ calls }) => calls));
const denyAll = JSON.stringify({ nightshift: { prompts: [{ after: '0s', then: 'deny' }] } });

test('git in a strange repository asks before it may run what the repository names', async () => {
  const more = ['--permission-mode', 'acceptEdits', '--settings', denyAll, '--name', 'look'];
  const { code, err } = await c.run(['run', ...more, 'look']);
  expect(code, err).toBe(0);
  const calls = await callsOf('look');
  expect(calls.map(({ outcome }) => outcome)).toEqual(looks.map(() => 'denied'));
  expect(err).toContain("git may run programs that this folder's own configuration names");
  expect(ran(top)).toEqual([]);
});

test('the same programs run once a rule lets git through, but never the file watcher', async () => {
  const { code, err } = await c.run(['run', '--allow', 'Bash(git *)', '--name', 'allowed', 'look']);
  expect(code, err).toBe(0);
  expect(ran(top)).toEqual(
    expect.arrayContaining(['ran-diff.external', 'ran-diff.evil.textconv', 'ran-filter.evil.clean']),
  );
  expect(ran(top)).not.toContain('ran-core.fsmonitor');
});

test('a repository that a job makes of plain files runs nothing, also where the folder is trusted', async () => {
  mkdirSync(join(c.dir, 'x'));
  await c.json(['trust']);
  const more = ['--permission-mode', 'acceptEdits', '--settings', denyAll, '--name', 'make'];
  const { code, err } = await c.run(['run', ...more, `make a repository in ${c.dir}`]);
  expect(code, err).toBe(0);
  const calls = await callsOf('make');
  expect(calls.map(({ outcome }) => outcome)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok', 'denied']);
  expect(JSON.stringify(err)).toContain('/x/config names');
  expect(ran(c.dir)).toEqual([]);
});

test('and git itself refuses it where everything is allowed', async () => {
  const { code, err } = await c.run(['run', '--allow', 'Bash', '--name', 'see', 'see for yourself']);
  expect(code, err).toBe(0);
  expect((await callsOf('see')).map(({ outcome }) => outcome)).toEqual(['error']);
  expect(ran(c.dir)).toEqual([]);
  execFileSync('git', ['status'], { cwd: join(c.dir, 'x'), stdio: 'ignore' });
  expect(ran(c.dir)).toEqual(['ran-made']);
});
