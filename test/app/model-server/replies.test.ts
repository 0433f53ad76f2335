import type Anthropic from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { ask, bash, goOn, rawEvents, refusal, serve, textOf } from './support.ts';

const rich = {
  thinking: { text: 'Let me look at the files first.' },
  text: 'I will look — with care 🌱.',
  calls: [
    { name: 'Bash', input: { command: 'ls -la', description: 'List files' } },
    { name: 'Bash', input: {} },
  ],
};

test('a streamed reply and a plain one hold the same message', async () => {
  const { client } = await serve({ steps: [{ ...rich, chunk: 3 }] });
  const params = ask('look', { tools: [bash] });
  const streamed = await client.messages.stream(params).finalMessage();
  const plain = await client.messages.create(params);
  expect(streamed.content).toEqual(plain.content);
  expect([streamed.id, streamed.stop_reason, plain.stop_reason]).toEqual([plain.id, 'tool_use', 'tool_use']);
  expect(plain.content.map((block) => block.type)).toEqual(['thinking', 'text', 'tool_use', 'tool_use']);
  expect(plain.content[1]).toMatchObject({ text: rich.text });
  expect(plain.content[2]).toMatchObject({ name: 'Bash', input: rich.calls[0]!.input });
  expect(plain.content[3]).toMatchObject({ input: {} });
});

test('events come in the order of the API', async () => {
  const { server } = await serve({
    steps: [{ thinking: { text: 'hm' }, text: 'abcd', calls: [{ name: 'Bash', input: { a: 1 } }], chunk: 4 }],
  });
  const { events } = await rawEvents(server, ask('look'));
  const short = events.map(({ event, data }) => {
    return [event, data.index, data.delta?.type].filter((part) => part !== undefined).join(' ');
  });
  expect(short).toEqual([
    'message_start',
    'content_block_start 0',
    'ping',
    'content_block_delta 0 thinking_delta',
    'content_block_delta 0 signature_delta',
    'content_block_stop 0',
    'content_block_start 1',
    'content_block_delta 1 text_delta',
    'content_block_stop 1',
    'content_block_start 2',
    'content_block_delta 2 input_json_delta',
    'content_block_delta 2 input_json_delta',
    'content_block_delta 2 input_json_delta',
    'content_block_stop 2',
    'message_delta',
    'message_stop',
  ]);
  const json = events.flatMap(({ data }) => data.delta?.partial_json ?? []);
  expect(json).toEqual(['', '{"a"', ':1}']);
  expect(events[0]!.data.message).toMatchObject({ stop_reason: null, content: [], usage: { output_tokens: 1 } });
  expect(events.at(-2)!.data).toMatchObject({ delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 4 } });
});

test('the same request gets the same answer, every other request other ids', async () => {
  const { client } = await serve({ jobs: [{ match: 'job', steps: [rich, rich] }] });
  const one = await client.messages.create(ask('job one'));
  const again = await client.messages.create(ask('job one'));
  const two = await client.messages.create(ask('job two'));
  const next = await client.messages.create(goOn(ask('job one'), one));
  expect({ ...again, usage: null }).toEqual({ ...one, usage: null });
  const ids = [one, two, next].flatMap((reply) => [
    reply.id,
    ...reply.content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : [])),
  ]);
  expect(new Set(ids).size).toBe(9);
});

test('the step follows from the conversation, over several turns', async () => {
  const { client } = await serve({
    steps: [
      { calls: [{ name: 'Bash', input: { command: 'ls' } }] },
      { text: 'first answer' },
      { text: 'second answer' },
    ],
  });
  const start = ask('go');
  const afterCall = goOn(start, await client.messages.create(start));
  const first = await client.messages.create(afterCall);
  const second = await client.messages.create(goOn(afterCall, first, [], 'and now?'));
  expect([textOf(first), textOf(second)]).toEqual(['first answer', 'second answer']);
});

