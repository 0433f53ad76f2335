import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  accumulate,
  emptyReply,
  eventsOfBlock,
  keepable,
  type ReplyState,
  type StreamEvent,
} from '../../src/core/reply.ts';
import type { Block, Message } from '../../src/shapes/message.ts';
import { complaints } from '../support/pairing.ts';
import { replyEvents, type Said } from '../support/raw-model.ts';

const read = (events: readonly StreamEvent[]): ReplyState => events.reduce(accumulate, emptyReply);
const upTo = (events: readonly StreamEvent[], type: string): StreamEvent[] =>
  events.slice(
    0,
    events.findIndex((event) => event['type'] === type),
  );

const thought: Said = { thinking: 'Let me see … ünïcödé \n', signature: 'sig+/==' };
const ls: Said = { call: 'Bash', id: 'toolu_1', json: '{"command":"ls","n":1e3}' };
const cat: Said = { call: 'Bash', id: 'toolu_2', json: '{"command":"cat a"}' };

describe('a reply that ended', () => {
  it('is kept as it came, thinking and signature byte for byte', () => {
    const said = [thought, { redacted: 'opaque' }, { text: 'I will look.' }, ls];
    expect(keepable(read(replyEvents({ said, stop: 'tool_use' })))).toEqual({
      content: [
        { type: 'thinking', thinking: 'Let me see … ünïcödé \n', signature: 'sig+/==' },
        { type: 'redacted_thinking', data: 'opaque' },
        { type: 'text', text: 'I will look.' },
        { type: 'tool_use', id: 'toolu_1', name: 'Bash', input: { command: 'ls', n: 1000 } },
      ],
      stop: 'tool_use',
      usage: { input: 10, output: 20, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 },
      model: 'claude-sonnet-5-5',
    });
  });

  it('keeps thinking whose text the API leaves out, by its signature', () => {
    const said = [{ thinking: '', signature: 'sig' }, ls];
    expect(keepable(read(replyEvents({ said, stop: 'tool_use' })))?.content[0]).toEqual({
      type: 'thinking',
      thinking: '',
      signature: 'sig',
    });
  });

  it('takes no input at all for {} only when it stopped to call tools', () => {
    const said = [{ text: 'x' }, { call: 'List', id: 'toolu_1', json: '' }];
    expect(keepable(read(replyEvents({ said, stop: 'tool_use' })))?.content[1]).toMatchObject({ input: {} });
    expect(keepable(read(replyEvents({ said, stop: 'max_tokens' })))?.content).toEqual([{ type: 'text', text: 'x' }]);
  });

  it('loses a call that the output limit cut, and keeps text and earlier calls', () => {
    const said = [{ text: 'x' }, ls, { call: 'Bash', id: 'toolu_2', json: '{"command":"rm -r' }];
    const reply = keepable(read(replyEvents({ said, stop: 'max_tokens' })));
    expect(reply?.content.map(({ type }) => type)).toEqual(['text', 'tool_use']);
    expect(reply?.cut).toBeUndefined();
  });

  it('is nothing when the limit left thinking only', () => {
    expect(keepable(read(replyEvents({ said: [thought], stop: 'max_tokens' })))).toBeUndefined();
    expect(keepable(read(replyEvents({ said: [], stop: 'model_context_window_exceeded' })))).toBeUndefined();
  });

  it('counts as cut at a broken call when it stopped to call tools', () => {
    const broken = { call: 'Bash', id: 'toolu_2', json: '{"command":' };
    expect(keepable(read(replyEvents({ said: [{ text: 'x' }, ls, broken], stop: 'tool_use' })))).toMatchObject({
      content: [{ type: 'text' }, { type: 'tool_use', id: 'toolu_1' }],
      cut: true,
    });
    expect(keepable(read(replyEvents({ said: [{ text: 'x' }, broken], stop: 'tool_use' })))).toBeUndefined();
  });

  it.each(['[1]', '"text"', 'null', '7', '{"a":1}{}', `${'{"a":'.repeat(3_000)}1${'}'.repeat(3_000)}`])(
    'has no call in input that is no plain object: %.20s',
    (json) => {
      const said = [ls, { call: 'X', id: 'toolu_9', json }];
      expect(keepable(read(replyEvents({ said, stop: 'tool_use' })))?.content).toHaveLength(1);
    },
  );

  it('says that it is empty rather than being refused by the next request', () => {
    const blank = [thought, { text: ' \n' }];
    expect(keepable(read(replyEvents({ said: blank })))?.content).toEqual([
      { type: 'thinking', thinking: 'Let me see … ünïcödé \n', signature: 'sig+/==' },
      { type: 'text', text: '(no content)' },
    ]);
    expect(keepable(read(replyEvents({ said: [] })))?.content).toEqual([{ type: 'text', text: '(no content)' }]);
  });

  it('leaves out what the API would not take back', () => {
    const said = [{ thinking: 'unsigned', signature: '' }, { text: '' }, { text: 'done \n\n' }, thought];
    expect(keepable(read(replyEvents({ said })))?.content).toEqual([{ type: 'text', text: 'done' }]);
    const raw = { call: 'X', id: 'toolu_1', json: String.raw`{"\ud800":["a\ud83d","ok \ud83d\ude00","\u0000"]}` };
    expect(keepable(read(replyEvents({ said: [raw], stop: 'tool_use' })))?.content[0]).toMatchObject({
      input: { '\uFFFD': ['a\uFFFD', 'ok 😀', '\uFFFD'] },
    });
  });

  it('keeps a key named __proto__ as a plain key', () => {
    const said = [{ call: 'X', id: 'toolu_1', json: '{"__proto__":{"a":1}}' }];
    const [block] = keepable(read(replyEvents({ said, stop: 'tool_use' })))!.content;
    expect(JSON.stringify(block)).toContain('"input":{"__proto__":{"a":1}}');
  });

  it('keeps blocks of kinds that nobody here knows', () => {
    const events = replyEvents({ said: [{ text: 'a' }], stop: 'tool_use' });
    const odd = { type: 'novel_block', id: 'n1', payload: { deep: [1, 2] } };
    events.splice(
      -2,
      0,
      { type: 'content_block_start', index: 1, content_block: odd },
      { type: 'content_block_stop', index: 1 },
    );
    expect(keepable(read(events))?.content[1]).toEqual(odd);
  });

  it('takes the input of a call that came whole with its start', () => {
    const block = { type: 'tool_use', id: 'toolu_1', name: 'X', input: { a: 1 } };
    const events = [
      { type: 'content_block_start', index: 0, content_block: block },
      { type: 'content_block_stop', index: 0 },
    ];
    expect(keepable(read(events))).toMatchObject({ content: [block], cut: true });
  });
});

