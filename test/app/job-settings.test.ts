import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { buildJobConfig, type JobFlags } from '../../src/app/job-config.ts';
import { jobSettings, type JobSettings, problemText } from '../../src/app/job-settings.ts';
import { readConfig } from '../../src/app/read-config.ts';
import { decide } from '../../src/permissions/chain.ts';
import { JobConfig } from '../../src/shapes/job.ts';

let top: string;
let home: string;
let dir: string;
beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'job-settings-')));
  home = join(top, 'home');
  dir = join(top, 'proj');
  mkdirSync(home);
  mkdirSync(dir);
});
afterEach(() => rmSync(top, { recursive: true }));

function put(path: string, content: unknown): string {
  const file = join(top, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}
const user = (content: unknown): string => put('home/.claude/settings.json', content);
const project = (content: unknown): string => put('proj/.claude/settings.json', content);
const local = (content: unknown): string => put('proj/.claude/settings.local.json', content);
const managed = (content: unknown): string => put('managed/managed-settings.json', content);
const trusted = (root = dir): string =>
  put('state/trust.json', { v: 1, folders: { [root]: { trusted: true, at: '2026-11-30T00:00:00Z' } } });
const env = (more: Record<string, string> = {}): Record<string, string> => ({
  HOME: home,
  NIGHTSHIFT_HOME: join(top, 'state'),
  ...more,
});

async function read(
  more: { settings?: string; dir?: string; env?: Record<string, string> } = {},
  flags: { allow?: string[]; ask?: string[]; deny?: string[] } = {},
): Promise<JobSettings> {
  const found = await readConfig({
    dir: more.dir ?? dir,
    cwd: top,
    env: more.env ?? env(),
    managedDir: join(top, 'managed'),
    ...(more.settings === undefined ? {} : { settings: more.settings }),
  });
  const { allow = [], ask = [], deny = [] } = flags;
  return jobSettings(found, { flags: { allow, ask, deny }, tools: ['Bash', 'Read', 'Edit', 'Write', 'Grep', 'Glob'] });
}
const texts = ({ rules }: JobSettings, list: 'allow' | 'ask' | 'deny'): string[] => rules[list].map(({ text }) => text);
const warnings = ({ warnings }: JobSettings): string[] =>
  warnings.map((warning) => problemText(warning).replaceAll(top, ''));

async function config(
  flags: JobFlags = {},
  more: { env?: Record<string, string>; uid?: number; settings?: string } = {},
): Promise<JobConfig> {
  const shell = env(more.env);
  const settings = await read(
    { env: shell, ...(more.settings === undefined ? {} : { settings: more.settings }) },
    flags,
  );
  const built = buildJobConfig({
    prompt: 'Fix it',
    flags,
    dir,
    settings,
    env: shell,
    uid: more.uid ?? 1000,
    now: Date.parse('2026-11-30T12:00:00Z'),
    random: 'x7k2',
    priced: (model, own) => model === 'claude-sonnet-5-5' || own?.[model] !== undefined,
  });
  expect(JobConfig.parse(JSON.parse(JSON.stringify(built)))).toEqual(built);
  return built;
}

describe('places', () => {
  test('two files of a folder and that of its user: lists add up, the nearer mode counts, one hook runs once', async () => {
    cpSync(new URL('../configs/12-two-scopes', import.meta.url), dir, { recursive: true });
    user({ permissions: { deny: ['Bash(npm run deploy)'] } });
    trusted();
    const found = await read();
    expect(texts(found, 'allow')).toEqual([
      'Bash(npm run lint)',
      'Bash(npm publish *)',
      'Edit(/src/**)',
      'Bash(npm test)',
    ]);
    expect([texts(found, 'ask'), texts(found, 'deny')]).toEqual([['Bash(npm publish *)'], ['Bash(npm run deploy)']]);
    expect([found.rules.mode, found.hooks.length]).toEqual(['acceptEdits', 1]);
    expect(warnings(found)).toEqual([]);
  });

  test('from the strongest to the weakest: managed, --settings, local, project, user', async () => {
    const order = ['managed', 'flag', 'local', 'project', 'user'];
    const files = [
      managed({ model: 'managed', permissions: { deny: ['Read(managed)'] } }),
      put('flag.json', { model: 'flag', permissions: { deny: ['Read(flag)'] } }),
      local({ model: 'local', permissions: { deny: ['Read(local)'] } }),
      project({ model: 'project', permissions: { deny: ['Read(project)'] } }),
      user({ model: 'user', permissions: { deny: ['Read(user)'] } }),
    ];
    trusted();
    expect(texts(await read({ settings: 'flag.json' }), 'deny')).toEqual(order.map((name) => `Read(${name})`));
    const strongest: (string | undefined)[] = [];
    for (const [i, file] of files.entries()) {
      strongest.push((await read(i < 2 ? { settings: 'flag.json' } : {})).model);
      rmSync(file);
    }
    expect(strongest).toEqual(order);
  });

  test('each rule keeps its file and the folder that its leading slash means', async () => {
    const files = [local, project, user].map((write) => write({ permissions: { deny: ['Read(/x)'] } }));
    const flag = put('ci/flag.json', { permissions: { deny: ['Read(/x)'] } });
    const found = await read({ settings: 'ci/flag.json' }, { deny: ['Read(/x)'] });
    expect(found.rules.deny.map(({ source }) => [source.kind, source.file, source.base])).toEqual([
      ['cli', undefined, top],
      ['flagFile', flag, join(top, 'ci')],
      ['local', files[0], dir],
      ['project', files[1], dir],
      ['user', files[2], join(home, '.claude')],
    ]);
  });

  test('files of the administrator’s folder are laid over one another by name', async () => {
    managed({ model: 'base', permissions: { deny: ['Read(a)'] } });
    put('managed/managed-settings.d/20-b.json', { model: 'late' });
    put('managed/managed-settings.d/10-a.json', { model: 'early', permissions: { deny: ['Read(b)'] } });
    put('managed/managed-settings.d/.hidden.json', { model: 'hidden' });
    const found = await read();
    expect([found.model, texts(found, 'deny')]).toEqual(['late', ['Read(b)', 'Read(a)']]);
  });

  test('an administrator can leave all others without a say in what is allowed', async () => {
    managed({ allowManagedPermissionRulesOnly: true, permissions: { allow: ['Read'] } });
    user({ permissions: { allow: ['Bash'], deny: ['Edit'] } });
    const found = await read({}, { allow: ['Write'] });
    expect([texts(found, 'allow'), texts(found, 'deny')]).toEqual([['Read'], ['Edit']]);
  });

  test('CLAUDE_CONFIG_DIR is the folder of the user’s settings', async () => {
    user({ model: 'elsewhere' });
    put('cfg/settings.json', { model: 'here' });
    const found = await read({ env: env({ CLAUDE_CONFIG_DIR: join(top, 'cfg') }) });
    expect(found.model).toBe('here');
  });

  test('below the root of a repository local settings are those of the root, and what does not count is said', async () => {
    mkdirSync(join(dir, '.git'));
    const sub = join(dir, 'sub');
    local({ permissions: { deny: ['Read(/root)'] } });
    project({ permissions: { deny: ['Read(above)'] } });
    put('proj/sub/.claude/settings.json', { permissions: { deny: ['Read(sub)'] } });
    put('proj/sub/.claude/settings.local.json', { permissions: { deny: ['Read(lost)'] } });
    const found = await read({ dir: sub });
    expect(texts(found, 'deny')).toEqual(['Read(/root)', 'Read(sub)']);
    expect(found.rules.deny[0]?.source.base).toBe(sub);
    expect(warnings(found)).toEqual([
      '/proj/.claude/settings.json: It does not count for a job in ' +
        sub.replace(top, '') +
        '. Start the job in /proj for that.',
      expect.stringMatching(/^\/proj\/sub\/\.claude\/settings\.local\.json: It does not count/),
    ]);
  });

  test('who works at home has one file, which is the user’s', async () => {
    user({ permissions: { allow: ['Read'] }, model: 'mine' });
    const found = await read({ dir: home });
    expect([found.model, texts(found, 'allow'), warnings(found)]).toEqual(['mine', ['Read'], []]);
  });

  test('--settings takes JSON too; a file that is not there stops the job', async () => {
    const found = await read({ settings: '{"model": "inline", "permissions": {"allow": ["Read(/x)"]}}' });
    expect([found.model, found.rules.allow[0]?.source]).toEqual(['inline', { kind: 'flagFile', base: top }]);
    await expect(read({ settings: 'nowhere.json' })).rejects.toThrow(/nowhere\.json: There is no such file/);
    await expect(read({ settings: '{"model": }' })).rejects.toThrow(/--settings:1:11: It is no valid JSON/);
  });
});

describe('what is wrong', () => {
  test('stops the job before it exists, with every place', async () => {
    user('{"permissions": {"deny": "Bash", "allow": {}}}');
    project('{"permissions": }');
    const failed = await read().catch((error: unknown) => error);
    expect(failed).toMatchObject({ exitCode: 2 });
    expect(String(failed).replaceAll(top, '')).toMatch(
      /wrong in 3 places[^]*\/proj\/\.claude\/settings\.json:1:17: It is no valid JSON[^]*\/home\/\.claude\/settings\.json:1:18: permissions\.deny must be a list[^]*:1:34: permissions\.allow must be a list/,
    );
  });

  test('also where the folder is not trusted: its deny rules count', async () => {
    project('{"permissions": {"deny": {}}}');
    await expect(read()).rejects.toThrow(/permissions\.deny must be a list, not an object/);
  });

  test('in single rules is told with its line, and the others count', async () => {
    cpSync(new URL('../configs/14-rules-that-do-nothing.settings.json', import.meta.url), join(top, 'rules.json'));
    const found = await read({ settings: 'rules.json' });
    expect([texts(found, 'allow'), texts(found, 'deny'), texts(found, 'ask')]).toEqual([
      ['read', 'Task(Explore)', 'Read(**)'],
      ['bash'],
      ['Bash(*-h*)'],
    ]);
    expect(found.rules.allow[1]?.tool).toBe('Agent');
    const told = warnings(found).map((text) => /^\/rules\.json:(\d+):\d+: "([^"]*)"/.exec(text)?.slice(1));
    expect(told).toEqual([
      ['16', 'Write(.env)'],
      ['18', 'Stop Task'],
      ['19', 'Bash(command:rm *)'],
      ['4', 'Write(docs/**)'],
      ['5', 'MultiEdit(docs/**)'],
      ['6', 'Glob(docs/**)'],
      ['8', 'Bash(npm test'],
      ['9', '*'],
      ['10', 'mcp__*'],
      ['12', 'SlashCommand(/ship)'],
      ['17', 'bash'],
      ['7', 'read'],
    ]);
  });
});

