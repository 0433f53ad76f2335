import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fold } from '../../src/core/transcript.ts';
import type { Block, Message } from '../../src/shapes/message.ts';
import { complaints } from '../support/pairing.ts';

const user = (...content: Block[]): { message: Message } => ({ message: { role: 'user', content } });
const reply = (...content: Block[]): { message: Message } => ({ message: { role: 'assistant', content } });
const text = (text: string): Block => ({ type: 'text', text });
const call = (id: string, input: Record<string, unknown> = {}): Block => ({
  type: 'tool_use',
  id,
  name: 'Bash',
  input,
});
const result = (id: string, content = `result of ${id}`): Block => ({ type: 'tool_result', tool_use_id: id, content });
const thinking: Block = { type: 'thinking', thinking: 'hm\ud800 \u0000 \r', signature: 'c2ln==' };

const contentsOf = (nodes: { message: Message }[]): Block[][] => fold(nodes).messages.map(({ content }) => content);

describe('fold', () => {
  it('leaves a sound conversation as it is', () => {
    const nodes = [
      user(text('go')),
      reply(thinking, text('yes'), call('a')),
      user(result('a'), text('more')),
      reply(text('done')),
    ];
    expect(fold(nodes).messages).toEqual(nodes.map(({ message }) => message));
  });

  it('keeps thinking byte for byte', () => {
    const [, answer] = contentsOf([user(text('go')), reply(thinking, text('yes'))]);
    expect(answer![0]).toBe(thinking);
  });

  it('joins neighbours of one role, without changing the nodes', () => {
    const nodes = [user(text('one')), user(text('two')), reply(text('three')), reply(text('four'))];
    expect(contentsOf(nodes)).toEqual([
      [text('one'), text('two')],
      [text('three'), text('four')],
    ]);
    expect(nodes[0]!.message.content).toHaveLength(1);
  });

  it('gives a call without a result one that says so, also at the end', () => {
    const nodes = [user(text('go')), reply(call('a'), call('b')), user(result('b')), reply(call('c'))];
    const messages = contentsOf(nodes);
    expect(messages).toHaveLength(5);
    expect(messages[2]).toMatchObject([
      { tool_use_id: 'a', is_error: true },
      { tool_use_id: 'b', content: 'result of b' },
    ]);
    expect(messages[2]![0]).toHaveProperty('content', expect.stringContaining('it may have run'));
    expect(messages[4]).toMatchObject([{ tool_use_id: 'c', is_error: true }]);
  });

  it('answers a call at once when the next message is of no use to it', () => {
    const messages = contentsOf([user(text('go')), reply(call('a')), user(text('never mind'))]);
    expect(messages[2]).toMatchObject([{ tool_use_id: 'a', is_error: true }, text('never mind')]);
  });

  it('drops a result whose call is not in the message before, and a second result of one call', () => {
    const nodes = [
      user(result('z'), text('go')),
      reply(call('a')),
      user(result('a', 'first'), result('a', 'second')),
      user(result('b')),
    ];
    expect(contentsOf(nodes)).toEqual([[text('go')], [call('a')], [result('a', 'first')]]);
  });

  it('puts results first and in call order', () => {
    const nodes = [user(text('go')), reply(call('a'), call('b')), user(text('note'), result('b'), result('a'))];
    expect(contentsOf(nodes)[2]).toEqual([result('a'), result('b'), text('note')]);
  });

  it('tells calls with one id apart, in one reply and in two', () => {
    const nodes = [
      user(text('go')),
      reply(call('a', { n: 1 }), call('a', { n: 2 })),
      user(result('a', '1'), result('a', '2')),
      reply(call('a', { n: 3 })),
      user(result('a', '3')),
    ];
    expect(contentsOf(nodes).slice(1)).toEqual([
      [call('a', { n: 1 }), call('a_2', { n: 2 })],
      [result('a', '1'), result('a_2', '2')],
      [call('a_3', { n: 3 })],
      [result('a_3', '3')],
    ]);
  });

  it('leaves out what was cut in its thinking, and blank texts', () => {
    const nodes = [user(text('go')), reply(thinking), user(text('on'), text(' \n')), reply(text('yes'), thinking)];
    expect(contentsOf(nodes)).toEqual([[text('go'), text('on')], [text('yes')]]);
  });

  it('says so when the start is missing', () => {
    const { messages } = fold([reply(text('hello'))]);
    expect(messages[0]).toMatchObject({ role: 'user', content: [{ text: expect.stringContaining('missing') }] });
  });

  it('makes of any nodes a request that a strict API takes', () => {
    const id = fc.constantFrom('a', 'b', 'c', 'bad id!', '');
    const block: fc.Arbitrary<Block> = fc.oneof(
      { weight: 3, arbitrary: id.map((id) => call(id)) },
      { weight: 3, arbitrary: id.map((id) => result(id)) },
      fc.constantFrom('', ' ', 'words').map(text),
      fc.constant(thinking),
      fc.constant<Block>({ type: 'redacted_thinking', data: 'x' }),
      fc.constant<Block>({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }),
    );
    const node = fc.record({
      message: fc.record({
        role: fc.constantFrom<Message['role']>('user', 'assistant'),
        content: fc.array(block, { maxLength: 5 }),
      }),
    });
    fc.assert(
      fc.property(fc.array(node, { maxLength: 12 }), (nodes) => {
        const { messages } = fold(nodes);
        expect(complaints(messages)).toEqual([]);
        expect(fold(messages.map((message) => ({ message }))).messages).toEqual(messages);
      }),
      { numRuns: 3_000 },
    );
  });

  it('never changes what was said before when a step is added', () => {
    const nodes: { message: Message }[] = [user(text('go'))];
    let before = fold(nodes).messages;
    for (let n = 0; n < 50; n++) {
      nodes.push(reply(thinking, call(`c${n}`)), user(result(`c${n}`)));
      const after = fold(nodes).messages;
      expect(after.slice(0, before.length)).toEqual(before);
      before = after;
    }
  });
});

describe('complaints', () => {
  it('finds what the API would refuse', () => {
    const of = (...nodes: { message: Message }[]): string[] => complaints(nodes.map(({ message }) => message));
    expect(of(reply(text('a')))).toEqual(['the first message is not of the user']);
    expect(of(user(text('a')), user(text('')))).toEqual([
      'message 1: two messages of one role in a row',
      'message 1: a blank text',
    ]);
    expect(of(user(text('a')), reply(call('a')))).toEqual(['calls without results at the end: a']);
    expect(of(user(text('a')), reply(call('a')), user(text('b')))).toEqual(['message 2: results [] for calls [a]']);
    expect(of(user(result('a')))).toEqual(['message 0: results [a] for calls []']);
    expect(of(user(text('a')), reply(thinking))).toEqual(['message 1: ends in thinking']);
  });
});
