import { scrubber } from '../core/scrub.ts';
import type { WaitWhy } from '../shapes/model.ts';

/**
 * What trouble with the API means for a job. `until`: when to ask again, in ms since the epoch; null when a person has
 * to act first; absent when the API did not say. `refused`: no tokens were counted for the request.
 */
export type Trouble = { refused: boolean } & (
  | { kind: 'wait'; why: WaitWhy; text: string; until?: number | null }
  | { kind: 'too_long'; text: string }
  | { kind: 'failed'; error: string }
);

/** What is needed to read an error: the time (ms since the epoch), the API's address, and what must never be shown. */
export type ErrorContext = { now: number; baseUrl: string; secrets: readonly string[] };

/** An error as the API or the network told it. */
type Facts = {
  status?: number;
  type: string;
  code: string;
  message: string;
  shouldRetry: string | null;
  headers: Headers | undefined;
};
type Verdict = 'credentials' | 'billing' | 'too_long' | 'rate_limit' | 'api' | 'failed';

const TOO_LONG =
  /prompt is too long|exceeds? (?:the )?(?:maximum )?(?:context|input)|context (?:window|limit|length)|too many (?:input )?tokens|request_too_large/i;
const UNPAID = /credit balance|billing|payment required/i;

/** First row that fits decides. */
const TABLE: readonly (readonly [fits: (facts: Facts) => boolean, verdict: Verdict])[] = [
  [({ status }) => status === 413, 'too_long'],
  [({ code }) => code === 'prompt_too_long', 'too_long'],
  [({ status, message }) => status === 400 && TOO_LONG.test(message), 'too_long'],
  [({ status }) => status === 402, 'billing'],
  [({ status, message }) => (status === 400 || status === 403) && UNPAID.test(message), 'billing'],
  [({ status }) => status === 401 || status === 403 || status === 407, 'credentials'],
  [({ status }) => status === 429 || status === 529, 'rate_limit'],
  [({ status }) => status === 408 || status === 409 || status === 425 || status === 499, 'api'],
  [({ status }) => status !== undefined && status >= 500, 'api'],
  [({ status }) => status !== undefined && status < 400, 'api'],
  [({ status, shouldRetry }) => status !== undefined && shouldRetry === 'true', 'api'],
  [({ status }) => status !== undefined, 'failed'],
];

/** Errors inside a stream, and those of gateways that lost the status, have a type only. */
const STATUS_OF_TYPE: Record<string, number> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

/** The one place that says what an error of the model API means. Takes whatever the SDK or `fetch` has thrown. */
export function troubleOf(error: unknown, context: ErrorContext): Trouble {
  const facts = readFacts(error);
  const verdict = TABLE.find(([fits]) => fits(facts))?.[1];
  const said = scrub(describe(facts), context.secrets);
  switch (verdict) {
    case 'credentials':
      return { refused: true, kind: 'wait', why: 'credentials', until: null, text: badCredentials(said) };
    case 'billing':
      return { refused: true, kind: 'wait', why: 'credentials', until: null, text: unpaid(said) };
    case 'too_long':
      return { refused: true, kind: 'too_long', text: said };
    case 'rate_limit':
      return { refused: true, kind: 'wait', why: 'rate_limit', until: resetAt(facts.headers, context.now), text: said };
    case 'api':
      return {
        refused: true,
        kind: 'wait',
        why: 'api',
        until: resetAt(facts.headers, context.now),
        text: said + hint(facts),
      };
    case 'failed':
      return { refused: true, kind: 'failed', error: said + hint(facts) };
    case undefined: {
      const network = networkCode(error);
      const text = scrub(`no answer from ${context.baseUrl} (${network || facts.message})`, context.secrets);
      return { refused: NEVER_SENT.test(network), kind: 'wait', why: 'api', text: text + networkHint(network) };
    }
  }
}

/** What to say when there is no key at all. */
export const missingKey =
  'the worker has no key for the model API; set one and start it again: export ANTHROPIC_API_KEY=… && nightshift up';
const badCredentials = (said: string): string =>
  `the model API refused the credentials: ${said}; set valid ones and start again: export ANTHROPIC_API_KEY=… && nightshift up`;
const unpaid = (said: string): string =>
  `the model API wants to be paid: ${said}; add credit to the account and tell the job: nightshift resume JOB; or use another key: export ANTHROPIC_API_KEY=… && nightshift up`;