describe('a folder that is not trusted', () => {
  test('gets nothing allowed by its own files, and the person is told the command', async () => {
    project({
      permissions: { allow: ['Bash'], deny: ['Read(.env)'], ask: ['Edit'], additionalDirectories: ['/'] },
      env: { LD_PRELOAD: '/evil.so' },
      hooks: { SessionStart: [{ hooks: [{ type: 'command', command: 'evil' }] }] },
      nightshift: { prompts: [{ after: '0s', notify: [{ command: 'evil' }], then: 'continue-without' }] },
    });
    const found = await read();
    expect([texts(found, 'allow'), texts(found, 'ask'), texts(found, 'deny')]).toEqual([[], ['Edit'], ['Read(.env)']]);
    expect(found).toMatchObject({ hooks: [], env: {}, ladder: [] });
    expect(found.rules).toMatchObject({ directories: [], trusted: false });
    expect(warnings(found)).toEqual([
      '/proj/.claude/settings.json: Before this folder is trusted these do not count: permissions.allow, permissions.additionalDirectories, hooks, env, nightshift. To trust it: nightshift trust /proj',
    ]);
  });

  test.each([
    ['plan', undefined, 'plan'],
    ['plan', 'acceptEdits', 'plan'],
    ['dontAsk', 'plan', 'plan'],
    ['default', 'plan', 'plan'],
    ['default', 'dontAsk', 'dontAsk'],
    ['acceptEdits', undefined, 'default'],
    ['bypassPermissions', undefined, 'default'],
    ['default', 'bypassPermissions', 'default'],
  ])('may make the mode stricter, never laxer: %s over %s is %s', async (own, users, mode) => {
    project({ permissions: { defaultMode: own } });
    user(users === undefined ? {} : { permissions: { defaultMode: users } });
    expect((await read()).rules.mode).toBe(mode);
  });

  test('can forbid bypassPermissions', async () => {
    project({ permissions: { disableBypassPermissionsMode: 'disable' } });
    await expect(config({ permissionMode: 'bypassPermissions' })).rejects.toThrow(/forbidden by/);
  });
});

