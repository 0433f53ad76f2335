import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { HookJob } from '../../src/core/ports.ts';
import { createHookRunner } from '../../src/host/hook-runner.ts';
import { membersOf } from '../../src/host/kill-tree.ts';
import { watchUntil } from '../../src/host/watch-until.ts';
import type { Hook, HookRun } from '../../src/shapes/hook.ts';

const dir = mkdtempSync(join(tmpdir(), 'hook runner-'));
const runner = createHookRunner();
const top = `hook-test-${process.pid}/`;
let number = 0;

afterEach(() => runner.kill(top));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const job = (over: Partial<HookJob> = {}): HookJob => ({
  input: '{"tool_name":"Bash"}',
  cwd: dir,
  projectDir: dir,
  env: { PATH: process.env['PATH'] ?? '', CLAUDECODE: '1', OTEL_X: 'x' },
  mark: `${top}${(number += 1)}`,
  timeoutMs: 30_000,
  signal: new AbortController().signal,
  ...over,
});
const command = (line: string, over: Partial<Hook> = {}): Hook =>
  ({ event: 'PreToolUse', type: 'command', command: line, origin: 'test', ...over }) as Hook;
const run = (line: string, over: Partial<HookJob> = {}): Promise<HookRun> => runner.run(command(line), job(over));
const appears = (name: string): Promise<true> =>
  watchUntil({ dir, name, everyMs: 100 }, () => existsSync(join(dir, name)) || undefined);

describe('a command', () => {
  it('gets the event on its input, and is heard on both outputs', async () => {
    const end = await run('cat; echo complaint >&2; exit 3');
    expect(end).toMatchObject({ exit: 3, stdout: '{"tool_name":"Bash"}', stderr: 'complaint\n' });
  });

  it('runs in the folder of the call and knows the project', async () => {
    const end = await run('pwd; echo "$CLAUDE_PROJECT_DIR $CLAUDECODE ${OTEL_X-none}"', { cwd: '/' });
    expect(end.stdout).toBe(`/\n${dir} 1 none\n`);
  });

  it('runs in the project when its folder is gone, and in the root when that is gone too', async () => {
    expect((await run('pwd', { cwd: join(dir, 'gone') })).stdout).toBe(`${dir}\n`);
    expect((await run('pwd', { cwd: '/nowhere', projectDir: '/nowhere/else' })).stdout).toBe('/\n');
  });

  it('has no terminal, and a group of its own', async () => {
    const end = await run('(: </dev/tty) 2>/dev/null || echo none; ps -o pid=,pgid=,sid= -p $$');
    const [tty, ids = ''] = end.stdout.split('\n');
    expect(tty).toBe('none');
    expect(new Set(ids.trim().split(/\s+/)).size).toBe(1);
  });

  it('that does not read a long input does no harm', async () => {
    expect(await run('exit 0', { input: 'x'.repeat(4 << 20) })).toMatchObject({ exit: 0 });
  });

  it('with arguments is started as it stands', async () => {
    const hook = command('/bin/echo', { args: ['$HOME', '${CLAUDE_PROJECT_DIR}', 'a b', '*'] });
    expect((await runner.run(hook, job())).stdout).toBe(`$HOME ${dir} a b *\n`);
  });

  it('may be a line for bash', async () => {
    const hook = command('[[ a == a ]] && echo "${BASH_VERSION:+bash}"', { shell: 'bash' });
    expect((await runner.run(hook, job())).stdout).toBe('bash\n');
  });

  it('that is missing says so', async () => {
    expect(await run('./missing.sh')).toMatchObject({ exit: 127 });
    const end = await runner.run(command(join(dir, 'missing'), { args: [] }), job());
    expect(end).toMatchObject({ exit: null, failed: expect.stringContaining('could not be run') });
  });

  it('that dies by a signal says so', async () => {
    expect(await run('kill -SEGV $$')).toMatchObject({ exit: null, signal: 'SIGSEGV' });
  });

  it('that takes too long is killed with all that it started', async () => {
    const one = job({ timeoutMs: 300 });
    const end = await runner.run(command('sleep 1000 & (setsid sleep 1000 &); cat; echo late; sleep 1000'), one);
    expect(end).toMatchObject({ exit: null, timedOut: true });
    expect(await membersOf({ mark: one.mark })).toEqual([]);
  });

  it('that is cut is killed with all that it started, also what ignores to be asked', async () => {
    const abort = new AbortController();
    const one = job({ signal: abort.signal });
    const running = runner.run(command(`trap '' TERM; sleep 1000 & : > begun; wait; sleep 1000`), one);
    await appears('begun');
    abort.abort();
    expect(await running).toMatchObject({ exit: null, aborted: true });
    expect(await membersOf({ mark: one.mark })).toEqual([]);
  });

  it('that is cut before its start does not start', async () => {
    expect(await run(': > never', { signal: AbortSignal.abort() })).toMatchObject({ aborted: true });
    expect(existsSync(join(dir, 'never'))).toBe(false);
  });

  it('that never stops talking is killed', async () => {
    const one = job();
    const end = await runner.run(command('yes'), one);
    expect(end.failed).toBe('it wrote more than 64 MB and was ended');
    expect(end.stdout).toHaveLength(1 << 20);
    expect(await membersOf({ mark: one.mark })).toEqual([]);
  });

  it('that talks a lot is heard to its end, and the start of it is kept', async () => {
    const end = await run('head -c 3000000 /dev/zero; echo done >&2; exit 2');
    expect(end).toMatchObject({ exit: 2, stderr: 'done\n' });
    expect(end.stdout).toHaveLength(1 << 20);
  });

  it('has ended when it has ended, whoever else holds its output open', async () => {
    const end = await run('echo said; sleep 1000 &');
    expect(end).toMatchObject({ exit: 0, stdout: 'said\n' });
    expect(end.ms).toBeLessThan(5_000);
  });

  it('that an earlier process left behind is found by its mark', async () => {
    const one = job();
    const running = runner.run(command(': > left; sleep 1000'), one);
    await appears('left');
    await createHookRunner().kill(top);
    expect(await running).toMatchObject({ exit: null, signal: 'SIGTERM' });
  });
});