describe('a reply that was cut', () => {
  it('is kept up to its last complete call', () => {
    const events = replyEvents({ said: [thought, ls, { text: 'and' }, cat, { text: 'then' }], stop: 'tool_use' });
    expect(keepable(read(upTo(events, 'message_delta')))).toMatchObject({
      content: [
        { type: 'thinking' },
        { type: 'tool_use', id: 'toolu_1' },
        { type: 'text' },
        { type: 'tool_use', id: 'toolu_2' },
      ],
      stop: null,
      cut: true,
    });
  });

  it('is nothing without a complete call, however much it said', () => {
    const events = replyEvents({ said: [{ text: 'a long answer' }, ls] });
    const open = events.filter(({ type, index }) => !(type === 'content_block_stop' && index === 1));
    expect(keepable(read(upTo(open, 'message_delta')))).toBeUndefined();
    expect(keepable(emptyReply)).toBeUndefined();
  });
});

describe('usage', () => {
  it('splits cache writes by lifetime and lets later counts win', () => {
    const state = read([
      {
        type: 'message_start',
        message: {
          model: 'm',
          usage: {
            input_tokens: 3,
            output_tokens: 1,
            cache_read_input_tokens: 100,
            cache_creation_input_tokens: 50,
            cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 30 },
          },
        },
      },
      {
        type: 'message_delta',
        delta: {},
        usage: { input_tokens: null, output_tokens: 9, cache_creation_input_tokens: 50 },
      },
    ]);
    expect(state.usage).toEqual({ input: 3, output: 9, cacheRead: 100, cacheWrite5m: 20, cacheWrite1h: 30 });
    expect(state.outputKnown).toBe(true);
  });
});

