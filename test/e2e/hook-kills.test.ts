import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CrashWindow } from '../../src/host/crash-windows.ts';
import { identityOf } from '../../src/host/identity.ts';
import type { HookEvent } from '../../src/shapes/hook.ts';
import type { JobConfig } from '../../src/shapes/job.ts';
import type { Rules } from '../../src/shapes/permission.ts';
import { appears } from '../support/appears.ts';
import { deny, hookBench, print, resultsOf, say } from '../support/hook-bench.ts';
import { type Rig, rig, RULES } from '../support/rig.ts';

const pauses = mkdtempSync(join(tmpdir(), 'nightshift-hook-pauses-'));
let r: Rig;

beforeAll(async () => {
  const bash = (command: string) => ({ name: 'Bash', input: { command } });
  r = await rig(
    {
      jobs: [
        { match: 'one call', steps: [{ calls: [bash('echo ran >> out.txt')] }, { text: 'went on' }] },
        { match: 'fails', steps: [{ calls: [bash('echo ran >> out.txt; exit 3')] }, { text: 'went on' }] },
        { match: 'refused', steps: [{ text: 'never', fail: [{ status: 400, message: 'no such thing', times: 3 }] }] },
      ],
    },
    { env: { NIGHTSHIFT_PAUSE: pauses } },
  );
});
afterAll(async () => {
  await r.close();
  rmSync(pauses, { recursive: true, force: true });
});

/** Resolves when a file of the hooks of an event is there, however deep in the job's folder. */
async function recorded(id: string, event: HookEvent): Promise<void> {
  await r.event(id, 'hook.ended', (ended) => ended.event === event);
  const top = join(r.home.jobs, id);
  const folders = readdirSync(top, { recursive: true, encoding: 'utf8' });
  const own = folders.find((path) => new RegExp(`hooks/${event}(\\.[^/]+)?/0$`).test(path));
  await appears(join(top, own!, 'result'));
}

/** Under what rules a call meets an event at all. */
function rulesFor(event: HookEvent): Partial<JobConfig> {
  if (event === 'PermissionDenied') return { rules: deny('Bash') };
  return event === 'PermissionRequest' || event === 'Notification' ? { rules: RULES } : {};
}

const isAlive = (pid: string): boolean => identityOf(Number(pid)) !== undefined;

describe('a worker that is killed while hooks run', () => {
  it.each<[HookEvent, prompt: string, calls: number, asked: number]>([
    ['SessionStart', 'one call', 1, 2],
    ['UserPromptSubmit', 'one call', 1, 2],
    ['PreToolUse', 'one call', 1, 2],
    ['PermissionRequest', 'one call', 1, 2],
    ['PostToolUse', 'one call', 1, 2],
    ['PostToolUseFailure', 'fails', 1, 2],
    ['Stop', 'one call', 1, 2],
    ['SessionEnd', 'one call', 1, 2],
    ['StopFailure', 'refused', 0, 2],
    ['PermissionDenied', 'one call', 1, 2],
    ['Notification', 'one call', 1, 2],
  ])('at %s', async (event, prompt, calls, asked) => {
    const bench = hookBench(r);
    const before = r.model.requests().length;
    const answer =
      event === 'PermissionRequest'
        ? print({ hookSpecificOutput: { hookEventName: event, decision: { behavior: 'allow' } } })
        : '';
    const id = await bench.start(
      prompt,
      [
        bench.hook(event, 'echo x >> finished.txt', { timeout: 50 }),
        bench.hook(
          event,
          `if mkdir first 2>/dev/null; then echo $$ > pid.new; mv pid.new pid; while :; do sleep 100; done; fi
           echo x >> again.txt
           ${answer}`,
          { timeout: 50 },
        ),
        ...(event === 'PreToolUse' ? [] : [bench.hook('PreToolUse', 'echo x >> pre.txt')]),
      ],
      rulesFor(event),
    );
    const pid = await appears(bench.path('pid'));
    await recorded(id, event);
    await r.killWorkers();
    expect(isAlive(pid)).toBe(true);
    await r.startWorker();
    if (event === 'Notification') {
      await appears(bench.path('again.txt'));
      await r.client.signal(id, 'answerPermission', { id: `${id}:1`, behavior: 'allow' });
    }
    await r.settled(id);

    expect(isAlive(pid)).toBe(false);
    expect(bench.lines('finished.txt')).toEqual(['x']);
    expect(bench.lines('again.txt')).toEqual(['x']);
    expect(bench.lines('out.txt')).toHaveLength(event === 'PermissionDenied' ? 0 : calls);
    expect(await resultsOf(r, id)).toHaveLength(calls);
    expect(bench.lines('pre.txt')).toHaveLength(event === 'PreToolUse' ? 0 : calls);
    expect(r.model.requests().length - before).toBe(asked);
  });
});

