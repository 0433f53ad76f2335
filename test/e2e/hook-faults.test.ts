import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Hook, HookEvent } from '../../src/shapes/hook.ts';
import type { JobConfig } from '../../src/shapes/job.ts';
import { deny, hookBench, hookEvents, resultsOf } from '../support/hook-bench.ts';
import { type Rig, rig, RULES } from '../support/rig.ts';

const bash = (command: string) => ({ name: 'Bash', input: { command } });
let r: Rig;

beforeAll(async () => {
  r = await rig({
    jobs: [
      { match: 'one call', steps: [{ calls: [bash('echo ran >> out.txt')] }, { text: 'went on' }] },
      { match: 'fails', steps: [{ calls: [bash('echo ran >> out.txt; exit 3')] }, { text: 'went on' }] },
      { match: 'refused', steps: [{ text: 'never', fail: [{ status: 400, message: 'no such thing', times: 3 }] }] },
    ],
  });
});
afterAll(() => r.close());

/** All that can go wrong with a handler, and what is said of it. */
const FAULTS: [body: string, status: string, timeout?: number][] = [
  ['echo boom >&2; exit 1', 'error'],
  ['exit 127', 'error'],
  ['kill -KILL $$', 'error'],
  [`echo '{"decision":"blo'`, 'error'],
  [`echo '{"continue":"no"}'`, 'error'],
  ['exec yes', 'error', 50],
  [`echo '{"decision":"block","continue":false}'; sleep 1000`, 'timeout', 1],
];

describe('hooks with which everything goes wrong', () => {
  it.each<[HookEvent, prompt: string, ran: number, over?: Partial<JobConfig>]>([
    ['SessionStart', 'one call', 1],
    ['UserPromptSubmit', 'one call', 1],
    ['PreToolUse', 'one call', 1],
    ['PermissionRequest', 'one call', 1, { rules: RULES }],
    ['PermissionDenied', 'one call', 0, { rules: deny('Bash') }],
    ['Notification', 'one call', 1, { rules: RULES }],
    ['PostToolUse', 'one call', 1],
    ['PostToolUseFailure', 'fails', 1],
    ['Stop', 'one call', 1],
    ['SessionEnd', 'one call', 1],
    ['StopFailure', 'refused', 0],
  ])('decide nothing at %s, and all of it is told', async (event, prompt, ran, over = {}) => {
    const bench = hookBench(r);
    const hooks = FAULTS.map(([body, , timeout]) => bench.hook(event, body, timeout === undefined ? {} : { timeout }));
    const id = await bench.start(prompt, hooks, over);
    if (over.rules === RULES) {
      await r.event(id, 'prompt.opened'); // nobody has answered in place of the person
      if (event === 'Notification') await told(id, event, FAULTS.length);
      await r.client.signal(id, 'answerPermission', { id: `${id}:1`, behavior: 'allow' });
    }
    await r.settled(id);
    expect(bench.lines('out.txt')).toHaveLength(ran);
    const end = event === 'StopFailure' ? { status: 'failed' } : { status: 'done', result: 'went on' };
    expect(await r.record(id)).toMatchObject(end);
    const statuses = hookEvents(r, id).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual(FAULTS.map(([, status]) => status).toSorted());
  });

  /** Resolves when the n-th handler of an event has ended. */
  async function told(id: string, event: HookEvent, n: number): Promise<void> {
    let seen = 0;
    await r.event(id, 'hook.ended', (ended) => ended.event === event && (seen += 1) === n);
  }
});

describe('a hook at an address', () => {
  it('denies, answers for a person, and gives a rule, as a command does', async () => {
    const heard: string[] = [];
    const server = createServer((request, response) => {
      void (async () => {
        const body: Buffer[] = [];
        for await (const chunk of request) body.push(chunk as Buffer);
        const event = JSON.parse(Buffer.concat(body).toString()) as { hook_event_name: HookEvent };
        heard.push(event.hook_event_name);
        const rule = { type: 'addRules', rules: [{ toolName: 'Bash', ruleContent: 'echo:*' }], behavior: 'allow' };
        const decision = { behavior: 'allow', updatedPermissions: [{ ...rule, destination: 'session' }] };
        const said =
          request.url === '/no'
            ? { permissionDecision: 'deny', permissionDecisionReason: 'not from here' }
            : { decision };
        response.end(JSON.stringify({ hookSpecificOutput: { hookEventName: event.hook_event_name, ...said } }));
      })();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const hook = (event: HookEvent, path: string): Hook => ({
      event,
      type: 'http',
      url: `http://127.0.0.1:${port}${path}`,
      origin: 'test',
    });
    try {
      const bench = hookBench(r);
      const denied = await bench.run('one call', [hook('PreToolUse', '/no')]);
      expect((await resultsOf(r, denied))[0]!.content).toContain('not from here');
      const allowed = await bench.run('one call', [hook('PermissionRequest', '/yes')], { rules: RULES });
      expect(bench.lines('out.txt')).toEqual(['ran']);
      expect(hookEvents(r, allowed).at(-1)).toMatchObject({
        hook: `http://127.0.0.1:${port}/yes`,
        text: 'allow Bash(echo:*) for this job',
      });
      expect(heard).toEqual(['PreToolUse', 'PermissionRequest']);
    } finally {
      server.close();
    }
  });
});