describe('events of any shape', () => {
  it('never throw', () => {
    const junk = fc
      .record({
        type: fc.constantFrom(
          'message_start',
          'content_block_start',
          'content_block_delta',
          'content_block_stop',
          'message_delta',
          'message_stop',
          'x',
        ),
      })
      .chain((event) =>
        fc
          .dictionary(fc.constantFrom('index', 'delta', 'content_block', 'message', 'usage'), fc.jsonValue())
          .map((rest) => ({ ...rest, ...event })),
      );
    const streams = fc.array(junk, { maxLength: 12 });
    fc.assert(
      fc.property(streams, (events) => {
        expect(() => keepable(read(events))).not.toThrow();
      }),
    );
  });
});

const said: fc.Arbitrary<Said> = fc.oneof(
  fc.record({ text: fc.string({ unit: 'grapheme' }) }),
  fc.record({ thinking: fc.string({ unit: 'grapheme' }), signature: fc.constantFrom('', 'sig+/=', 'other') }),
  fc.record({ redacted: fc.base64String({ minLength: 4 }) }),
  fc.record({
    call: fc.constantFrom('Bash', 'Read'),
    id: fc.constant(''),
    json: fc.dictionary(fc.string(), fc.jsonValue()).map((v) => JSON.stringify(v)),
  }),
  fc.record({ call: fc.constant('Bash'), id: fc.constant(''), json: fc.constantFrom('', '{', '[]', '{"a":') }),
);
const replies = fc
  .record({
    said: fc
      .array(said, { maxLength: 6 })
      .map((blocks) => blocks.map((block, i) => ('call' in block ? { ...block, id: `toolu_${i}` } : block))),
    stop: fc.constantFrom('end_turn', 'tool_use', 'max_tokens', 'pause_turn', 'refusal'),
    chunk: fc.integer({ min: 1, max: 9 }),
  })
  .map((spec) => replyEvents(spec));

/** The conversation that goes on after this reply: each call gets a result. */
function continued(content: Block[]): Message[] {
  const results = content.flatMap((block): Block[] =>
    block.type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: block.id, content: 'ok' }] : [],
  );
  const next: Block[] = results.length > 0 ? results : [{ type: 'text', text: 'go on' }];
  return [
    { role: 'user', content: [{ type: 'text', text: 'go' }] },
    { role: 'assistant', content },
    { role: 'user', content: next },
  ];
}

/** Whether a call of the whole stream is not complete. */
const isBroken = (events: readonly StreamEvent[]): boolean =>
  read(events).parts.some(({ block, json }) => block['type'] === 'tool_use' && !/^(\{.*\})?$/s.test(json));

describe('a stream cut anywhere', () => {
  it('leaves a reply that a strict API takes back, or nothing', () => {
    fc.assert(
      fc.property(replies, fc.nat(), (events, at) => {
        const cut = events.slice(0, at % (events.length + 1));
        const reply = keepable(read(cut));
        const last = reply?.content.at(-1)?.type;
        expect({
          refused: reply ? complaints(continued(reply.content)) : [],
          endsWithoutCall: reply !== undefined && cut.length < events.length && last !== 'tool_use',
          saysCut: reply?.cut === true,
        }).toEqual({
          refused: [],
          endsWithoutCall: false,
          saysCut:
            reply !== undefined && (cut.length < events.length || (reply.stop === 'tool_use' && isBroken(events))),
        });
      }),
      { numRuns: 1_000 },
    );
  });

  it('reads the same again from its finished blocks', () => {
    fc.assert(
      fc.property(replies, (events) => {
        const whole = read(events);
        const recorded = events.flatMap((event) => {
          if (event['type'] === 'content_block_stop') return eventsOfBlock(whole, event['index'] as number);
          return String(event['type']).startsWith('message') ? [event] : [];
        });
        expect(read(recorded)).toEqual(whole);
      }),
    );
  });
});