test('values of earlier results stand in answers', async () => {
  const { client } = await serve({
    steps: [
      {
        calls: [
          { name: 'Bash', input: { command: 'serve' } },
          { name: 'Bash', input: { command: 'date' } },
        ],
      },
      {
        calls: [
          { name: 'Bash', input: { command: 'curl :{{result.0 | match /port (\\d{2,})/}}', list: ['{{ result.1 }}'] } },
        ],
      },
      { text: '{{prompt}}: {{step.1.result.0 | match /PORT \\d+/i}} \\{{kept}} {{result.0}}' },
    ],
  });
  const one = ask('find the port');
  const two = goOn(one, await client.messages.create(one), ['listening on port 4711 now', 'Monday']);
  const reply = await client.messages.create(two);
  expect(reply.content[0]).toMatchObject({ input: { command: 'curl :4711', list: ['Monday'] } });
  expect(textOf(await client.messages.create(goOn(two, reply, ['hello'])))).toBe(
    'find the port: port 4711 {{kept}} hello',
  );
});

test.each([
  ['{{result.1}}', /\{\{result\.1\}\} finds nothing: the newest reply has no call 1/],
  ['{{step.7.result.0}}', /the reply of step 7 has no call 0/],
  ['{{result.0 | match /port (\\d+)/}}', /finds nothing: the text is "nothing here"/],
])('a template that finds nothing is a loud error: %s', async (text, message) => {
  const { client } = await serve({ steps: [{ calls: [{ name: 'Bash', input: {} }] }, { text }] });
  const start = ask('go');
  const reply = await client.messages.create(start);
  expect(await refusal(client.messages.create(goOn(start, reply, ['nothing here'])))).toMatch(message);
});

test('a repeated step counts from 1', async () => {
  const { client } = await serve({
    steps: [{ calls: [{ name: 'Bash', input: { command: 'step {{n}}' } }], repeat: 3 }, { text: 'done' }],
  });
  let params = ask('go');
  const commands: unknown[] = [];
  for (;;) {
    const reply = await client.messages.create(params);
    const call = reply.content.find((block) => block.type === 'tool_use');
    if (!call) break;
    commands.push(call.input);
    params = goOn(params, reply);
  }
  expect(commands).toEqual([{ command: 'step 1' }, { command: 'step 2' }, { command: 'step 3' }]);
});

test('the first job that fits the first user message answers, its reminders last', async () => {
  const { client } = await serve({
    jobs: [
      { match: 'paint', steps: [{ text: 'painting' }] },
      { match: '/REPAIR (it|them)/i', steps: [{ text: 'repairing' }] },
      { match: 'only in a reminder', steps: [{ text: 'reminded' }] },
      { steps: [{ text: 'anything' }] },
    ],
  });
  const withReminder = (prompt: string, reminder: string) =>
    ask('', {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: `<system-reminder>\n${reminder}\n</system-reminder>` },
            { type: 'text', text: prompt },
          ],
        },
      ],
    });
  const answers = await Promise.all(
    [ask('please paint'), ask('please repair it'), withReminder('repair it', 'never paint'), ask('hello')].map(
      async (params) => textOf(await client.messages.create(params)),
    ),
  );
  expect(answers).toEqual(['painting', 'repairing', 'repairing', 'anything']);
});

test('reminders choose a job when the prompt fits none', async () => {
  const { client } = await serve({
    jobs: [
      { match: 'paint', steps: [{ text: 'painting' }] },
      { match: 'repair', steps: [{ text: 'repairing' }] },
    ],
  });
  const content: Anthropic.TextBlockParam[] = [
    { type: 'text', text: '<system-reminder>we paint</system-reminder>' },
    { type: 'text', text: 'hello' },
  ];
  expect(textOf(await client.messages.create(ask('', { messages: [{ role: 'user', content }] })))).toBe('painting');
});

test('many conversations at once do not share anything', async () => {
  const { client, server } = await serve({
    jobs: [
      {
        match: 'job',
        steps: [
          { fail: [{ status: 529 }], calls: [{ name: 'Bash', input: { command: 'x' } }] },
          { text: '{{result.0}}' },
        ],
      },
    ],
  });
  const finished = await Promise.all(
    Array.from({ length: 20 }, async (_, i) => {
      const params = ask(`job ${i}`);
      await expect(client.messages.create(params)).rejects.toMatchObject({ status: 529 });
      const reply = await client.messages.create(params);
      return textOf(await client.messages.create(goOn(params, reply, [`result of ${i}`])));
    }),
  );
  expect(finished).toEqual(Array.from({ length: 20 }, (_, i) => `result of ${i}`));
  expect(server.requests()).toHaveLength(60);
});

