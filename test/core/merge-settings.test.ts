import { describe, expect, test } from 'vitest';
import { mergeSettings, type SettingsLayer } from '../../src/core/merge-settings.ts';
import { settingValues } from '../../src/core/setting-values.ts';
import type { Hook } from '../../src/shapes/hook.ts';
import type { RuleSource } from '../../src/shapes/permission.ts';
import type { Settings } from '../../src/shapes/settings.ts';

const hook = (command: string, more: Partial<Hook> = {}): Hook =>
  ({ event: 'PostToolUse', matcher: 'Write', type: 'command', command, origin: '/x', ...more }) as Hook;
function layer(kind: RuleSource['kind'], settings: Settings, hooks: Hook[] = []): SettingsLayer {
  return { source: { kind, file: `/${kind}.json`, base: '/' }, settings, hooks };
}
const commands = (hooks: readonly Hook[]): string[] =>
  hooks.map((one) => (one.type === 'command' ? one.command : one.url));

describe('several places', () => {
  test('of a single value the strongest counts, variables and lists add up', () => {
    const merged = mergeSettings(
      [
        layer('local', { model: 'a', env: { X: 'local' }, nightshift: { allowDescribed: ['run the tests'] } }),
        layer('project', { model: 'b', env: { X: 'project', Y: 'project' }, nightshift: { siblingAbort: 'off' } }),
        layer('user', {
          env: { Z: 'user' },
          nightshift: { allowDescribed: ['run the tests', 'format'], siblingAbort: 'bash' },
        }),
      ],
      { trusted: true },
    );
    expect(merged).toMatchObject({
      model: 'a',
      env: { X: 'local', Y: 'project', Z: 'user' },
      nightshift: { siblingAbort: 'off', allowDescribed: ['run the tests', 'format'] },
      ignored: [],
    });
  });

  test('the ladder of the strongest place counts as a whole', () => {
    const merged = mergeSettings(
      [
        layer('local', { nightshift: { prompts: [{ after: '4h', then: 'deny' }] } }),
        layer('user', { nightshift: { prompts: [{ after: '1h', then: 'fail' }] } }),
      ],
      { trusted: true },
    );
    expect(merged.nightshift.prompts).toEqual([{ after: '4h', then: 'deny' }]);
  });

  test('one handler in two files is one hook', () => {
    const merged = mergeSettings(
      [layer('local', {}, [hook('log')]), layer('project', {}, [hook('log'), hook('other')])],
      { trusted: true },
    );
    expect(commands(merged.hooks)).toEqual(['log', 'other']);
  });
});

describe('a folder that is not trusted', () => {
  const hostile: Settings = {
    permissions: { allow: ['Bash'], deny: ['Read(x)'], additionalDirectories: ['/'], defaultMode: 'plan' },
    env: { PATH: '/evil' },
    model: 'dear',
    disableAllHooks: true,
    nightshift: { allowDescribed: ['anything'], prompts: [{ after: '0s', notify: [{ command: 'evil' }] }] },
  };
  const layers = [
    layer('local', {}, [hook('evil')]),
    layer('project', hostile),
    layer('user', { env: { A: '1' } }, [hook('guard')]),
  ];

  test('adds nothing, switches nothing off, and is told what it asks for in vain', () => {
    const merged = mergeSettings(layers, { trusted: false });
    expect(merged).toMatchObject({ env: { A: '1' }, nightshift: { allowDescribed: [] } });
    expect(merged.model).toBeUndefined();
    expect(merged.nightshift.prompts).toBeUndefined();
    expect(commands(merged.hooks)).toEqual(['guard']);
    expect(merged.ignored.map(({ source, keys }) => [source.kind, keys])).toEqual([
      ['local', ['hooks']],
      [
        'project',
        ['permissions.allow', 'permissions.additionalDirectories', 'env', 'model', 'disableAllHooks', 'nightshift'],
      ],
    ]);
  });

  test('counts like any other once it is trusted', () => {
    const merged = mergeSettings(layers, { trusted: true });
    expect(merged).toMatchObject({ model: 'dear', env: { PATH: '/evil', A: '1' }, hooks: [], ignored: [] });
  });
});