describe('a request', () => {
  let server: Server;
  let answer: (request: IncomingMessage, response: ServerResponse) => unknown;
  let url: string;
  beforeAll(async () => {
    server = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const ask = (
    reply: typeof answer,
    over: Partial<Extract<Hook, { type: 'http' }>> = {},
    more: Partial<HookJob> = {},
  ): Promise<HookRun> => {
    answer = reply;
    return runner.run({ event: 'PreToolUse', type: 'http', url, origin: 'test', ...over }, job(more));
  };

  it('carries the event and the headers, with the variables that it may have', async () => {
    const seen: unknown[] = [];
    const headers = { 'x-a': 'Bearer $GIVEN', 'x-b': '[${KEPT}]', 'x-c': '[$UNSET]' };
    const end = await ask(
      async (request, response) => {
        let body = '';
        for await (const chunk of request) body += String(chunk);
        const { 'x-a': a, 'x-b': b, 'x-c': c, 'content-type': type } = request.headers;
        seen.push(request.method, type, a, b, c, body);
        response.end('{"continue":true}');
      },
      { headers, allowedEnvVars: ['GIVEN', 'UNSET'] },
      { env: { GIVEN: 'token', KEPT: 'secret' } },
    );
    expect(end).toMatchObject({ exit: 0, stdout: '{"continue":true}' });
    expect(seen).toEqual(['POST', 'application/json', 'Bearer token', '[]', '[]', '{"tool_name":"Bash"}']);
  });

  it('with an empty answer has no objection', async () => {
    expect(await ask((_, response) => response.writeHead(204).end())).toMatchObject({ exit: 0, stdout: '' });
  });

  it.each<[string, typeof answer, string]>([
    ['a failure', (_, response) => response.writeHead(500).end('{"decision":"block"}'), 'status 500'],
    ['a redirect', (_, response) => response.writeHead(302, { location: '/x' }).end(), 'status 302'],
    ['plain text', (_, response) => response.end('fine'), 'no JSON object'],
    ['a cut line', (request) => request.socket.destroy(), "can't be reached"],
  ])('answered by %s decides nothing', async (_what, reply, text) => {
    expect(await ask(reply)).toMatchObject({ exit: null, failed: expect.stringContaining(text) });
  });

  it('to a closed port decides nothing, and tells no secret', async () => {
    const headers = { authorization: 'Bearer $TOKEN' };
    const end = await ask(() => undefined, { url: 'http://127.0.0.1:9/none', headers }, { env: { TOKEN: 'secret' } });
    expect(end.failed).toContain("can't be reached");
    expect(JSON.stringify(end)).not.toContain('secret');
  });

  it('that gets no answer in time is given up', async () => {
    expect(await ask(() => undefined, {}, { timeoutMs: 200 })).toMatchObject({ exit: null, timedOut: true });
    const half: typeof answer = (_, response) => void response.write('{"decision":');
    expect(await ask(half, {}, { timeoutMs: 200 })).toMatchObject({ exit: null, timedOut: true });
  });

  it('that is cut is given up', async () => {
    const abort = new AbortController();
    const end = await ask(() => abort.abort(), {}, { signal: abort.signal });
    expect(end).toMatchObject({ exit: null, aborted: true });
  });

  it('is read to its limit only', async () => {
    const end = await ask((_, response) => {
      const chunk = Buffer.alloc(1 << 16, '{');
      const more = (): void => {
        while (response.write(chunk));
      };
      response.on('drain', more);
      more();
    });
    expect(end.stdout.length).toBe(1 << 20);
  });
});
