import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { agentTools, type AgentFiles, readAgentFiles } from '../../src/host/agent-files.ts';
import { readSkillFiles } from '../../src/host/skill-files.ts';

let top: string;
beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'agent-files-')));
  mkdirSync(join(top, 'repo/sub'), { recursive: true });
});
afterEach(() => rmSync(top, { recursive: true }));

const places = () => ({ dir: join(top, 'repo/sub'), root: join(top, 'repo'), userConfig: join(top, 'user') });
function put(path: string, text: string | Uint8Array): void {
  mkdirSync(dirname(join(top, path)), { recursive: true });
  writeFileSync(join(top, path), text);
}
const sample = (name: string): string => readFileSync(new URL(`../configs/${name}`, import.meta.url), 'utf8');
const agent = (name: string, body = 'x'): string => `---\nname: ${name}\ndescription: d\n---\n${body}\n`;
const told = ({ problems }: AgentFiles): string[] =>
  problems.map(({ file, line, text }) => `${file.slice(top.length)}:${line} ${text}`);
const here = 'repo/sub/.claude/agents';

describe('agents', () => {
  test('have all fields of their file; a list may be a text with commas', async () => {
    put(`${here}/review.md`, sample('25-agent-full.agents.md'));
    const { agents, problems } = await readAgentFiles(places());
    expect(problems).toEqual([]);
    expect(agents).toEqual([
      expect.objectContaining({
        name: 'change-reviewer',
        description: 'Reviews a diff before hand-over: style, tests, risks',
        tools: ['Read', 'Grep', 'Glob', 'Bash', 'Nope'],
        disallowedTools: ['Bash', 'Write'],
        model: 'inherit',
        permissionMode: 'acceptEdits',
        maxTurns: 12,
        skills: ['house-style'],
        prompt: 'You review changes. Report findings, change nothing.',
        scope: 'project',
      }),
    ]);
    const known = ['Read', 'Write', 'Bash', 'Grep', 'Glob'];
    expect(agentTools(agents[0]!, known)).toEqual({ tools: ['Read', 'Grep', 'Glob'], unknown: ['Nope'] });
    expect(agentTools({ disallowedTools: ['Write'] }, known).tools).toEqual(['Read', 'Bash', 'Grep', 'Glob']);
  });

  test('a head that is no YAML leaves the agent out, with its line', async () => {
    put(`${here}/log.md`, sample('27-bad-yaml.agents.md'));
    const found = await readAgentFiles(places());
    expect(found.agents).toEqual([]);
    expect(told(found)).toEqual([
      expect.stringMatching(/log\.md:3 Its head is no valid YAML: .* The agent is left out/),
    ]);
  });

  test.each([
    ['a colon in its name', sample('29-bad-names.agents.md'), /a name has no colon/],
    ['a hyphen before its name', agent('-x'), /does not begin with a hyphen/],
    ['no name', '---\ndescription: d\n---\n', /has no name: /],
    ['no description', '---\nname: a\n---\n', /has no description: /],
    [
      'an alias bomb',
      `---\na: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b,*b]\nname: n\n---\n`,
      /repeats itself|has no description/,
    ],
    ['a head that is a list', '---\n- a\n---\n', /must hold keys and values/],
  ])('%s leaves it out with a word', async (_what, text, message) => {
    put(`${here}/a.md`, text);
    const found = await readAgentFiles(places());
    expect([found.agents, told(found)]).toEqual([[], [expect.stringMatching(message)]]);
  });

  test('a byte order mark and Windows line ends hide nothing; a note without a head is no agent', async () => {
    put(`${here}/a.md`, `\uFEFF${agent('a').replaceAll('\n', '\r\n')}`);
    put(`${here}/README.md`, '# Agents\n');
    const found = await readAgentFiles(places());
    expect([found.agents.map(({ name }) => name), told(found)]).toEqual([['a'], []]);
  });

  test('of one name the nearer counts; two in one folder are told, and the first by path counts', async () => {
    put(`${here}/b.md`, agent('same', 'second'));
    put(`${here}/a.md`, agent('same', 'first'));
    put('repo/.claude/agents/deep/er/c.md', agent('same', 'above'));
    put('repo/.claude/agents/deep/er/d.md', agent('other'));
    put('user/agents/e.md', agent('other', 'user'));
    put('user/agents/f.md', agent('mine', 'user'));
    const found = await readAgentFiles(places());
    expect(found.agents.map(({ name, prompt, scope }) => [name, prompt, scope])).toEqual([
      ['same', 'first', 'project'],
      ['other', 'x', 'project'],
      ['mine', 'user', 'user'],
    ]);
    expect(told(found)).toEqual([expect.stringMatching(/\/b\.md:undefined Another file has the name same too/)]);
  });

  test('links out of the repository are refused, those of the user are followed, and circles end', async () => {
    put('private/secret.md', agent('secret'));
    put(`${here}/a.md`, agent('a'));
    put('user/agents/x.md', agent('x'));
    symlinkSync(join(top, 'private/secret.md'), join(top, here, 'out.md'));
    symlinkSync(join(top, 'private'), join(top, here, 'folder'));
    symlinkSync(join(top, here), join(top, here, 'loop'));
    symlinkSync(join(top, 'private/secret.md'), join(top, 'user/agents/out.md'));
    const found = await readAgentFiles(places());
    expect(found.agents.map(({ name, scope }) => [name, scope])).toEqual([
      ['a', 'project'],
      ['secret', 'user'],
      ['x', 'user'],
    ]);
    expect(told(found)).toEqual([
      expect.stringMatching(/\/folder:undefined It is a link out of/),
      expect.stringMatching(/\/out\.md:undefined It is a link out of/),
    ]);
  });
});

describe('skills', () => {
  test('are called like their folder, and switches may be words', async () => {
    cpSync(new URL('../configs/31-skill', import.meta.url), join(top, 'repo/.claude/skills/31-skill'), {
      recursive: true,
    });
    const { skills, problems } = await readSkillFiles(places());
    expect(problems).toEqual([]);
    expect(skills).toEqual([
      expect.objectContaining({
        name: '31-skill',
        description: 'Prepare a release note from the staged diff',
        argumentHint: '[version]',
        allowedTools: ['Bash(git diff *)', 'Bash(git log *)', 'Read'],
        userOnly: true,
        fork: true,
        scope: 'project',
      }),
    ]);
    expect(skills[0]?.body).toContain('Cost: \\$5.');
  });

  test.each([
    ['commas', 'Bash(git diff *), Read'],
    ['blanks', 'Bash(git diff *) Read'],
    ['a list', '["Bash(git diff *)", "Read"]'],
  ])('allowed tools may be written with %s', async (_how, tools) => {
    put('repo/.claude/skills/s/SKILL.md', `---\nallowed-tools: ${tools}\n---\nx\n`);
    const { skills } = await readSkillFiles(places());
    expect(skills[0]?.allowedTools).toEqual(['Bash(git diff *)', 'Read']);
  });

  test('the user’s own come first, and nothing deeper than a skill’s folder is one', async () => {
    put('user/skills/s/SKILL.md', 'Of the user.\n');
    put('repo/.claude/skills/s/SKILL.md', 'Of the folder.\n');
    put('repo/.claude/skills/t/SKILL.md', '# Heading\n');
    put('repo/.claude/skills/t/more/u/SKILL.md', 'x\n');
    const { skills } = await readSkillFiles(places());
    expect(skills.map(({ name, description }) => [name, description])).toEqual([
      ['s', 'Of the user.'],
      ['t', 'Heading'],
    ]);
  });
});
