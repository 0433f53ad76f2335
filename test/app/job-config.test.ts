import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type JobFlags, type JobSources, buildJobConfig, workspace } from '../../src/app/job-config.ts';
import { jobSettings } from '../../src/app/job-settings.ts';
import { JobConfig } from '../../src/shapes/job.ts';

const NOW = Date.parse('2026-11-30T12:00:00Z');
let cwd: string;

beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'job-config-'));
  mkdirSync(join(cwd, 'sub'));
  writeFileSync(join(cwd, 'file'), '');
});
afterAll(() => rmSync(cwd, { recursive: true }));

function build(flags: JobFlags = {}, env: Record<string, string> = {}, more: Partial<JobSources> = {}): JobConfig {
  const priced = (model: string): boolean => model === 'claude-sonnet-5-5';
  const dir = workspace(flags.dir, cwd);
  const nothing = { layers: [], problems: [], placeOf: () => undefined };
  const trust = { root: dir, trusted: false, problems: [] };
  const { allow = [], ask = [], deny = [] } = flags;
  const settings = jobSettings(
    { ...nothing, trust, dir, cwd, home: '/home/ada', userConfig: '/home/ada/.claude' },
    { flags: { allow, ask, deny } },
  );
  const sources = { prompt: 'Fix it', flags, dir, settings, env, uid: 1000, now: NOW, random: 'x7k2', priced };
  return buildJobConfig({ ...sources, ...more });
}

test('a job without flags works here, asks by the rules, and has no limits but ten calls at once', () => {
  const config = build();
  expect(JobConfig.parse(config)).toEqual(config);
  expect(config).toEqual({
    v: 1,
    id: 'fix-it-x7k2',
    title: 'Fix it',
    dir: cwd,
    model: 'claude-sonnet-5-5',
    rules: expect.objectContaining({ allow: [], ask: [], deny: [], mode: 'default', warnings: [] }),
    limits: { concurrency: 10 },
    onLimit: 'end',
    stay: false,
    siblingAbort: 'bash',
    hooks: [],
    ladder: [],
    allowDescribed: [],
    env: {},
    warnings: [],
  });
});

test('flags become settings', () => {
  const config = build(
    {
      dir: 'sub',
      name: 'nightly.docs-2',
      model: 'claude-opus-5-5',
      permissionMode: 'acceptEdits',
      stay: true,
      allow: ['Bash(npm test:*)', 'Read'],
      ask: ['Bash(git push:*)'],
      deny: ['Bash(rm:*)'],
      onLimit: 'ask',
      maxTurns: '2',
      maxSteps: '50',
      deadline: '8h',
      appendSystemPrompt: 'Be brief.',
    },
    { ANTHROPIC_MODEL: 'claude-haiku-5-5' },
  );
  expect(config).toMatchObject({
    id: 'nightly.docs-2',
    dir: join(cwd, 'sub'),
    model: 'claude-opus-5-5',
    stay: true,
    onLimit: 'ask',
    limits: { turns: 2, steps: 50, deadline: NOW + 8 * 3_600_000, concurrency: 10 },
    appendSystemPrompt: 'Be brief.',
  });
  const texts = (list: 'allow' | 'ask' | 'deny'): string[] => config.rules[list].map((rule) => rule.text);
  expect([config.rules.mode, texts('allow'), texts('ask'), texts('deny')]).toEqual([
    'acceptEdits',
    ['Bash(npm test:*)', 'Read'],
    ['Bash(git push:*)'],
    ['Bash(rm:*)'],
  ]);
});

test('the model comes from the shell when no flag names one', () => {
  expect(build({}, { ANTHROPIC_MODEL: 'claude-haiku-5-5' }).model).toBe('claude-haiku-5-5');
  expect(build({}, { ANTHROPIC_MODEL: '' }).model).toBe('claude-sonnet-5-5');
});

