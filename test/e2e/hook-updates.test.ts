import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { foldEvents } from '../../src/core/timeline.ts';
import { rowOf } from '../../src/app/commands/ls.ts';
import { noPaint } from '../../src/app/paint.ts';
import { showLines } from '../../src/app/render-show.ts';
import type { Rules } from '../../src/shapes/permission.ts';
import { deny, hookBench, hookEvents, print, resultsOf, say } from '../support/hook-bench.ts';
import { type Rig, rig, RULES } from '../support/rig.ts';

const bash = (command: string) => ({ name: 'Bash', input: { command } });
const at = (file: string): string => join('{{prompt | match /in (\\S+)/}}', file);
const write = (file: string) => ({ name: 'Write', input: { file_path: at(file), content: 'x' } });
let r: Rig;
let userConfig: string;

beforeAll(async () => {
  r = await rig({
    jobs: [
      {
        match: 'twice',
        steps: [{ calls: [bash('touch one')] }, { calls: [bash('touch two')] }, { text: 'done' }],
      },
      {
        match: 'side by side',
        steps: [{ calls: ['/etc/hostname', '/etc/hosts'].map((path) => bash(`cat ${path}`)) }, { text: 'done' }],
      },
      { match: 'write', steps: [{ calls: [bash('touch one')] }, { calls: [write('a.txt')] }, { text: 'done' }] },
      {
        match: 'plan it',
        steps: [
          { calls: [{ name: 'ExitPlanMode', input: { plan: '1. write a.txt' } }] },
          { calls: [write('a.txt')] },
          { text: 'planned' },
        ],
      },
      {
        match: 'far away',
        steps: [{ calls: [bash('touch one')] }, { calls: [bash('cat /etc/hostname')] }, { text: 'done' }],
      },
    ],
  });
  userConfig = join(r.dir, '..', 'user');
  await r.killWorkers();
  await r.startWorker({ CLAUDE_CONFIG_DIR: userConfig });
});
afterAll(() => r.close());

const allowing = (updatedPermissions: unknown): string =>
  say('PermissionRequest', { decision: { behavior: 'allow', updatedPermissions } });
