import { z } from 'zod';

const CacheControl = z.strictObject({ type: z.literal('ephemeral'), ttl: z.enum(['5m', '1h']).optional() }).nullish();
const Name = z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/);
const Id = z.string().regex(/^[a-zA-Z0-9_-]+$/);

/** A string is shorthand for one text block; an empty one for no block at all. */
function content<T extends z.ZodType>(block: T) {
  return z.preprocess((value) => {
    if (typeof value !== 'string') return value;
    return value === '' ? [] : [{ type: 'text', text: value }];
  }, z.array(block));
}

const Text = z.strictObject({
  type: z.literal('text'),
  text: z.string(),
  cache_control: CacheControl,
  citations: z.array(z.unknown()).nullish(),
});
const Image = z.strictObject({
  type: z.literal('image'),
  source: z.discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('base64'),
      media_type: z.enum(['image/jpeg', 'image/png', 'image/gif', 'image/webp']),
      data: z.string(),
    }),
    z.strictObject({ type: z.literal('url'), url: z.string() }),
    z.strictObject({ type: z.literal('file'), file_id: z.string() }),
  ]),
  cache_control: CacheControl,
  transformations: z.unknown().optional(),
});
const loose = <T extends string>(type: T) => z.looseObject({ type: z.literal(type), cache_control: CacheControl });
const ToolReference = z.strictObject({
  type: z.literal('tool_reference'),
  tool_name: z.string(),
  cache_control: CacheControl,
});
const ToolUse = z.strictObject({
  type: z.literal('tool_use'),
  id: Id,
  name: Name,
  input: z.record(z.string(), z.unknown()),
  cache_control: CacheControl,
  caller: z.unknown().optional(),
  toolset_name: z.string().nullish(),
});
const ToolResult = z.strictObject({
  type: z.literal('tool_result'),
  tool_use_id: Id,
  content: content(
    z.discriminatedUnion('type', [
      Text,
      Image,
      ToolReference,
      loose('document'),
      loose('search_result'),
      loose('browser_state'),
    ]),
  ).optional(),
  is_error: z.boolean().optional(),
  cache_control: CacheControl,
  toolset_name: z.string().nullish(),
});
const Block = z.discriminatedUnion('type', [
  Text,
  Image,
  ToolUse,
  ToolResult,
  z.strictObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string() }),
  z.strictObject({ type: z.literal('redacted_thinking'), data: z.string() }),
  loose('document'),
  loose('search_result'),
  loose('server_tool_use'),
  loose('web_search_tool_result'),
  loose('web_fetch_tool_result'),
  loose('code_execution_tool_result'),
  loose('bash_code_execution_tool_result'),
  loose('text_editor_code_execution_tool_result'),
  loose('tool_search_tool_result'),
  loose('container_upload'),
  loose('mcp_tool_use'),
  loose('mcp_tool_result'),
  loose('compaction'),
]);
/** A content block of a message. */
export type Block = z.infer<typeof Block>;

const Message = z.strictObject({ role: z.enum(['user', 'assistant', 'system']), content: content(Block) });
/** A message with its content as blocks. */
export type Message = z.infer<typeof Message>;

const Thinking = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('enabled'),
    budget_tokens: z.int().min(1024),
    display: z.enum(['summarized', 'omitted']).nullish(),
  }),
  z.strictObject({ type: z.literal('adaptive'), display: z.enum(['summarized', 'omitted']).nullish() }),
  z.strictObject({ type: z.literal('disabled') }),
  z.strictObject({ type: z.literal('between_tools') }),
]);

const Counted = {
  model: z.string(),
  messages: z.array(Message).max(100_000),
  system: content(Text).optional(),
  tools: z.array(z.looseObject({ cache_control: CacheControl, defer_loading: z.boolean().optional() })).optional(),
  tool_choice: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('auto'), disable_parallel_tool_use: z.boolean().optional() }),
      z.strictObject({ type: z.literal('any'), disable_parallel_tool_use: z.boolean().optional() }),
      z.strictObject({ type: z.literal('tool'), name: z.string(), disable_parallel_tool_use: z.boolean().optional() }),
      z.strictObject({ type: z.literal('none') }),
    ])
    .optional(),
  thinking: Thinking.optional(),
  cache_control: CacheControl,
  output_config: z
    .strictObject({
      effort: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).nullish(),
      format: z.unknown().optional(),
    })
    .optional(),
  speed: z.enum(['standard', 'fast']).nullish(),
};

