import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LadderStep } from '../../src/shapes/ladder.ts';
import type { ToolResultBlock } from '../../src/shapes/message.ts';
import { appears } from '../support/appears.ts';
import { type Rig, rig } from '../support/rig.ts';

const write = (file: string) => ({ name: 'Bash', input: { command: `echo ran >> ${file}` } });
const week = 7 * 24 * 3600 * 1000;
let r: Rig;
let hook: Server;
let posted: Record<string, unknown>[] = [];
/** What was posted to a place that never answers the first time. */
const held: unknown[] = [];

beforeAll(async () => {
  hook = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => (text += String(chunk)));
    request.on('end', () => {
      if (request.url === '/held' && held.push(request.headers['idempotency-key']) === 1) return;
      posted.push(JSON.parse(text) as Record<string, unknown>);
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
  r = await rig({
    jobs: ['told', 'killed', 'denied', 'failed', 'without', 'answered', 'waited', 'posted'].map((match) => ({
      match: `job ${match}`,
      steps: [{ calls: [write(`${match}.txt`)] }, { text: 'went on' }],
    })),
  });
});
afterAll(async () => {
  await r.close();
  hook.close();
});

const inWork = (file: string): string => join(r.dir, file);
const url = (): string => `http://127.0.0.1:${(hook.address() as AddressInfo).port}/hook`;
const result = async (id: string): Promise<ToolResultBlock | undefined> =>
  (await r.messages(id))
    .flatMap((message) => message.content)
    .find((block): block is ToolResultBlock => block.type === 'tool_result');
const told = (id: string) => r.events(id).filter((event) => event.kind === 'prompt.told');
const soon = (then: LadderStep['then']): LadderStep[] => [{ afterMs: 300, ...(then ? { then } : {}) }];

describe('the ladder of a question', () => {
  it('tells commands and webhooks of it, without the key and as a group of its own', async () => {
    const command = `cat > told.json; env > told.env; echo heard; exit 0`;
    const id = await r.start('job told', {
      ladder: [{ afterMs: 0, notify: [{ command }, { webhook: url() }, { command: 'echo no >&2; exit 3' }] }],
    });
    for (const to of ['cat > told', 'http://127', 'echo no'])
      await r.event(id, 'prompt.told', (e) => e.to.startsWith(to));
    const question = JSON.parse(readFileSync(inWork('told.json'), 'utf8')) as Record<string, unknown>;
    expect(question).toMatchObject({
      id: `${id}:1`,
      job: id,
      tool: 'Bash',
      input: { command: 'echo ran >> told.txt' },
    });
    expect(posted).toContainEqual(question);
    const env = readFileSync(inWork('told.env'), 'utf8');
    expect(env).not.toMatch(/ANTHROPIC|TEMPORAL|NIGHTSHIFT_HOME|test-key/);
    expect(env).toContain('NIGHTSHIFT_CALL=ladder@');
    expect(told(id)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ to: 'echo no >&2; exit 3', ok: false, text: 'it ended with code 3: no' }),
        expect.objectContaining({ to: new URL(url()).origin, ok: true }),
      ]),
    );
    expect(await r.client.describe(id)).toMatchObject({ status: 'waiting', why: 'permission' });
    await r.client.signal(id, 'answerPermission', { id: `${id}:1`, behavior: 'allow' });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
  });

  it('fires each step once, whatever is killed meanwhile', async () => {
    const wait = 'echo begun >> killed.log; until [ -e go ]; do sleep 0.05; done; echo ended >> killed.log';
    const id = await r.start('job killed', {
      ladder: [
        { afterMs: 0, notify: [{ command: wait }] },
        { afterMs: 100, notify: [{ command: 'echo second >> killed.log' }] },
      ],
    });
    await appears(inWork('killed.log'));
    await r.event(id, 'prompt.told', (event) => event.rung === 1);
    await r.killWorkers();
    await r.server.kill();
    await r.server.restart();
    await r.startWorker();
    writeFileSync(inWork('go'), '');
    await r.event(id, 'prompt.told', (event) => event.rung === 0);
    await r.killWorkers();
    await r.startWorker();
    await r.client.signal(id, 'answerPermission', { id: `${id}:1`, behavior: 'allow' });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(readFileSync(inWork('killed.log'), 'utf8').trim().split('\n').toSorted()).toEqual([
      'begun',
      'ended',
      'second',
    ]);
    expect(told(id).map((event) => [event.rung, event.ok])).toEqual([
      [1, true],
      [0, true],
    ]);
  });

  it('posts again what a worker died over, under the same key', async () => {
    const webhook = new URL('/held', url()).href;
    const id = await r.start('job posted', { ladder: [{ afterMs: 0, notify: [{ webhook }] }] });
    await expect.poll(() => held.length, { timeout: 60_000 }).toBe(1);
    await r.killWorkers();
    await r.startWorker();
    expect(await r.event(id, 'prompt.told')).toMatchObject({ ok: true });
    expect(held).toEqual([held[0], held[0]]);
    expect(held[0]).toEqual(expect.stringMatching(/\S{8,}/));
    await r.client.signal(id, 'answerPermission', { id: `${id}:1`, behavior: 'allow' });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(told(id)).toHaveLength(1);
  });

  it('denies what nobody has answered, and says so', async () => {
    const id = await r.start('job denied', { ladder: soon('deny') });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(existsSync(inWork('denied.txt'))).toBe(false);
    const { content, is_error } = (await result(id))!;
    expect(is_error).toBe(true);
    expect(content).toContain('Nobody answered in time');
    expect(content).not.toContain('person');
    expect(r.events(id).find((event) => event.kind === 'prompt.answered')).toMatchObject({ by: 'the ladder' });
  });

  it('ends the job as failed where it shall', async () => {
    const id = await r.start('job failed', { ladder: soon('fail') });
    expect(await r.settled(id)).toMatchObject({ status: 'failed', why: 'permission' });
    const { error, state } = await r.record(id);
    expect(error).toContain(`Nobody answered the question ${id}:1 in time`);
    expect(state.prompts).toEqual([]);
    expect(existsSync(inWork('failed.txt'))).toBe(false);
    expect((await result(id))!.content).toContain('nobody answered');
  });

  it('lets the model go on without an answer where it shall', async () => {
    const id = await r.start('job without', { ladder: soon('continue-without') });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect((await result(id))!.content).toContain('Go on without an answer');
    expect(existsSync(inWork('without.txt'))).toBe(false);
  });

  it('does nothing more to a question that somebody has answered', async () => {
    const id = await r.start('job answered', {
      ladder: [
        { afterMs: 0, notify: [{ command: 'true' }] },
        { afterMs: week, then: 'deny' },
      ],
    });
    const { since } = await r.event(id, 'prompt.opened');
    expect((await r.client.describe(id)).until).toBe(since + week);
    await r.client.signal(id, 'answerPermission', { id: `${id}:1`, behavior: 'allow' });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(readFileSync(inWork('answered.txt'), 'utf8')).toBe('ran\n');
  });

  it('that was asked a week ago, with workers and server down since, is answered like any other', async () => {
    const id = await r.start('job waited', { ladder: [{ afterMs: 2 * week, then: 'deny' }] });
    const { key, since } = await r.event(id, 'prompt.opened');
    const [open] = (await r.client.view(id, 30_000))!.prompts;
    const handle = r.temporal.workflow.getHandle(id);
    // A week can't pass here. The job is told of the same question anew, with the time of a week ago as its beginning.
    await handle.signal('withdrawn', { key, text: 'it is to be asked again' });
    await handle.signal('prompted', { ...open!, key, since: since - week });
    await r.event(id, 'prompt.opened', (event) => event.id === `${id}:2`);
    await r.killWorkers();
    await r.server.kill();
    await r.server.restart();
    expect(await r.client.describe(id)).toMatchObject({ status: 'waiting', why: 'permission' });
    await r.client.signal(id, 'answerPermission', { id: `${id}:2`, behavior: 'allow' });
    await r.startWorker();
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(readFileSync(inWork('waited.txt'), 'utf8')).toBe('ran\n');
    expect(JSON.stringify(await r.messages(id))).not.toContain('Nobody answered');
    // Whoever looks sees how old it was.
    expect(r.events(id).findLast((event) => event.kind === 'prompt.opened')).toMatchObject({ since: since - week });
  });

  it('is computed from the age of a question: a week old it is over at once', async () => {
    posted = [];
    const id = await r.start('job denied', {
      id: 'week-old',
      ladder: [
        { afterMs: 3_600_000, notify: [{ webhook: url() }] },
        { afterMs: 2 * week, then: 'deny' },
      ],
    });
    const { key } = await r.event(id, 'prompt.opened');
    const [open] = (await r.client.view(id, 30_000))!.prompts;
    await r.temporal.workflow.getHandle(id).signal('withdrawn', { key, text: 'it is to be asked again' });
    const old = { ...open!, key, since: Date.now() - week };
    await r.temporal.workflow.getHandle(id).signal('prompted', old);
    await r.event(id, 'prompt.told', (event) => event.id === `${id}:2`);
    expect(posted).toMatchObject([{ since: new Date(old.since).toISOString() }]);
    await r.temporal.workflow.getHandle(id).signal('withdrawn', { key, text: 'once more' });
    await r.temporal.workflow.getHandle(id).signal('prompted', { ...old, since: Date.now() - 3 * week });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect((await result(id))!.content).toContain('Nobody answered in time');
  });
});