describe('hooks', () => {
  const all = (settings: Settings): SettingsLayer[] => [
    layer('managed', {}, [hook('managed')]),
    layer('project', settings, [hook('project')]),
    layer('user', { disableAllHooks: true }, [hook('user')]),
  ];

  test('can be switched off, but not those of an administrator', () => {
    expect(commands(mergeSettings(all({}), { trusted: true }).hooks)).toEqual(['managed']);
  });

  test('can be switched on again by a stronger place', () => {
    const merged = mergeSettings(all({ disableAllHooks: false }), { trusted: true });
    expect(commands(merged.hooks)).toEqual(['managed', 'project', 'user']);
  });

  test('an administrator can switch off all of them, or all but their own', () => {
    const own = [hook('managed')];
    const rest = [layer('user', {}, [hook('user')])];
    const off = mergeSettings([layer('managed', { disableAllHooks: true }, own), ...rest], { trusted: true });
    const only = mergeSettings([layer('managed', { allowManagedHooksOnly: true }, own), ...rest], { trusted: true });
    expect([off.hooks, commands(only.hooks)]).toEqual([[], ['managed']]);
  });

  test('allowManagedHooksOnly means nothing in the hands of a user', () => {
    const merged = mergeSettings([layer('user', { allowManagedHooksOnly: true }, [hook('user')])], { trusted: true });
    expect(commands(merged.hooks)).toEqual(['user']);
  });

  test('go only to allowed addresses, with allowed variables', () => {
    const http = (url: string): Hook => ({
      event: 'Stop',
      type: 'http',
      url,
      allowedEnvVars: ['A', 'B'],
      origin: '/x',
    });
    const merged = mergeSettings(
      [
        layer('user', { allowedHttpHookUrls: ['https://hooks.example/*'], httpHookAllowedEnvVars: ['A'] }, [
          http('https://hooks.example/a'),
          http('https://hooks.example.evil/a'),
        ]),
      ],
      { trusted: true },
    );
    expect(merged.hooks).toEqual([expect.objectContaining({ url: 'https://hooks.example/a', allowedEnvVars: ['A'] })]);
  });
});

describe('what config show says of a setting', () => {
  const layers = [
    layer('local', { permissions: { allow: ['L'], deny: ['D'], defaultMode: 'plan' }, model: 'l' }),
    layer('user', { permissions: { allow: ['U', 'L'] }, model: 'u', env: { API_KEY: 'secret', CI: '1' } }),
  ];

  test('a value has its file, each entry of a list its own', () => {
    const values = settingValues(layers, { trusted: true });
    expect(values['model']).toEqual({ value: 'l', origin: '/local.json', counts: true });
    expect(values['permissions.allow']).toEqual({
      value: ['L', 'U'],
      origin: '/local.json, /user.json',
      counts: true,
      items: [
        { value: 'L', origin: '/local.json', counts: true },
        { value: 'U', origin: '/user.json', counts: true },
      ],
    });
  });

  test('without trust the user’s values win, and what does not count says so', () => {
    const values = settingValues(layers, { trusted: false });
    expect(values['model']).toMatchObject({ value: 'u', counts: true });
    expect(values['permissions.defaultMode']).toMatchObject({ value: 'plan', counts: false });
    expect(values['permissions.deny']).toMatchObject({ value: ['D'], counts: true });
    expect(values['permissions.allow']?.items?.map(({ value, counts }) => [value, counts])).toEqual([
      ['U', true],
      ['L', true],
    ]);
  });

  test('secrets in env are not shown', () => {
    const values = settingValues(layers, { trusted: true });
    expect(values['env.API_KEY']?.value).toBe('(not shown)');
    expect(values['env.CI']?.value).toBe('1');
    expect(JSON.stringify(values)).not.toContain('secret');
  });
});
