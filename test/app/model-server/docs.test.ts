import { readFile } from 'node:fs/promises';
import { APIError, type Anthropic } from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { parseScript } from '../../../src/app/model-server/load-script.ts';
import { ask, goOn, serve, textOf, type Params } from './support.ts';

const page = await readFile(new URL('../../../docs/model-server.md', import.meta.url), 'utf8');

/** The scripts of the page by the heading above them. */
const scripts = new Map(
  page
    .split(/^## /m)
    .flatMap((section) =>
      [...section.matchAll(/^```yaml\n(.*?)^```$/gms)].map((found) => [section.split('\n')[0]!, found[1]!]),
    ),
);

/** Talks to the end of a turn as an agent does, asking again after every failure. */
async function play(client: Anthropic, start: Params, results: (call: Anthropic.ToolUseBlock) => string) {
  let params = start;
  const failures: string[] = [];
  for (;;) {
    const reply = await client.messages
      .stream(params)
      .finalMessage()
      .catch((error: unknown) => {
        failures.push(error instanceof APIError ? String(error.status ?? error.type) : 'broken');
        if (failures.length > 20) throw error;
        return undefined;
      });
    if (!reply) continue;
    const calls = reply.content.filter((block) => block.type === 'tool_use');
    if (reply.stop_reason !== 'tool_use') return { params, reply, text: textOf(reply), failures };
    params = goOn(params, reply, calls.map(results));
  }
}

const ok = () => 'ok';

const plays: Record<string, (client: Anthropic) => Promise<void>> = {
  'A first script': async (client) => {
    const { text } = await play(client, ask('fix'), () => '12 passed, 0 failed');
    expect(text).toBe('The tests say 12 passed.');
  },
  'Several jobs': async (client) => {
    const prompts = ['Please repair the lexer', 'write the release notes of 1.2', 'sing'];
    const played = await Promise.all(prompts.map((prompt) => play(client, ask(prompt), ok)));
    expect(played.map(({ text }) => text)).toEqual([
      'Repaired.',
      'Here they are.',
      "I don't know what to do with that.",
    ]);
  },
  'Values of earlier results': async (client) => {
    const { text } = await play(client, ask('check'), ({ input }) => {
      const command = JSON.stringify(input);
      if (command.includes('curl -s localhost:4711/health')) return '{"ok": true}';
      return command.includes('serve') ? 'listening on port 4711' : 'abc123';
    });
    expect(text).toBe('check: healthy at abc123. Template of the page: {{name}}');
  },
  Trouble: async (client) => {
    const { text, failures } = await play(client, ask('a bad day'), ok);
    expect(text).toBe('Still here.');
    expect(failures).toEqual(['429', '529', '529', '502', 'broken', 'broken', 'overloaded_error']);
  },
  'Long jobs and several turns': async (client) => {
    const first = await play(client, ask('go'), ok);
    expect([first.text, first.params.messages.length]).toEqual(['All rounds are done.', 401]);
    expect((await play(client, goOn(first.params, first.reply, [], 'Thanks!'), ok)).text).toBe("You're welcome.");
  },
  'Full control': async (client) => {
    const { reply } = await play(client, ask('go'), ok);
    expect(reply).toMatchObject({ stop_reason: 'max_tokens', usage: { output_tokens: 32_000 } });
    expect(reply.content.map((block) => block.type)).toEqual(['redacted_thinking', 'text', 'tool_use']);
  },
  'What is refused': async (client) => {
    expect((await play(client, ask('go'), ok)).text).toBe('Hello.');
    await expect(client.messages.create(ask('x'.repeat(90_000)))).rejects.toMatchObject({
      errorCode: 'prompt_too_long',
    });
    await expect(client.messages.create(ask('go', { max_tokens: 9000 }))).rejects.toMatchObject({ status: 400 });
    await expect(client.messages.create(ask('go', { model: 'claude-opus-5-5' }))).rejects.toMatchObject({
      status: 404,
    });
  },
};

test('every script of the page is played here', () => {
  expect([...scripts.keys()].sort()).toEqual(Object.keys(plays).sort());
});

test.each(Object.keys(plays))('the script under "%s" does what the page says', async (heading) => {
  const { client } = await serve(parseScript(scripts.get(heading)!, 'docs/model-server.md'));
  await expect(plays[heading]!(client)).resolves.toBeUndefined();
});