test('a script that runs dry, fits no job or meets other results than expected fails loudly', async () => {
  const { client, server } = await serve({
    jobs: [
      {
        name: 'fix',
        match: 'fix',
        steps: [{ calls: [{ name: 'Bash', input: {} }] }, { expect: ['/^PASS/m', 'exit 0'], text: 'done' }],
      },
    ],
  });
  expect(await refusal(client.messages.create(ask('paint')))).toMatch(
    /no job matches .*"paint"; the script matches "fix"/,
  );
  const start = ask('fix it');
  const second = goOn(start, await client.messages.create(start), ['FAIL\nexit 1']);
  await expect(client.messages.create(second)).rejects.toMatchObject({ status: 400, type: 'invalid_request_error' });
  expect(await refusal(client.messages.create(second))).toMatch(
    /step 2 of job "fix" expected \/\^PASS\/m in the newest results, but they are "FAIL\\nexit 1"/,
  );
  const good = goOn(start, await client.messages.create(start), ['PASS\nexit 0']);
  const done = await client.messages.create(good);
  expect(await refusal(client.messages.create(goOn(good, done, [], 'more')))).toMatch(
    /the script has no step 3 for job "fix": it has 2 steps/,
  );
  expect(server.requests().at(-1)).toMatchObject({ job: 'fix', step: 3, status: 400, refused: /no step 3/ });
});

test('stop reason, usage, ids and raw blocks can be given', async () => {
  const { client, server } = await serve({
    steps: [
      {
        blocks: [
          { type: 'redacted_thinking', data: 'b3BhcXVl' },
          { type: 'text', text: 'hello {{prompt}}' },
          { type: 'tool_use', id: 'toolu_1', name: 'Bash', input_json: '{"command":"rm -r' },
        ],
        stop_reason: 'max_tokens',
        usage: { output_tokens: 77, cache_creation_input_tokens: 5 },
      },
      { text: 'no', stop_reason: 'refusal' },
      { text: 'halt', stop_sequence: 'END' },
    ],
  });
  const start = ask('you');
  const cut = await client.messages.stream(start).finalMessage();
  expect(cut.stop_reason).toBe('max_tokens');
  expect(cut.content).toMatchObject([
    { type: 'redacted_thinking', data: 'b3BhcXVl' },
    { type: 'text', text: 'hello you' },
    { type: 'tool_use', id: 'toolu_1', input: {} },
  ]);
  expect(cut.usage).toMatchObject({
    output_tokens: 77,
    cache_creation_input_tokens: 5,
    cache_creation: { ephemeral_5m_input_tokens: 5 },
  });
  const pieces = (await rawEvents(server, start)).events.map(({ data }) => data.delta?.partial_json ?? '');
  expect(pieces.join('')).toBe('{"command":"rm -r');
  const next = goOn(start, cut);
  const refused = await client.messages.create(next);
  expect(refused).toMatchObject({ stop_reason: 'refusal', stop_details: { type: 'refusal' } });
  const last = await client.messages.create(goOn(next, refused, [], 'and?'));
  expect(last).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: 'END' });
});

test('a paused turn may be sent back as it is, any other prefill may not', async () => {
  const { client } = await serve({
    steps: [
      { text: 'searching', stop_reason: 'pause_turn' },
      { text: 'found', stop_reason: 'end_turn' },
    ],
  });
  const start = ask('search');
  const paused = await client.messages.create(start);
  const back: Anthropic.MessageParam = { role: 'assistant', content: paused.content as Anthropic.ContentBlockParam[] };
  const done = await client.messages.create({ ...start, messages: [...start.messages, back] });
  expect(textOf(done)).toBe('found');
  const prefill: Anthropic.MessageParam = { role: 'assistant', content: 'found' };
  expect(await refusal(client.messages.create({ ...start, messages: [...start.messages, back, prefill] }))).toMatch(
    /does not support assistant message prefill/,
  );
});