describe('trust', () => {
  const allowed = async (folder = dir): Promise<boolean> =>
    texts(await read({ dir: folder }), 'allow').includes('Bash');
  beforeEach(() => project({ permissions: { allow: ['Bash'] } }));

  test('is given to a repository as a whole, not to one inside of it', async () => {
    mkdirSync(join(dir, '.git'));
    const sub = join(dir, 'sub');
    put('proj/sub/.claude/settings.json', { permissions: { allow: ['Bash'] } });
    put('proj/vendor/.claude/settings.json', { permissions: { allow: ['Bash'] } });
    put('proj/vendor/.git', 'gitdir: ../.git\n');
    trusted();
    expect([await allowed(), await allowed(sub), await allowed(join(dir, 'vendor'))]).toEqual([true, true, false]);
  });

  test('follows links to the real folder', async () => {
    const link = join(top, 'link');
    symlinkSync(dir, link);
    trusted();
    expect(await allowed(link)).toBe(true);
  });

  test('is what the user said to Claude Code, unless nightshift was told otherwise', async () => {
    put('home/.claude.json', { projects: { [dir]: { hasTrustDialogAccepted: true, history: [1] }, '/x': 5 } });
    expect(await allowed()).toBe(true);
    put('state/trust.json', { v: 1, folders: { [dir]: { trusted: false, at: '2026-11-30T00:00:00Z' } } });
    expect(await allowed()).toBe(false);
  });

  test.each([
    ['a flag of another folder', { projects: { '/other': { hasTrustDialogAccepted: true } } }],
    ['a flag that is no boolean', { projects: { PROJ: { hasTrustDialogAccepted: 'true' } } }],
    ['no projects', { projects: [] }],
    ['a file that is cut', '{"projects": {"PROJ": {"hasTrustDialogAccepted": true'],
  ])('%s gives none', async (_what, state) => {
    put('home/.claude.json', (typeof state === 'string' ? state : JSON.stringify(state)).replace('PROJ', dir));
    expect(await allowed()).toBe(false);
  });

  test('a damaged list trusts nobody, and is named', async () => {
    put('home/.claude.json', { projects: { [dir]: { hasTrustDialogAccepted: true } } });
    put('state/trust.json', '{"v": 1');
    const found = await read();
    expect(texts(found, 'allow')).toEqual([]);
    expect(warnings(found)[0]).toMatch(/^\/state\/trust\.json:1:\d+: It is no valid JSON/);
  });
});

