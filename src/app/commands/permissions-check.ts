import { createInterface } from 'node:readline';
import { z } from 'zod';
import { builtinTools } from '../../tools/builtin.ts';
import { createRegistry } from '../../tools/registry.ts';
import { type CallQuestion, type CallVerdict, createCallChecker } from '../call-checker.ts';
import { CliError, Exit, explainError, usageError } from '../cli-error.ts';
import { type Io, print, printJson, tell } from '../io.ts';
import { workspace } from '../job-config.ts';
import { paintFor } from '../paint.ts';

export type PermissionsCheckOptions = {
  tool?: string;
  input?: string;
  dir?: string;
  settings?: string;
  permissionMode?: string;
  json?: boolean;
  jsonl?: boolean;
};

const Input = z.record(z.string(), z.unknown());
const Folder = z.string().regex(/^\/[^\0]*$/, 'it takes an absolute path');

/** One line of input: a call, and where it would happen. */
const Line = z.object({
  id: z.union([z.string(), z.number()]),
  cwd: Folder,
  home: Folder.optional(),
  tool: z.string().min(1),
  input: Input,
  toolMeta: z.looseObject({ _meta: Input.optional(), annotations: Input.optional() }).optional(),
});

type Check = (question: CallQuestion) => Promise<CallVerdict>;

/** `permissions check`: what the rules of a folder say of a call. Exit code 1 when a line could not be answered. */
export async function permissionsCheck(options: PermissionsCheckOptions, io: Io): Promise<number> {
  const { settings, permissionMode: mode } = options;
  const check = createCallChecker({ env: io.env, registry: createRegistry(builtinTools), settings, mode });
  if (options.jsonl === true) return checkLines(check, options, io);
  if (options.tool === undefined)
    throw usageError(
      'there is no call to look at',
      `nightshift permissions check --tool Bash --input '{"command":"npm test"}', or --jsonl with one call per line`,
    );
  const cwd = workspace(options.dir, io.cwd);
  const verdict = await check({ cwd, tool: options.tool, input: parseInput(options.input) });
  const { behavior, reason, text } = verdict;
  if (options.json === true) printJson(io, { behavior, reason, text });
  else {
    const { green, yellow, red } = paintFor(io.isTTY, io.env);
    print(io, `${{ allow: green, ask: yellow, deny: red }[behavior](behavior)}: ${text}`);
  }
  return Exit.ok;
}

function parseInput(text: string | undefined): Record<string, unknown> {
  const parsed = Input.safeParse(jsonOf(text ?? '{}'));
  if (parsed.success) return parsed.data;
  throw usageError('--input is no JSON object', `Write it in single quotes: --input '{"command":"npm test"}'`);
}

async function checkLines(check: Check, { tool, input, dir }: PermissionsCheckOptions, io: Io): Promise<number> {
  if (tool !== undefined || input !== undefined || dir !== undefined)
    throw usageError('--jsonl takes each call from its line; leave --tool, --input and --dir out');
  let lines = 0;
  let bad = 0;
  for await (const text of createInterface({ input: io.stdin, crlfDelay: Infinity })) {
    lines += 1;
    if (text.trim() === '') continue;
    const answer = await answerLine(text, lines, check, Boolean(io.env['NIGHTSHIFT_DEBUG']));
    if ('error' in answer) bad += 1;
    if (!io.stdout.write(`${JSON.stringify(answer)}\n`))
      await new Promise((drained) => io.stdout.once('drain', drained));
  }
  if (bad === 0) return Exit.ok;
  tell(io, `${bad} of ${lines} lines could not be answered: their answers say why.`);
  return Exit.failed;
}

/** Whatever goes wrong with a line is its answer: the lines after it get theirs. */
async function answerLine(
  text: string,
  line: number,
  check: Check,
  debug: boolean,
): Promise<{ id: unknown; error: string } | object> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return { id: null, error: `line ${line} is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
  const parsed = Line.safeParse(json);
  if (!parsed.success) {
    const id = z.object({ id: Line.shape.id }).safeParse(json).data?.id ?? null;
    const issues = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'the line'}: ${issue.message}`);
    return { id, error: `line ${line} needs {"id","cwd","tool","input"}: ${issues.join('; ')}` };
  }
  const { id, ...question } = parsed.data;
  try {
    const { behavior, reason, text } = await check(question);
    return { id, behavior, reason, text };
  } catch (error) {
    return { id, error: error instanceof CliError ? error.message : explainError(error, debug).text };
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
