import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { matching } from '../../src/core/hooks.ts';
import { readSettingsFile, type SettingsRead } from '../../src/host/settings-file.ts';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'settings-file-'));
});
afterAll(() => rmSync(dir, { recursive: true }));

let count = 0;
function file(content: string | Uint8Array): string {
  const path = join(dir, `${(count += 1)}.json`);
  writeFileSync(path, content);
  return path;
}
const read = (path: string): Promise<SettingsRead> => readSettingsFile(path, { kind: 'user', file: path, base: dir });
const readText = (content: string | Uint8Array): Promise<SettingsRead> => read(file(content));
const sample = (name: string): Promise<SettingsRead> => {
  const path = join(dir, name);
  cpSync(new URL(`../configs/${name}`, import.meta.url), path);
  return read(path);
};
/** Problems as `line:column text`, those that stop a job marked with `!`. */
const told = ({ problems }: SettingsRead): string[] =>
  problems.map(({ line, column, text, stops }) => `${stops ? '!' : ''}${line}:${column} ${text}`);

describe('files as they are found', () => {
  test('comments are passed over with a word, and the rules beside them count', async () => {
    const found = await sample('01-comments.settings.json');
    expect(found.layer?.settings.permissions).toEqual({
      deny: ['Read(.env)', 'Bash(git push *)'],
      allow: ['Bash(npm test)'],
    });
    expect(told(found)).toEqual([expect.stringMatching(/^2:3 It holds comments/)]);
  });

  test('a byte order mark hides nothing', async () => {
    const found = await sample('03-bom.settings.json');
    expect(found.layer?.settings.permissions).toEqual({ deny: ['Read(secrets/**)'], allow: ['Bash(make test)'] });
    expect(told(found)).toEqual([expect.stringMatching(/^1:1 It begins with a byte order mark/)]);
  });

  test('keys that nobody knows are kept and named; known ones of others are not spoken of', async () => {
    const found = await sample('05-unknown-keys.settings.json');
    expect(found.layer?.settings).toMatchObject({
      somethingNew: { a: [1, 2] },
      permissions: { allow: ['Bash(make lint)'], futureList: ['x'] },
    });
    expect(told(found).map((text) => text.replace(/ is no setting.*/, ''))).toEqual([
      '4:3 search',
      '12:3 somethingNew',
      '22:5 permissions.futureList',
    ]);
  });

  test('a matcher that is a list stops the job and is shown as one string', async () => {
    const found = await sample('06-matcher-array.settings.json');
    expect(told(found)).toEqual(['!13:9 hooks.PreToolUse[0].matcher must be one string; write "Edit|Write".']);
  });

  test('matchers that fit nothing are named, and all the others stay', async () => {
    const found = await sample('08-matcher-variants.settings.json');
    expect(found.layer?.hooks).toHaveLength(17);
    expect(told(found).map((text) => text.split(' ').slice(1, 4).join(' '))).toEqual([
      'hooks.PreToolUse[11].matcher names no',
      'hooks.PreToolUse[12].matcher names no',
      'hooks.PreToolUse[13].matcher names no',
      'hooks.PreToolUse[15].matcher has no',
      'hooks.PreToolUse[16].matcher has no',
    ]);
  });

  test.each([
    ['Bash', 'bash'],
    ['Edit', 'pipe comma unanchored anchored'],
    ['Write', 'pipe comma'],
    ['NotebookEdit', 'unanchored notebook'],
    ['mcp__kb__search', 'mcp-regex'],
    ['mcp__kb__write_note', 'mcp-regex anywrite'],
    ['mcp__brave-search__web', ''],
    ['Read', ''],
  ])('of the matchers, %s is fitted by those for all and by: %s', async (tool, names) => {
    const found = await sample('08-matcher-variants.settings.json');
    const ran = matching(found.layer?.hooks ?? [], 'PreToolUse', [tool]).map((hook) =>
      hook.type === 'command' ? hook.command.replace('log m-', '') : hook.url,
    );
    expect(ran).toEqual(['empty', 'star', 'missing', ...names.split(' ').filter(Boolean)]);
  });

  test('hooks without their inner list stop the job', async () => {
    expect(told(await sample('10-flat-hook.settings.json'))).toEqual([
      expect.stringMatching(/^!4:7 hooks\.PreToolUse\[0\] needs a "hooks" list/),
      expect.stringMatching(/^!10:7 hooks\.UserPromptSubmit\[0\] needs a "hooks" list/),
    ]);
  });

  test('a text or an object in place of a list of rules stops the job, each with its place', async () => {
    const found = await sample('16-string-for-list.settings.json');
    expect(told(found)).toEqual([
      expect.stringMatching(/^!3:5 permissions\.allow must be a list, not a text; write "allow": \["Bash/),
      expect.stringMatching(/^!4:5 permissions\.deny must be a list, not an object; write "deny": \["Bash/),
    ]);
    expect(found.layer?.settings.permissions).toBeUndefined();
  });

  test('hooks keep all their fields, and a type that nobody has costs only that entry', async () => {
    const found = await sample('18-hook-fields.settings.json');
    expect(found.layer?.hooks.map(({ type }) => type)).toEqual([
      'command',
      'command',
      'command',
      'command',
      'command',
      'http',
    ]);
    expect(found.layer?.hooks[0]).toEqual({
      event: 'PreToolUse',
      matcher: 'Bash',
      type: 'command',
      command: '${CLAUDE_PROJECT_DIR}/.claude/hooks/check it.sh',
      args: [],
      timeout: 2,
      origin: join(dir, '18-hook-fields.settings.json'),
    });
    expect(found.layer?.hooks[1]).toMatchObject({ if: 'Bash(git *)' });
    expect(found.layer?.hooks[3]).toMatchObject({ async: true });
    expect(found.layer?.settings).toMatchObject({ env: { CI: '1' }, disableAllHooks: false });
    expect(told(found)).toEqual([
      expect.stringMatching(/^35:13 .*hooks\[4\]\.once has no effect in a settings file/),
      expect.stringMatching(/^51:13 .*hooks\[1\]\.type is "telepathy", which is no type of hook/),
    ]);
  });
});

test.each<[string, string, RegExp]>([
  [
    'an open brace',
    '{"permissions": {"deny": ["Read(x)"]',
    /^!1:37 It is no valid JSON: a comma|^!1:37 It is no valid JSON: a closing/,
  ],
  ['a missing comma', '{\n  "a": 1\n  "b": 2\n}', /^!3:3 It is no valid JSON: a comma is expected\./],
  ['a single quote', "{\n  'a': 1}", /^!2:3 It is no valid JSON/],
  ['text behind the end', '{} {}', /^!1:4 It is no valid JSON: something stands behind its end/],
  ['an empty file', ' \n', /^!undefined:undefined It is empty\. Write \{\} or take it away\.$/],
  ['a list', '[]', /^!1:1 It must hold one JSON object/],
  ['the word null', 'null', /^!1:1 It must hold one JSON object/],
  ['deep nesting', `{"a": ${'['.repeat(200_000)}`, /^!undefined:undefined It is nested too deeply/],
  [
    'rules that are no texts',
    '{"permissions": {"deny": [5]}}',
    /^!1:27 permissions\.deny\[0\] must be a text, not a number/,
  ],
  ['permissions that are a list', '{"permissions": ["Read"]}', /^!1:2 permissions must be an object, not a list/],
  ['hooks that are a list', '{"hooks": []}', /^!1:2 hooks must be an object of events/],
  ['an event that is no list', '{"hooks": {"Stop": {}}}', /^!1:12 hooks\.Stop must be a list/],
  [
    'a hook without a type',
    '{"hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}}',
    /^!1:32 .*hooks\[0\] needs "type": "command"/,
  ],
  [
    'a hook without a command',
    '{"hooks": {"Stop": [{"hooks": [{"type": "command"}]}]}}',
    /^!1:32 .*command must be a text, not missing/,
  ],
  [
    'an empty command',
    '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": " "}]}]}}',
    /^!.*has an empty command/,
  ],
  [
    'a hook with a wrong timeout',
    '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x", "timeout": "5"}]}]}}',
    /^!1:68 .*timeout must be a number, not a text/,
  ],
  [
    'an http hook without an address',
    '{"hooks": {"Stop": [{"hooks": [{"type": "http", "url": "file:///x"}]}]}}',
    /^!.*needs a url that begins with http/,
  ],
  ['a switch that is a text', '{"disableAllHooks": "no"}', /^!1:2 disableAllHooks must be true or false, not a text/],
  [
    'a ladder with a wrong end',
    '{"nightshift": {"prompts": [{"after": "4h", "then": "give up"}]}}',
    /^!1:45 nightshift\.prompts\[0\]\.then must be "deny" or "fail" or "continue-without"/,
  ],
  [
    'a ladder with a wrong span',
    '{"nightshift": {"prompts": [{"after": "soon"}]}}',
    /^!1:30 .*after is wrong: .*30s, 15m, 4h/,
  ],
  [
    'a second list of rules',
    '{"permissions": {"deny": ["Read(a)"],\n "deny": ["Read(b)"]}}',
    /^!2:2 The key permissions\.deny stands here once more\. Put them together\.$/,
  ],
  [
    'a second set of permissions',
    '{"permissions": {"deny": ["Read(a)"]},\n "permissions": {"allow": ["Read"]}}',
    /^!2:2 The key permissions stands here once more/,
  ],
  ['a second set of hooks', '{"hooks": {},\n "hooks": {}}', /^!2:2 The key hooks stands here once more/],
  [
    'a second list for an event',
    '{"hooks": {"Stop": [],\n "Stop": []}}',
    /^!2:2 The key hooks\.Stop stands here once more/,
  ],
])('%s stops the job', async (_what, content, message) => {
  const found = await readText(content);
  expect(told(found)[0]).toMatch(message);
});

test.each<[string, string, RegExp]>([
  ['a trailing comma', '{"permissions": {"deny": ["Read(x)",]},}', /^1:36 It holds a trailing comma/],
  [
    'a key that stands twice',
    '{"model": "a",\n "model": "b"}',
    /^2:2 The key model stands here once more: only the last one counts/,
  ],
  ['a prototype', '{"__proto__": {"model": "x"}}', /^1:2 The key __proto__ is left out/],
  ['a wrong type that guards nothing', '{"model": 5}', /^1:2 model must be a text, not a number; it is left out/],
  [
    'an event that nobody knows',
    '{"hooks": {"PreTooluse": []}}',
    /^1:12 hooks\.PreTooluse .*left out; write PreToolUse if that is meant\.$/,
  ],
  [
    'a type of hook that others run',
    '{"hooks": {"Stop": [{"hooks": [{"type": "prompt", "prompt": "x"}]}]}}',
    /^1:33 .*type is "prompt", which nightshift does not run/,
  ],
  [
    'an "if" on an event without calls',
    '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x", "if": "Bash"}]}]}}',
    /^1:32 .*on Stop it never runs/,
  ],
  [
    'http for the start of a session',
    '{"hooks": {"SessionStart": [{"hooks": [{"type": "http", "url": "http://localhost"}]}]}}',
    /^1:40 .*takes commands only/,
  ],
  ['a sandbox that is asked for', '{"sandbox": {"enabled": true}}', /^1:2 sandbox is not applied/],
])('%s is warned about, and the rest counts', async (_what, content, message) => {
  const found = await readText(content);
  expect(told(found)).toEqual([expect.stringMatching(message)]);
  expect(found.layer).toBeDefined();
});

test('rule names that a JavaScript object has too are like any other', async () => {
  const found = await readText('{"toString": 1, "permissions": {"deny": ["toString", "constructor(x)"]}}');
  expect(found.layer?.settings.permissions?.deny).toEqual(['toString', 'constructor(x)']);
});

test('numbers and booleans in env become texts', async () => {
  const found = await readText('{"env": {"PORT": 3000, "CI": true, "X": "y"}}');
  expect(found.layer?.settings.env).toEqual({ PORT: '3000', CI: 'true', X: 'y' });
});

test('what can not be read as a file stops the job at once, without waiting', async () => {
  const reasons = async (path: string): Promise<string[]> => told(await read(path));
  expect(await reasons(join(dir, 'nothing.json'))).toEqual([]);
  expect(await reasons(dir)).toEqual([expect.stringMatching(/^!.*It is a folder/)]);
  const pipe = join(dir, 'pipe.json');
  execFileSync('mkfifo', [pipe]);
  expect(await reasons(pipe)).toEqual([expect.stringMatching(/^!.*It is no regular file/)]);
  const zero = join(dir, 'zero.json');
  symlinkSync('/dev/zero', zero);
  expect(await reasons(zero)).toEqual([expect.stringMatching(/^!.*It is no regular file/)]);
  const lost = join(dir, 'lost.json');
  symlinkSync(join(dir, 'gone'), lost);
  expect(await reasons(lost)).toEqual([expect.stringMatching(/^!.*It is a link to nothing/)]);
  expect(await reasons(file('x'.repeat(2 * 1024 * 1024 + 1)))).toEqual([
    expect.stringMatching(/^!.*It is larger than 2048 KiB/),
  ]);
  expect(await reasons(file(Buffer.from('{}', 'utf16le')))).toEqual([expect.stringMatching(/^!/)]);
  expect(await reasons(file(Uint8Array.of(0xff, 0xfe, 0x7b, 0x00)))).toEqual([expect.stringMatching(/UTF-16/)]);
  expect(await reasons(file(Uint8Array.of(0x7b, 0xff, 0x7d)))).toEqual([expect.stringMatching(/not valid UTF-8/)]);
});

test('a file that this user may not read stops the job', async () => {
  const path = file('{}');
  chmodSync(path, 0);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534); // root may read everything
  try {
    expect(told(await read(path))).toEqual([expect.stringMatching(/^!.*may not be read by this user/)]);
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
});

test('what is said of a broken file does not hold what stands in it', async () => {
  const secret = join(dir, 'shadow');
  writeFileSync(secret, 'root:$6$verysecret:1:0\n');
  const link = join(dir, 'linked.json');
  symlinkSync(secret, link);
  const { problems } = await read(link);
  expect(JSON.stringify(problems)).not.toContain('verysecret');
  expect(problems).toHaveLength(1);
  expect(readFileSync(secret, 'utf8')).toContain('verysecret');
});

test('a file full of mistakes is told in few lines', async () => {
  mkdirSync(join(dir, 'many'), { recursive: true });
  const found = await readText(`{${Array.from({ length: 20_000 }, () => '"a": 1').join(',\n')}}`);
  expect(found.problems.length).toBeLessThanOrEqual(51);
});