describe('the snapshot of a job', () => {
  test('holds what the settings say', async () => {
    project({
      model: 'opus',
      env: { CI: 1, BASH_MAX_TIMEOUT_MS: '1000' },
      hooks: { PreToolUse: [{ matcher: 'Bash', hooks: [{ type: 'command', command: './check.sh', timeout: 5 }] }] },
      permissions: { defaultMode: 'acceptEdits', additionalDirectories: ['../other', '~/notes'] },
      nightshift: {
        siblingAbort: 'off',
        allowDescribed: ['run the test suite'],
        prices: { 'my-model': { input: 1, output: 2 } },
        prompts: [
          { after: '4h', then: 'deny' },
          { after: '0s', notify: [{ command: 'mail me' }] },
          { after: '5h', then: 'fail' },
        ],
      },
    });
    trusted();
    const built = await config({ model: 'my-model', maxUsd: '1' });
    expect(built).toMatchObject({
      model: 'my-model',
      env: { CI: '1', BASH_MAX_TIMEOUT_MS: '1000' },
      siblingAbort: 'off',
      allowDescribed: ['run the test suite'],
      prices: { 'my-model': { input: 1, output: 2 } },
      rules: { mode: 'acceptEdits', directories: [join(top, 'other'), join(home, 'notes')], trusted: true },
      ladder: [
        { afterMs: 0, notify: [{ command: 'mail me' }] },
        { afterMs: 14_400_000, then: 'deny' },
      ],
      hooks: [{ event: 'PreToolUse', matcher: 'Bash', command: './check.sh', timeout: 5 }],
      warnings: [],
    });
    expect((await config()).model).toBe('claude-opus-5-5');
    expect((await config({}, { env: { ANTHROPIC_MODEL: 'haiku' } })).model).toBe('claude-haiku-5-5');
  });

  test('flags win over settings', async () => {
    user({ model: 'opus', permissions: { defaultMode: 'plan' } });
    managed({ permissions: { defaultMode: 'dontAsk' } });
    const built = await config({ model: 'sonnet', permissionMode: 'default' });
    expect([built.model, built.rules.mode]).toEqual(['claude-sonnet-5-5', 'default']);
  });

  test('the shell wins over env blocks, but for PATH', async () => {
    user({ env: { A: 'settings', PATH: '/tools', NIGHTSHIFT_MAX_TOOL_CONCURRENCY: '3', ANTHROPIC_MODEL: 'haiku' } });
    const plain = await config();
    expect(plain.env).toMatchObject({ A: 'settings', PATH: '/tools' });
    expect([plain.limits.concurrency, plain.model]).toEqual([3, 'claude-haiku-5-5']);
    const shell = { A: 'shell', PATH: '/bin', NIGHTSHIFT_MAX_TOOL_CONCURRENCY: '5' };
    const other = await config({}, { env: shell });
    expect(other.env).toMatchObject({ A: 'shell', PATH: '/tools' });
    expect(other.limits.concurrency).toBe(5);
  });

  test('keys of the service in an env block are never written down', async () => {
    user({ env: { ANTHROPIC_API_KEY: 'sk-secret', TEMPORAL_ADDRESS: 'evil:7233', NIGHTSHIFT_HOME: '/x' } });
    const built = await config();
    expect(JSON.stringify(built)).not.toMatch(/sk-secret|evil:7233/);
    expect(built.env).toEqual({});
    expect(built.warnings).toHaveLength(3);
    expect(built.warnings[0]).toMatch(/settings\.json:1:\d+: env\.ANTHROPIC_API_KEY does not count/);
  });

  test('keeps the files that it was read from out of reach, whatever they are called', async () => {
    put('cfg/settings.json', {});
    const flag = put('ci/rules.json', { permissions: { allow: ['Edit'] } });
    const { rules } = await config({}, { env: { CLAUDE_CONFIG_DIR: join(top, 'cfg') }, settings: flag });
    const verdict = (path: string): string =>
      decide({ tool: 'Edit', input: {}, traits: { access: 'edit', paths: [{ path, use: 'edit' }] } }, rules, {
        cwd: dir,
        root: dir,
        home,
        resolve: (path) => ({ path, real: path }),
      }).behavior;
    const paths = ['cfg/settings.json', 'cfg/agents/x.md', 'ci/rules.json', 'ci/other.json'];
    expect(paths.map((path) => verdict(join(top, path)))).toEqual(['ask', 'ask', 'ask', 'allow']);
  });

  test('bypassPermissions of a settings file is refused for root as that of a flag is', async () => {
    user({ permissions: { defaultMode: 'bypassPermissions' } });
    await expect(config({}, { uid: 0 })).rejects.toThrow(/refused for root/);
    expect((await config({}, { uid: 1000 })).rules.mode).toBe('bypassPermissions');
    expect((await config({ permissionMode: 'manual' }, { uid: 0 })).rules.mode).toBe('default');
  });
});
