import { z } from 'zod';
import { parseDuration, parsePattern, parsePoint } from './notation.ts';
import { parseTemplate } from './template.ts';

const Duration = z.custom<number | string>(
  (value) => parseDuration(value) !== undefined,
  'expected a duration such as 200ms, 2s, 1m, or a number of milliseconds',
);
const Point = z.custom<string>(
  (value) => typeof value === 'string' && parsePoint(value) !== undefined,
  'expected one of: start, first_byte, "3 events", "120 bytes", "block 0", end',
);
/** Elsewhere it would stand inside another event. */
const PointBetween = Point.refine(
  (point) => parsePoint(point)?.at !== 'bytes' && point !== 'first_byte',
  'an error event stands between events: write start, "3 events", "block 0" or end',
);
const Pattern = z.custom<string>(
  (value) => typeof value === 'string' && value !== '' && parsePattern(value) !== undefined,
  'expected a text to look for, or a regular expression between slashes such as /fix (it|them)/i',
);
const Times = z.custom<number | 'forever'>(
  (value) => value === 'forever' || (Number.isInteger(value) && Number(value) >= 1),
  'expected a whole number from 1, or forever',
);
const ErrorType = z.string().min(1);

/** A single entry may be written without its list. */
function list<T extends z.ZodType>(entry: T) {
  return z.preprocess(
    (value) => (value === undefined || Array.isArray(value) ? value : [value]),
    z.array(entry).min(1),
  );
}

const Fail = z.strictObject({
  status: z.int().min(400).max(599),
  type: ErrorType.optional(),
  message: z.string().optional(),
  retry_after: z
    .custom<number | string>(
      (value) => parseDuration(value) !== undefined || (typeof value === 'string' && !Number.isNaN(Date.parse(value))),
      'expected a number of seconds, a duration such as 30s, or a date',
    )
    .optional(),
  headers: z.record(z.string(), z.string()).optional(),
  /** Sent instead of the API's error shape: a string as HTML (what a proxy answers), anything else as JSON. */
  body: z.unknown().optional(),
  times: Times.optional(),
});
const Cut = z.strictObject({
  after: Point,
  /** fin: the HTTP body ends early but cleanly; close: the connection closes in mid body; reset: it is reset. */
  how: z.enum(['fin', 'close', 'reset']).optional(),
  times: Times.optional(),
});
const Stall = z.strictObject({
  after: Point,
  for: z.custom<number | string>(
    (value) => value === 'forever' || parseDuration(value) !== undefined,
    'expected a duration such as 30s, or forever',
  ),
  /** Pings go on (at `ping_every`) while nothing else comes. */
  pings: z.boolean().optional(),
  times: Times.optional(),
});
const ErrorEvent = z.strictObject({
  type: ErrorType.optional(),
  message: z.string().optional(),
  after: PointBetween.optional(),
  times: Times.optional(),
});

const Call = z
  .strictObject({
    name: z.string().min(1),
    input: z.record(z.string(), z.unknown()).optional(),
    /** The raw JSON text of the input, sent as it is: for broken or unfinished input. */
    input_json: z.string().optional(),
    id: z.string().min(1).optional(),
  })
  .refine((call) => call.input === undefined || call.input_json === undefined, 'give input or input_json, not both');

const Block = z
  .looseObject({
    type: z.string().min(1),
    text: z.string().optional(),
    thinking: z.string().optional(),
    signature: z.string().optional(),
    data: z.string().optional(),
    name: z.string().optional(),
    input_json: z.string().optional(),
  })
  .superRefine((block, context) => {
    const needed = NEEDED[block.type];
    if (needed && block[needed] === undefined) {
      context.addIssue({ code: 'custom', message: `a ${block.type} block needs ${needed}` });
    }
  });

const NEEDED: Record<string, 'text' | 'thinking' | 'data' | 'name'> = {
  text: 'text',
  thinking: 'thinking',
  redacted_thinking: 'data',
  tool_use: 'name',
  server_tool_use: 'name',
};

const Pace = z.strictObject({
  delay: Duration.optional(),
  duration: Duration.optional(),
  ping_every: Duration.optional(),
  chunk: z.int().min(1).optional(),
});

