import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
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
import { afterAll, describe, expect, test } from 'vitest';
import type { CheckedCall } from '../../src/permissions/call.ts';
import { decide, reasonText } from '../../src/permissions/chain.ts';
import { mergeRules, type RuleLayer } from '../../src/permissions/rules.ts';
import type { Behavior } from '../../src/shapes/permission.ts';
import { checkedCall, contextAt } from './support.ts';

type Settings = {
  permissions?: {
    allow?: string[];
    ask?: string[];
    deny?: string[];
    defaultMode?: string;
    additionalDirectories?: string[];
  };
};
type Hook = { exit?: number; stdout?: unknown; stdoutRaw?: string; stderr?: string; timesOut?: boolean };
type Case = {
  id: string;
  cwd: string;
  home: string;
  tool: string;
  input: Record<string, unknown>;
  toolMeta?: { _meta?: Record<string, unknown> };
  settings: Settings;
  settingsSource: Scope;
  moreSettings?: (Settings & { source: Scope })[];
  hooks?: Hook[];
  fs?: { dirs?: string[]; files?: string[]; symlinks?: Record<string, string> };
  expect: Behavior;
  alsoAcceptable?: Behavior[];
  confidence: 'documented' | 'inferred';
  why: string;
};
type Scope = 'project' | 'local' | 'user';

const top = realpathSync(mkdtempSync(join(tmpdir(), 'permission-cases-')));
afterAll(() => rmSync(top, { recursive: true, force: true }));

const lines = readFileSync(new URL('cases.jsonl', import.meta.url), 'utf8')
  .split('\n')
  .filter(Boolean);
const cases = lines.map((line, n): Case => JSON.parse(line.replaceAll('/TOP', join(top, String(n)))));

describe('decisions that users of such settings expect', () => {
  test('all cases are there', () => expect(cases.length).toBeGreaterThanOrEqual(185));

  test.each(cases.map((one) => [one.id, one] as const))('%s', (_, one) => {
    layOut(one);
    const layers = (['local', 'project', 'user'] as const).map((scope) => layerOf(one, scope));
    const rules = mergeRules(layers, { trusted: true, root: one.cwd, home: one.home });
    const hook = hookOutcome(one);
    const call: CheckedCall = {
      ...checkedCall(one.tool, one.input, one.cwd, one.toolMeta?.['_meta']),
      ...(hook ? { hook } : {}),
    };
    const decision = decide(call, rules, contextAt(one.cwd, one.home));
    expect([one.expect, ...(one.alsoAcceptable ?? [])], `${one.why} Got: ${reasonText(decision)}`).toContain(
      decision.behavior,
    );
    expect(reasonText(decision)).toMatch(/\S.*\.$/);
  });
});

function layOut(one: Case): void {
  for (const dir of [one.cwd, join(one.home, '.claude'), ...(one.fs?.dirs ?? [])]) mkdirSync(dir, { recursive: true });
  for (const path of one.fs?.files ?? []) put(path, 'text\n');
  for (const [link, target] of Object.entries(one.fs?.symlinks ?? {})) {
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(target, link);
  }
  for (const scope of ['project', 'local', 'user'] as const) {
    const parts = [
      ...(one.settingsSource === scope ? [one.settings] : []),
      ...(one.moreSettings ?? []).filter((more) => more.source === scope),
    ];
    if (parts.length > 0) put(settingsFile(one, scope), JSON.stringify(Object.assign({}, ...parts)));
  }
}

function put(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function settingsFile(one: Case, scope: Scope): string {
  const files = {
    project: join(one.cwd, '.claude/settings.json'),
    local: join(one.cwd, '.claude/settings.local.json'),
    user: join(one.home, '.claude/settings.json'),
  };
  return files[scope];
}

function layerOf(one: Case, scope: Scope): RuleLayer {
  const file = settingsFile(one, scope);
  const base = scope === 'user' ? join(one.home, '.claude') : one.cwd;
  const settings: Settings = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  return { source: { kind: scope, file, base }, ...settings.permissions };
}

/** Runs the hook scripts of a case for real and merges what they say: deny before ask before allow. */
function hookOutcome(one: Case): CheckedCall['hook'] {
  const said = (one.hooks ?? []).map((hook, n) => runHook(one, hook, n));
  const behavior = (['deny', 'ask', 'allow'] as const).find((word) => said.includes(word));
  return behavior ? { behavior, reason: 'said by a script' } : undefined;
}

function runHook(one: Case, hook: Hook, n: number): Behavior | undefined {
  const script = join(one.home, `hook-${n}.sh`);
  const out = hook.stdoutRaw ?? (hook.stdout === undefined ? '' : JSON.stringify(hook.stdout));
  const wait = hook.timesOut ? 'read -r never <> "$0.pipe"\n' : '';
  put(
    script,
    `#!/bin/bash\ncat >/dev/null\n${hook.timesOut ? `mkfifo "$0.pipe"\n${wait}` : ''}cat <<'OUT_END'\n${out}\nOUT_END\n${hook.stderr ? `echo '${hook.stderr}' >&2\n` : ''}exit ${hook.exit ?? 0}\n`,
  );
  chmodSync(script, 0o755);
  const run = spawnSync(script, {
    input: '{}',
    encoding: 'utf8',
    timeout: hook.timesOut ? 300 : 20_000,
    killSignal: 'SIGKILL',
  });
  if (run.status === null) return undefined;
  if (run.status === 2) return 'deny';
  if (!run.stdout.trimStart().startsWith('{')) return undefined;
  const json: { decision?: string; hookSpecificOutput?: { permissionDecision?: Behavior } } = JSON.parse(run.stdout);
  if (json.decision === 'block') return 'deny';
  return json.decision === 'approve' ? 'allow' : json.hookSpecificOutput?.permissionDecision;
}