/** At most 500 characters on one line, without anything that opens a door. */
export function scrub(text: string, secrets: readonly string[]): string {
  const plain = scrubber(
    secrets,
    4,
  )(text)
    .replace(/sk-ant-[\w-]+/g, '[key]')
    .replace(/(bearer\s+)[^\s"',]+/gi, '$1[key]')
    .replace(/(\/\/)[^/\s@]+@/g, '$1[key]@')
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim();
  return plain.length <= 500 ? plain : `${plain.slice(0, 499)}…`;
}

function readFacts(error: unknown): Facts {
  const given = asRecord(error);
  const body = asRecord(asRecord(given['error'])['error']);
  const type = asText(given['type']) || asText(body['type']);
  const own = given['status'];
  const status = typeof own === 'number' ? own : STATUS_OF_TYPE[type];
  const headers = given['headers'] instanceof Headers ? given['headers'] : undefined;
  return {
    ...(status !== undefined && { status }),
    type,
    code: asText(given['errorCode']),
    message: asText(body['message']) || plainText(error instanceof Error ? error.message : String(error)),
    shouldRetry: headers?.get('x-should-retry') ?? null,
    headers,
  };
}

/** An error page of a proxy, as text. */
function plainText(message: string): string {
  if (!/<(?:!doctype|html|head|body)\b/i.test(message)) return message;
  const text = message.replace(/<(style|script)\b.*?<\/\1>/gis, ' ');
  return text.replace(/<[^>]*>/g, ' ');
}

function describe({ status, type, message }: Facts): string {
  const head = [status, type].filter(Boolean).join(' ');
  const text = status === undefined ? message : message.replace(new RegExp(`^${status}\\s*`), '');
  return head === '' ? text : `${head}: ${text}`;
}

function hint({ status, type, headers }: Facts): string {
  if (status !== undefined && status >= 300 && status < 400) {
    return `; it points to ${headers?.get('location') ?? 'another address'}: set ANTHROPIC_BASE_URL to where it ends`;
  }
  return status === 404 && type === '' ? '; is ANTHROPIC_BASE_URL the address of a model API?' : '';
}

/** Codes of failures before the request was sent: nothing can have been counted for it. */
const NEVER_SENT =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|ENETDOWN|UND_ERR_CONNECT_TIMEOUT|CERT_\w+|ERR_TLS_\w+|ERR_SSL_\w+|EPROTO|\w*SELF_SIGNED\w*|UNABLE_TO_\w+|\w*_CERT\w*)$/;

function networkHint(code: string): string {
  if (/CERT|SELF_SIGNED|UNABLE_TO_/.test(code)) {
    return '; the certificate is not trusted: point NODE_EXTRA_CA_CERTS to the authority that signed it';
  }
  return /^(?:ECONNREFUSED|ENOTFOUND)$/.test(code) ? '; check the network and ANTHROPIC_BASE_URL' : '';
}

/** The system's code of a failed connection, however deep it lies. */
function networkCode(error: unknown): string {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth += 1) {
    if ('code' in at && typeof at.code === 'string') return at.code;
    if (at instanceof AggregateError) return networkCode(at.errors[0]);
  }
  return '';
}

/** A month and some: what lies further ahead is no reset time. */
const FURTHEST_MS = 35 * 24 * 3_600_000;

/** When the API says that it may be asked again (ms since the epoch, by our clock); undefined when it does not say. */
export function resetAt(headers: Headers | undefined, now: number): number | undefined {
  if (!headers) return undefined;
  const theirs = Date.parse(headers.get('date') ?? '');
  const delays = [
    Number.parseFloat(headers.get('retry-after-ms') ?? ''),
    delayOf(headers.get('retry-after'), Number.isNaN(theirs) ? now : theirs),
    Number.parseFloat(headers.get('anthropic-ratelimit-unified-reset') ?? '') * 1_000 - now,
    ...['requests', 'tokens', 'input-tokens', 'output-tokens'].map((bucket) =>
      headers.get(`anthropic-ratelimit-${bucket}-remaining`) === '0'
        ? Date.parse(headers.get(`anthropic-ratelimit-${bucket}-reset`) ?? '') - now
        : Number.NaN,
    ),
  ];
  const delay = delays.find((delay) => delay >= 0);
  return delay === undefined ? undefined : now + Math.min(Math.ceil(delay), FURTHEST_MS);
}

/** `retry-after`: seconds, or a date by the server's clock. */
function delayOf(value: string | null, serverNow: number): number {
  if (value === null) return Number.NaN;
  return /^\s*[\d.]+\s*$/.test(value) ? Number.parseFloat(value) * 1_000 : Date.parse(value) - serverNow;
}

const SECOND = 1_000;
/** Attempts after which trouble with the API is no hiccup any more. */
const LONG_TROUBLE = 50;

/**
 * When to ask again: at the time that the API gave, spread over 30 s more when it is more than 30 s away, so that many
 * jobs do not come back at once; else after 0.5 s, doubling with each attempt up to 60 s (with a quarter more at random),
 * and every 5 minutes once the API has failed for long. `dice`: 0 to 1, the same for the same attempt.
 */
export function retryAt(
  trouble: { why: WaitWhy; until?: number | null },
  attempts: number,
  dice: number,
  now: number,
): number | null {
  const { until, why } = trouble;
  if (until === null) return null;
  if (until !== undefined && until > now)
    return Math.ceil(until + (until - now > 30 * SECOND ? dice * 30 * SECOND : 0));
  const long = why === 'api' && attempts > LONG_TROUBLE;
  const base = long ? 300 * SECOND : Math.min(60 * SECOND, 500 * 2 ** Math.min(attempts - 1, 20));
  return Math.ceil(now + base * (1 + dice / 4));
}

const asRecord = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
const asText = (value: unknown): string => (typeof value === 'string' ? value : '');