/** The body of a token count. */
export const CountRequest = z.strictObject(Counted);
export type CountRequest = z.infer<typeof CountRequest>;

/** The body of a request for a message; whatever is not named here the API refuses. */
export const MessagesRequest = z.strictObject({
  ...Counted,
  max_tokens: z.int().min(1),
  stream: z.boolean().optional(),
  stop_sequences: z.array(z.string().regex(/\S/, 'stop sequences must contain non-whitespace')).optional(),
  metadata: z.strictObject({ user_id: z.string().max(512).nullish() }).optional(),
  service_tier: z.enum(['auto', 'standard_only']).optional(),
  container: z.unknown().optional(),
  diagnostics: z.unknown().optional(),
  inference_geo: z.string().nullish(),
});
export type MessagesRequest = z.infer<typeof MessagesRequest>;

/** A tool that the client runs itself. */
export const CustomTool = z.strictObject({
  type: z.literal('custom').nullish(),
  name: Name,
  description: z.string().optional(),
  input_schema: z.looseObject({ type: z.literal('object') }),
  cache_control: CacheControl,
  defer_loading: z.boolean().optional(),
  eager_input_streaming: z.boolean().nullish(),
  input_examples: z.array(z.record(z.string(), z.unknown())).optional(),
  strict: z.boolean().optional(),
  allowed_callers: z.array(z.string()).optional(),
});

/** Top-level fields that are accepted only together with an `anthropic-beta` header. */
export const BETA_FIELDS: readonly string[] = [
  'billing_policy',
  'compaction',
  'context_management',
  'fallback_credit_token',
  'fallbacks',
  'mcp_servers',
  'output_format',
  'thread',
];

/** The first fault of a body's shape in the API's words (`path: what is wrong`). */
export function describeShapeFault(error: z.ZodError, body: unknown, prefix = ''): string {
  const issue = error.issues[0]!;
  const path = [...(prefix ? [prefix] : []), ...issue.path].map(String).join('.');
  const at = (text: string) => (path ? `${path}: ${text}` : text);
  if (issue.code === 'unrecognized_keys') {
    return `${path ? `${path}.` : ''}${issue.keys[0]}: Extra inputs are not permitted`;
  }
  const value = valueAt(body, issue.path);
  if (value === undefined) return at('Field required');
  switch (issue.code) {
    case 'invalid_type':
      return at(`Input should be a valid ${PYDANTIC_NAMES[issue.expected] ?? issue.expected}`);
    case 'invalid_value':
      return at(`Input should be ${orList(issue.values.map((entry) => `'${String(entry)}'`))}`);
    case 'invalid_union': {
      // The path ends at the tag, and a block without tag was already reported as a missing field.
      const owner = path.replace(/\.?type$/, '');
      const tag = typeof value === 'string' ? value : JSON.stringify(value);
      return `${owner ? `${owner}: ` : ''}Input tag '${tag}' found using 'type' does not match any of the expected tags`;
    }
    case 'too_small':
      return at(`Input should be greater than or equal to ${issue.minimum}`);
    case 'too_big':
      return at(`Input should be at most ${issue.maximum}`);
    case 'invalid_format':
      return at(`String should match pattern '${(issue.pattern ?? issue.format).replace(/^\/|\/$/g, '')}'`);
    default:
      return at(issue.message);
  }
}

const PYDANTIC_NAMES: Record<string, string> = {
  array: 'list',
  object: 'dictionary',
  record: 'dictionary',
  int: 'integer',
};

function orList(values: string[]): string {
  return values.length < 2 ? values.join('') : `${values.slice(0, -1).join(', ')} or ${values.at(-1)}`;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at: unknown = value;
  for (const key of path) at = typeof at === 'object' && at !== null ? Reflect.get(at, key) : undefined;
  return at;
}