const rules = (text: string, over: object = {}) => ({
  type: 'addRules',
  rules: [{ toolName: text.replace(/\(.*/s, ''), ruleContent: text.slice(text.indexOf('(') + 1, -1) }],
  behavior: 'allow',
  destination: 'session',
  ...over,
});
const asked = (id: string) => r.events(id).filter((event) => event.kind === 'prompt.opened').length;
const told = (id: string): string[] =>
  hookEvents(r, id).flatMap(({ text, ms }) => (ms === 0 && text !== undefined ? [text] : []));
const shown = async (id: string): Promise<string> => {
  const info = await r.client.describe(id);
  const timeline = foldEvents(r.events(id));
  return showLines(rowOf(info, timeline), timeline, { now: Date.now(), width: 200, paint: noPaint }).join('\n');
};
const rulesOf = async (id: string): Promise<Rules> =>
  JSON.parse(Buffer.from(await r.client.store.blobs(id).get((await r.record(id)).state.rules)).toString()) as Rules;
const outcomes = async (id: string) => (await resultsOf(r, id)).map((result) => result.is_error ?? false);

describe('a hook that allows and gives', () => {
  it('a rule answers what that rule covers for the rest of the job, and it is on record who gave it', async () => {
    const bench = hookBench(r);
    const hook = bench.hook('PermissionRequest', `echo x >> asked.txt\n${allowing([rules('Bash(touch:*)')])}`);
    const id = await bench.run('twice', [hook], { rules: RULES });
    expect(await outcomes(id)).toEqual([false, false]);
    expect(bench.lines('asked.txt')).toEqual(['x']);
    expect(asked(id)).toBe(0);
    const decided = r.events(id).findLast((event) => event.kind === 'call.decided');
    expect(decided).toMatchObject({ behavior: 'allow', reason: { kind: 'rule', rule: 'Bash(touch:*)' } });
    expect(decided?.kind === 'call.decided' && decided.text).toContain('PermissionRequest hook ');
    expect(told(id)).toEqual(['allow Bash(touch:*) for this job']);
  });

  it('a rule lets through what waits for a person already', async () => {
    const bench = hookBench(r);
    const id = await bench.start(
      'side by side',
      [
        bench.hook(
          'PermissionRequest',
          `case $input in *hosts*) until [ -e asked ]; do sleep 0.05; done; ${allowing([rules('Bash(cat:*)')])}\n;; esac`,
        ),
      ],
      { rules: RULES },
    );
    await r.event(id, 'prompt.opened');
    writeFileSync(bench.path('asked'), '');
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(await outcomes(id)).toEqual([false, false]);
    expect(r.events(id).filter((event) => event.kind === 'prompt.withdrawn')).toHaveLength(1);
  });

  it('what was suggested to it', async () => {
    const bench = hookBench(r);
    const hook = bench.hook(
      'PermissionRequest',
      `echo x >> asked.txt
       suggested=$(printf %s "$input" | sed 's/.*"permission_suggestions":\\(\\[.*\\]\\).*/\\1/')
       echo '{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow","updatedPermissions":'"$suggested"'}}}'`,
    );
    await bench.run('twice', [hook], { rules: RULES });
    expect(bench.lines('asked.txt')).toEqual(['x']);
  });

  it('two rules in two hooks at once loses none', async () => {
    const bench = hookBench(r);
    const id = await bench.run(
      'side by side',
      [
        bench.hook(
          'PermissionRequest',
          `case $input in
        *hosts*) ${allowing([rules('Bash(a:*)')])}\n;;
        *) ${allowing([rules('Bash(b:*)')])}\n;; esac`,
        ),
      ],
      { rules: RULES },
    );
    expect((await rulesOf(id)).allow.map(({ text }) => text).toSorted()).toEqual(['Bash(a:*)', 'Bash(b:*)']);
  });

  it('a mode has the job go on in it', async () => {
    const bench = hookBench(r);
    const mode = [{ type: 'setMode', mode: 'acceptEdits', destination: 'session' }];
    const hook = bench.hook('PermissionRequest', `echo x >> asked.txt\n${allowing(mode)}`);
    const id = await bench.run(`write in ${bench.dir}`, [hook], { rules: RULES });
    expect(await outcomes(id)).toEqual([false, false]);
    expect(bench.lines('asked.txt')).toEqual(['x']);
    expect(bench.lines('a.txt')).toEqual(['x']);
    expect(await rulesOf(id)).toMatchObject({ mode: 'acceptEdits' });
  });

  it('a mode with its yes to a plan', async () => {
    const bench = hookBench(r);
    const mode = [{ type: 'setMode', mode: 'acceptEdits', destination: 'session' }];
    const hook = bench.hook('PermissionRequest', `echo x >> asked.txt\n${allowing(mode)}`);
    const id = await bench.run(`plan it in ${bench.dir}`, [hook], { rules: { ...RULES, mode: 'plan' } });
    expect(await outcomes(id)).toEqual([false, false]);
    expect(bench.lines('asked.txt')).toEqual(['x']);
    expect(bench.lines('a.txt')).toEqual(['x']);
    expect((await r.record(id)).state.last?.ctx).toMatchObject({ mode: 'acceptEdits' });
  });

  it('a folder has it read there', async () => {
    const bench = hookBench(r);
    const folder = [{ type: 'addDirectories', directories: ['/etc'], destination: 'session' }];
    const hook = bench.hook('PermissionRequest', `echo x >> asked.txt\n${allowing(folder)}`);
    const id = await bench.run('far away', [hook], { rules: RULES });
    expect(await outcomes(id)).toEqual([false, false]);
    expect(bench.lines('asked.txt')).toEqual(['x']);
  });

  it('what is to be kept writes it into the settings files too', async () => {
    const bench = hookBench(r);
    mkdirSync(join(bench.dir, '.claude'));
    writeFileSync(
      bench.path('.claude/settings.json'),
      '{ "permissions": { "allow": ["Bash(a)", "Bash(b)"] } } // mine\n',
    );
    const id = await bench.run(
      'twice',
      [
        bench.hook(
          'PermissionRequest',
          allowing([
            rules('Bash(touch:*)', { destination: 'localSettings' }),
            rules('Bash(a)', { type: 'removeRules', destination: 'projectSettings' }),
            rules('Bash(rm:*)', { behavior: 'deny', destination: 'userSettings' }),
            { type: 'setMode', mode: 'acceptEdits', destination: 'userSettings' },
            { type: 'addDirectories', directories: ['../more'], destination: 'localSettings' },
          ]),
        ),
      ],
      { rules: RULES },
    );
    expect(await outcomes(id)).toEqual([false, false]);
    expect(JSON.parse(readFileSync(bench.path('.claude/settings.local.json'), 'utf8'))).toEqual({
      permissions: { allow: ['Bash(touch:*)'], additionalDirectories: ['../more'] },
    });
    const project = readFileSync(bench.path('.claude/settings.json'), 'utf8');
    expect(project).toContain('// mine');
    expect(JSON.parse(project.replace('// mine', ''))).toEqual({ permissions: { allow: ['Bash(b)'] } });
    expect(JSON.parse(readFileSync(join(userConfig, 'settings.json'), 'utf8'))).toEqual({
      permissions: { deny: ['Bash(rm:*)'], defaultMode: 'acceptEdits' },
    });
    expect(told(id)[0]).toContain('no longer allow Bash(a) for this job and in the project settings');
  });
});

describe('a hook gives no more than a person could', () => {
  it('what can not be done is shown, and the rest is done', async () => {
    const bench = hookBench(r);
    const hook = bench.hook(
      'PermissionRequest',
      allowing([
        { type: 'setMode', mode: 'bypassPermissions', destination: 'session' },
        { type: 'setMode', mode: 'auto', destination: 'session' },
        { type: 'dropRules' },
        rules('Bash(x)', { destination: 'cliArg' }),
        rules('Write(x)'),
        rules('Bash(touch:*)'),
      ]),
    );
    const id = await bench.run('twice', [hook], { rules: RULES });
    expect(await outcomes(id)).toEqual([false, false]);
    expect(await rulesOf(id)).toMatchObject({ mode: 'default', allow: [{ text: 'Bash(touch:*)' }] });
    const [text = ''] = told(id);
    expect(text).toContain('only a job that was started in it may come back to it');
    expect(text).toContain('nightshift has no such mode');
    expect(text).toContain('entry 3 of updatedPermissions');
    expect(text).toContain('entry 4 of updatedPermissions');
    expect(text).toContain('Write calls follow the path rules of Edit');
    expect(await shown(id)).toContain('error · allow Bash(touch:*) for this job');
  });

  it('deny rules stay stronger, and can not be taken back', async () => {
    const bench = hookBench(r);
    const hook = bench.hook(
      'PermissionRequest',
      `echo x >> asked.txt\n${allowing([
        rules('Bash(touch two)', { type: 'removeRules', behavior: 'deny' }),
        rules('Bash(touch:*)'),
      ])}`,
    );
    const id = await bench.run('twice', [hook], { rules: deny('Bash(touch two)') });
    expect(await outcomes(id)).toEqual([false, true]);
    expect(bench.lines('asked.txt')).toEqual(['x']);
  });

  it('nothing comes with a no, nor with an allow that a rule stops', async () => {
    const bench = hookBench(r);
    const refusing = bench.hook(
      'PermissionRequest',
      say('PermissionRequest', {
        decision: {
          behavior: 'allow',
          updatedInput: { command: 'rm one' },
          updatedPermissions: [rules('Bash(touch:*)')],
        },
      }),
    );
    const id = await bench.run('twice', [refusing], { rules: deny('Bash(rm *)') });
    expect(await outcomes(id)).toEqual([true, true]);
    expect((await rulesOf(id)).allow).toEqual([]);
    const mixed = hookBench(r);
    const no = mixed.hook(
      'PermissionRequest',
      print({ hookSpecificOutput: { hookEventName: 'PermissionRequest', decision: { behavior: 'deny' } } }),
    );
    const yes = mixed.hook('PermissionRequest', allowing([rules('Bash(touch:*)')]));
    const other = await mixed.run('twice', [no, yes], { rules: RULES });
    expect(await outcomes(other)).toEqual([true, true]);
    expect((await rulesOf(other)).allow).toEqual([]);
  });
});