test.each<[string, JobFlags, RegExp]>([
  ['a folder that is not there', { dir: 'nowhere' }, /nowhere: there is no such folder/],
  ['a file in place of a folder', { dir: 'file' }, /file is a file, not a folder/],
  ['a name with a slash', { name: 'a/b' }, /--name "a\/b": a job name is 1 to 100 of a-z/],
  ['a name in capitals', { name: 'Fix' }, /--name "Fix"/],
  ['an empty name', { name: '' }, /--name ""/],
  ['a long name', { name: 'x'.repeat(101) }, /--name/],
  ['a path as a name', { name: '..' }, /--name "\.\."/],
  ['an unknown mode', { permissionMode: 'yolo' }, /--permission-mode yolo: it is one of default, acceptEdits/],
  [
    'a broken rule',
    { allow: ['Bash(npm test'] },
    /--allow: "Bash\(npm test" is not a rule; write Tool or Tool\(specifier\)\.$/,
  ],
  ['a rule that approves nothing', { allow: ['*'] }, /--allow: "\*" approves nothing/],
  ['a deny rule without effect', { deny: ['Write(src/**)'] }, /--deny: .*write Edit\(src/],
  ['an unknown way to end', { onLimit: 'stop' }, /--on-limit stop: it is one of end, ask/],
  [
    'a budget with a model without a price',
    { maxUsd: '5', model: 'my-model' },
    /price of the model my-model is not known/,
  ],
])('%s is refused with 2 and says what to do', (_what, flags, message) => {
  expect(() => build(flags)).toThrow(message);
  expect(() => build(flags)).toThrow(expect.objectContaining({ exitCode: 2 }));
});

test('a budget is kept for a model with a price', () => {
  expect(build({ maxUsd: '2.50' }).limits.budget).toBe(2_500_000);
});

test('bypassPermissions is for other users than root, or for a sandbox', () => {
  const flags = { permissionMode: 'bypassPermissions' };
  expect(() => build(flags, {}, { uid: 0 })).toThrow(/refused for root/);
  expect(() => build(flags, { IS_SANDBOX: 'yes' }, { uid: 0 })).toThrow(/refused for root/);
  expect(build(flags, { IS_SANDBOX: '1' }, { uid: 0 }).rules.mode).toBe('bypassPermissions');
  expect(build(flags).rules.mode).toBe('bypassPermissions');
});

const OURS = 'NIGHTSHIFT_MAX_TOOL_CONCURRENCY';
const THEIRS = 'CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY';
test.each<[Record<string, string>, number, string | undefined]>([
  [{}, 10, undefined],
  [{ [THEIRS]: '3' }, 3, undefined],
  [{ [OURS]: '4', [THEIRS]: '3' }, 4, undefined],
  [{ [OURS]: '', [THEIRS]: '3' }, 3, undefined],
  [{ [OURS]: '0', [THEIRS]: '3' }, 10, OURS],
  [{ [OURS]: 'ten' }, 10, OURS],
  [{ [THEIRS]: '2.5' }, 10, THEIRS],
  [{ [THEIRS]: '-1' }, 10, THEIRS],
  [{ [THEIRS]: '1e1' }, 10, THEIRS],
])('with %j at most %i calls run at once', (env, concurrency, warned) => {
  const config = build({}, env);
  expect(config.limits.concurrency).toBe(concurrency);
  expect(config.warnings.map((text) => text.split('=')[0])).toEqual(warned === undefined ? [] : [warned]);
});

test('job variables are recorded, and nothing else of the shell', () => {
  const env = {
    ENABLE_TOOL_SEARCH: 'auto',
    BASH_DEFAULT_TIMEOUT_MS: '5000',
    ANTHROPIC_API_KEY: 'secret',
    PATH: '/bin',
  };
  expect(build({}, env).env).toEqual({ ENABLE_TOOL_SEARCH: 'auto', BASH_DEFAULT_TIMEOUT_MS: '5000' });
});

test('the shell may bound the length of a reply', () => {
  expect(build({}, { CLAUDE_CODE_MAX_OUTPUT_TOKENS: '8000' }).maxTokens).toBe(8000);
  expect(build({}, { CLAUDE_CODE_MAX_OUTPUT_TOKENS: 'lots' })).not.toHaveProperty('maxTokens');
});

test('an empty name of a model is refused', () => {
  expect(() => build({ model: ' ' })).toThrow(/--model/);
});