const Usage = z.strictObject({
  input_tokens: z.int().nonnegative().optional(),
  output_tokens: z.int().nonnegative().optional(),
  cache_read_input_tokens: z.int().nonnegative().optional(),
  cache_creation_input_tokens: z.int().nonnegative().optional(),
  cache_creation: z
    .strictObject({
      ephemeral_5m_input_tokens: z.int().nonnegative(),
      ephemeral_1h_input_tokens: z.int().nonnegative(),
    })
    .optional(),
});

/** One reply of the scripted model, with what goes wrong before it. */
export const Step = z
  .strictObject({
    text: z.string().optional(),
    thinking: z
      .preprocess(
        (value) => (typeof value === 'string' ? { text: value } : value),
        z.strictObject({ text: z.string(), signature: z.string().min(1).optional() }),
      )
      .optional(),
    calls: z.array(Call).optional(),
    blocks: z.array(Block).optional(),
    stop_reason: z
      .enum([
        'end_turn',
        'max_tokens',
        'stop_sequence',
        'tool_use',
        'pause_turn',
        'refusal',
        'model_context_window_exceeded',
      ])
      .optional(),
    stop_sequence: z.string().optional(),
    usage: Usage.optional(),
    ...Pace.shape,
    expect: list(Pattern).optional(),
    fail: list(Fail).optional(),
    cut: list(Cut).optional(),
    stall: list(Stall).optional(),
    error_event: list(ErrorEvent).optional(),
    repeat: z.int().min(1).max(100_000).optional(),
  })
  .superRefine((step, context) => {
    const plain = step.text !== undefined || step.thinking !== undefined || step.calls !== undefined;
    if (step.blocks && plain) {
      context.addIssue({ code: 'custom', message: 'give blocks, or text, thinking and calls, not both' });
    }
    const failsForever = [step.fail, step.cut, step.stall, step.error_event].some((entries) =>
      entries?.some((entry) => entry.times === 'forever'),
    );
    if (!step.blocks && !plain && !failsForever) {
      context.addIssue({ code: 'custom', message: 'a step needs text, thinking, calls or blocks' });
    }
    for (const [path, text] of strings({
      text: step.text,
      thinking: step.thinking?.text,
      calls: step.calls,
      blocks: step.blocks,
    })) {
      if (path.at(-1) === 'input_json') continue;
      const read = parseTemplate(text);
      if ('problem' in read) context.addIssue({ code: 'custom', path, message: read.problem });
    }
  });
export type Step = z.infer<typeof Step>;

const Job = z.strictObject({
  name: z.string().min(1).optional(),
  /** Looked for in the first user message of a conversation; without it the job takes every conversation. */
  match: Pattern.optional(),
  defaults: Pace.optional(),
  steps: z.array(Step).min(1),
});

/** A script of the model server, as it is written. */
export const Script = z
  .strictObject({
    keys: z.array(z.string().min(1)).min(1).optional(),
    models: z.array(z.string().min(1)).min(1).optional(),
    /** Tokens. */
    context_window: z.int().min(1).optional(),
    /** Tokens. */
    max_output_tokens: z.int().min(1).optional(),
    /** Whole request bodies go into the log. */
    bodies: z.boolean().optional(),
    defaults: Pace.optional(),
    jobs: z.array(Job).min(1).optional(),
    steps: z.array(Step).min(1).optional(),
  })
  .superRefine((script, context) => {
    if ((script.jobs === undefined) === (script.steps === undefined)) {
      context.addIssue({ code: 'custom', message: 'a script needs jobs (a list), or steps when there is one job' });
    }
    const catchAll = script.jobs?.findIndex((job) => job.match === undefined) ?? -1;
    if (script.jobs && catchAll >= 0 && catchAll < script.jobs.length - 1) {
      context.addIssue({
        code: 'custom',
        path: ['jobs', catchAll],
        message: 'a job without match takes every conversation: give it a match or put it last',
      });
    }
  });
export type Script = z.infer<typeof Script>;

function* strings(value: unknown, path: PropertyKey[] = []): Generator<[PropertyKey[], string]> {
  if (typeof value === 'string') yield [path, value];
  else if (Array.isArray(value)) for (const [i, entry] of value.entries()) yield* strings(entry, [...path, i]);
  else if (typeof value === 'object' && value !== null) {
    for (const [key, entry] of Object.entries(value)) yield* strings(entry, [...path, key]);
  }
}
