import {
  chmodSync,
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
import { afterAll, expect, test } from 'vitest';
import { permissionsCheck } from '../../../src/app/commands/permissions-check.ts';
import { captureIo } from '../../support/capture-io.ts';

type Scope = 'project' | 'local' | 'user';
type Settings = Record<string, unknown>;
type Hook = {
  event: string;
  matcher?: string;
  exit?: number;
  stdout?: unknown;
  stdoutRaw?: string;
  stderr?: string;
  timesOut?: boolean;
};
type Case = {
  id: string;
  cwd: string;
  home: string;
  tool: string;
  input: Record<string, unknown>;
  toolMeta?: Record<string, unknown>;
  settings: Settings;
  settingsSource: Scope;
  moreSettings?: (Settings & { source: Scope })[];
  hooks?: Hook[];
  fs?: { dirs?: string[]; files?: string[]; symlinks?: Record<string, string> };
  expect: string;
  alsoAcceptable?: string[];
  why: string;
};

const top = realpathSync(mkdtempSync(join(tmpdir(), 'permission-cases-')));
afterAll(() => rmSync(top, { recursive: true, force: true }));

const cases = readFileSync(new URL('../../permissions/cases.jsonl', import.meta.url), 'utf8')
  .split('\n')
  .filter(Boolean)
  .map((line, n) => JSON.parse(line.replaceAll('/TOP', join(top, String(n)))) as Case);

function put(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Lays the files of a case out: settings of every scope, hooks as scripts, links. */
function layOut(one: Case): void {
  for (const dir of [one.cwd, join(one.home, '.claude'), ...(one.fs?.dirs ?? [])]) mkdirSync(dir, { recursive: true });
  const files: Partial<Record<Scope, Settings>> = { [one.settingsSource]: one.settings };
  for (const { source, ...more } of one.moreSettings ?? []) files[source] = { ...files[source], ...more };
  const hooks = (one.hooks ?? []).map((hook, n) => ({
    event: hook.event,
    group: { matcher: hook.matcher ?? '*', hooks: [handler(one, hook, n)] },
  }));
  if (hooks.length > 0) {
    const grouped = Object.fromEntries(
      [...new Set(hooks.map(({ event }) => event))].map((event) => [
        event,
        hooks.filter((hook) => hook.event === event).map(({ group }) => group),
      ]),
    );
    files.user = { ...files.user, hooks: grouped };
  }
  const paths = {
    project: join(one.cwd, '.claude/settings.json'),
    local: join(one.cwd, '.claude/settings.local.json'),
    user: join(one.home, '.claude/settings.json'),
  };
  for (const scope of ['project', 'local', 'user'] as const)
    if (files[scope]) put(paths[scope], JSON.stringify(files[scope]));
  for (const path of one.fs?.files ?? []) put(path, 'text\n');
  for (const [link, target] of Object.entries(one.fs?.symlinks ?? {})) {
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(target, link);
  }
}

function handler(one: Case, hook: Hook, n: number): Record<string, unknown> {
  const command = join(one.home, `hook-${n}.sh`);
  const out = hook.stdoutRaw ?? (hook.stdout === undefined ? '' : JSON.stringify(hook.stdout));
  // One that hangs waits for a writer of a pipe that nobody has.
  const wait = hook.timesOut ? 'mkfifo "$0.pipe"; read -r never < "$0.pipe"\n' : '';
  const says = `cat <<'OUT_END'\n${out}\nOUT_END\n${hook.stderr ? `echo '${hook.stderr}' >&2\n` : ''}`;
  put(command, `#!/bin/sh\ncat >/dev/null\n${wait}${says}exit ${hook.exit ?? 0}\n`);
  chmodSync(command, 0o755);
  return { type: 'command', command, ...(hook.timesOut ? { timeout: 0.3 } : {}) };
}

test('every call of the table is decided as users of such settings expect, hooks and files included', async () => {
  cases.forEach(layOut);
  const lines = cases.map(({ id, cwd, home, tool, input, toolMeta }) =>
    JSON.stringify({ id, cwd, home, tool, input, ...(toolMeta ? { toolMeta } : {}) }),
  );
  const io = captureIo({
    stdin: lines.join('\n'),
    env: { PATH: process.env['PATH'], NIGHTSHIFT_HOME: join(top, 'state') },
  });
  const code = await permissionsCheck({ jsonl: true }, io);
  const answers = new Map(
    io
      .out()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: string; behavior: string; text: string })
      .map((answer) => [answer.id, answer]),
  );
  const wrong = cases
    .filter(
      ({ id, expect: wanted, alsoAcceptable = [] }) =>
        ![wanted, ...alsoAcceptable].includes(answers.get(id)?.behavior ?? ''),
    )
    .map(({ id, why }) => `${id}: ${answers.get(id)?.behavior} (${answers.get(id)?.text}). ${why}`);
  expect([code, io.err(), cases.length >= 185, wrong]).toEqual([0, '', true, []]);
}, 120_000);
