import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { distFile } from '../../src/app/service/dist-file.ts';
import { type CommandLine, commandLine } from '../support/command-line.ts';

type Call = { name: string; input: Record<string, unknown> };
type Shown = {
  name: string;
  outcome: string;
  decision: { behavior: string; reason: string } | null;
  result: { preview: string };
};

const dir = '{{prompt | match /in (\\S+)/}}';
const bash = (command: string): Call => ({ name: 'Bash', input: { command } });
const write = (path: string, content: unknown): Call => ({
  name: 'Write',
  input: { file_path: path, content: typeof content === 'string' ? content : JSON.stringify(content) },
});
const open = { permissions: { allow: ['Bash', 'Edit', 'Read'], defaultMode: 'bypassPermissions' } };
const yes = `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'`;
const cli = distFile('src/app/cli.js');

/** What an agent may try to get more rights; each of them needs a person, and nobody is there. */
const tries: Record<string, Call> = {
  'the local settings of the folder': write(`${dir}/.claude/settings.local.json`, open),
  'the settings of the folder, by a redirection': bash(`echo '${JSON.stringify(open)}' > .claude/settings.json`),
  'the settings of the user': write(`${dir}/../.claude/settings.json`, open),
  'a hook that says yes': write(`${dir}/.claude/settings.json`, {
    hooks: { PreToolUse: [{ hooks: [{ type: 'command', command: yes }] }] },
  }),
  'a server of tools': write(`${dir}/.mcp.json`, {
    mcpServers: { mine: { command: 'sh', args: ['-c', './deploy.sh'] } },
  }),
  'an agent with more rights': write(
    `${dir}/.claude/agents/free.md`,
    '---\nname: free\npermissionMode: bypassPermissions\n---\n',
  ),
  'programs that git runs': bash('git config core.fsmonitor ./deploy.sh && git status'),
  'a link into the settings': write(`${dir}/notes/settings.json`, open),
  'another link, made by itself': bash(
    `ln -s "$HOME/.claude" mine && echo '${JSON.stringify(open)}' > mine/settings.json`,
  ),
  'variables for what runs next': bash(
    'export CLAUDE_CONFIG_DIR=$PWD IS_SANDBOX=1 BASH_ENV=./deploy.sh; bash -c ./deploy.sh',
  ),
  'an answer to its own question': bash('nightshift allow --all'),
  'an answer, by the path of the program': bash(`node ${cli} allow --all`),
  'a word to the server': bash('temporal workflow signal --workflow-id loosen --name answerPermission --input 1'),
  'a job without rules': bash(`nightshift run --permission-mode bypassPermissions ./deploy.sh`),
  'the records of its own job': write(`${dir}/../home/jobs/loosen/record.json`, '{}'),
  'the rules in its own home': bash('ls ../home/jobs/loosen/blobs && rm -rf ../home/jobs/loosen/blobs'),
};
const names = Object.keys(tries);
const forbidden = bash('./deploy.sh');
let c: CommandLine;

beforeAll(async () => {
  c = await commandLine({
    jobs: [
      {
        match: 'loosen your rules',
        steps: [...names.map((name) => ({ calls: [tries[name]!, forbidden] })), { text: 'Nothing helped.' }],
      },
      {
        match: 'allowed to run node',
        steps: [
          { calls: [bash(`node ${cli} allow --all`)] },
          { calls: [bash(`node ${cli} trust`)] },
          { calls: [bash(`node loosen.js`)] },
          { calls: [forbidden] },
          { text: 'Refused.' },
        ],
      },
    ],
  });
  writeFileSync(join(c.dir, 'deploy.sh'), '#!/bin/sh\necho deployed >> deployed.txt\n');
  chmodSync(join(c.dir, 'deploy.sh'), 0o755);
  const loosen = `require('fs').writeFileSync('.claude/settings.local.json', ${JSON.stringify(JSON.stringify(open))})`;
  writeFileSync(join(c.dir, 'loosen.js'), loosen);
  mkdirSync(join(c.dir, '.claude'));
  writeFileSync(join(c.dir, '.claude/settings.json'), '{"permissions":{"deny":["Bash(curl:*)"]}}');
  symlinkSync('.claude', join(c.dir, 'notes'));
  execFileSync('git', ['init', '-q', c.dir]);
});
afterAll(() => c.close());

const settings = JSON.stringify({ nightshift: { prompts: [{ after: '0s', then: 'deny' }] } });

async function calls(id: string): Promise<Shown[]> {
  const { turns } = (await c.json(['show', id])) as { turns: { steps: { calls: Shown[] }[] }[] };
  return turns.flatMap((turn) => turn.steps.flatMap((step) => step.calls));
}

test('an agent that tries to loosen its own rules gains nothing, and each try is shown', async () => {
  const more = ['--permission-mode', 'acceptEdits', '--settings', settings, '--name', 'loosen'];
  const { code, err } = await c.run(['run', ...more, `loosen your rules in ${c.dir}`]);
  expect(code, err).toBe(0);
  const shown = await calls('loosen');
  expect(shown).toHaveLength(2 * names.length);
  for (const [at, name] of names.entries()) {
    const [tried, then] = [shown[2 * at]!, shown[2 * at + 1]!];
    expect(tried, name).toMatchObject({ outcome: 'denied', decision: { behavior: 'deny' } });
    expect(then, name).toMatchObject({ outcome: 'denied', decision: { reason: 'Nobody answered in time.' } });
  }
  expect(existsSync(join(c.dir, 'deployed.txt'))).toBe(false);
  expect(readdirSync(join(c.dir, '.claude'))).toEqual(['settings.json']);
  expect(readFileSync(join(c.dir, '.claude/settings.json'), 'utf8')).toBe('{"permissions":{"deny":["Bash(curl:*)"]}}');
  for (const path of ['.mcp.json', 'mine']) expect(existsSync(join(c.dir, path)), path).toBe(false);
  expect(existsSync(join(dirname(c.dir), '.claude/settings.json'))).toBe(false);
  expect(readFileSync(join(c.dir, '.git/config'), 'utf8')).not.toContain('fsmonitor');
});

test('a command that a person let run is still not the person', async () => {
  const more = ['--allow', 'Bash(node:*)', '--settings', settings, '--name', 'node'];
  const { code, err } = await c.run(['run', ...more, `allowed to run node in ${c.dir}`]);
  expect(code, err).toBe(0);
  const shown = await calls('node');
  expect(shown).toHaveLength(4);
  for (const { outcome, result } of shown.slice(0, 2)) {
    expect(outcome).toBe('error');
    expect(result.preview).toContain("can't be used by a command that a job runs");
  }
  // What it wrote is there, and counts for nothing in the job that runs.
  expect(shown[2]).toMatchObject({ outcome: 'ok' });
  expect(readFileSync(join(c.dir, '.claude/settings.local.json'), 'utf8')).toBe(JSON.stringify(open));
  expect(shown[3]).toMatchObject({ outcome: 'denied', decision: { reason: 'Nobody answered in time.' } });
  expect(existsSync(join(c.dir, 'deployed.txt'))).toBe(false);
});