describe('a worker that is killed between hooks and their call', () => {
  it.each<[CrashWindow, heard: number]>([
    ['tool.owned', 1],
    ['hook.owned', 1],
    // It has ended, but nobody knows: all that can be done is to ask it again.
    ['hook.before-result', 2],
    ['hook.result-written', 1],
    ['tool.claimed', 1],
    ['shell.started', 1],
    ['tool.ran', 1],
    ['tool.before-result', 1],
    ['tool.result-written', 1],
  ])('at %s', async (window, heard) => {
    const bench = hookBench(r);
    writeFileSync(join(pauses, window), '');
    const id = await bench.start('one call', [
      bench.hook('PreToolUse', 'echo x >> pre.txt'),
      bench.hook('PostToolUse', 'echo x >> post.txt'),
    ]);
    await appears(join(pauses, `${window}.held`));
    await r.killWorkers();
    rmSync(join(pauses, `${window}.held`));
    await r.startWorker();
    await r.settled(id);

    expect(bench.lines('out.txt')).toEqual(['ran']);
    expect(bench.lines('pre.txt')).toHaveLength(heard);
    expect(bench.lines('post.txt')).toEqual(['x']);
    expect((await resultsOf(r, id)).map((result) => result.is_error ?? false)).toEqual([false]);
  });
});

describe('a worker that is killed while a hook that allows gives a rule with it', () => {
  it.each<CrashWindow>(['hook.result-written', 'tool.given-back', 'file.before-rename', 'tool.claimed'])(
    'at %s: hook, rule and call are there once',
    async (window) => {
      const bench = hookBench(r);
      writeFileSync(join(pauses, window), '');
      const rule = { type: 'addRules', rules: [{ toolName: 'Bash', ruleContent: 'echo:*' }], behavior: 'allow' };
      const updatedPermissions = [{ ...rule, destination: 'localSettings' }];
      const id = await bench.start(
        'one call',
        [
          bench.hook(
            'PermissionRequest',
            `echo x >> asked.txt\n${say('PermissionRequest', { decision: { behavior: 'allow', updatedPermissions } })}`,
          ),
        ],
        { rules: RULES },
      );
      await appears(join(pauses, `${window}.held`));
      await r.killWorkers();
      rmSync(join(pauses, `${window}.held`));
      await r.startWorker();
      await r.settled(id);

      expect(bench.lines('asked.txt')).toEqual(['x']);
      expect(bench.lines('out.txt')).toEqual(['ran']);
      const { rules } = (await r.record(id)).state;
      const held = JSON.parse(Buffer.from(await r.client.store.blobs(id).get(rules)).toString()) as Rules;
      expect(held.allow.map(({ text }) => text)).toEqual(['Bash(echo:*)']);
      expect(JSON.parse(readFileSync(bench.path('.claude/settings.local.json'), 'utf8'))).toEqual({
        permissions: { allow: ['Bash(echo:*)'] },
      });
      expect(readdirSync(bench.path('.claude'))).toEqual(['settings.local.json']);
    },
  );
});
