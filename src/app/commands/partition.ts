import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { z } from 'zod';
import { isSafe } from '../../core/classify.ts';
import { partition } from '../../core/partition.ts';
import type { Registry } from '../../core/tool.ts';
import { builtinTools } from '../../tools/builtin.ts';
import { createRegistry } from '../../tools/registry.ts';

/** One line of input: the calls of one reply. */
const PartitionRequest = z.object({
  id: z.union([z.string(), z.number()]),
  cwd: z.string().optional(),
  calls: z.array(z.object({ name: z.string(), input: z.unknown().optional() })),
});
type PartitionRequest = z.infer<typeof PartitionRequest>;

/** One line of output: which calls run together, as indexes, and which of them are safe to. */
export type PartitionAnswer =
  | { id: string | number; batches: number[][]; safe: boolean[] }
  | { id: string | number | null; error: string };

/**
 * Answers each line `{"id","cwd","calls":[{"name","input"}]}` with the batches in which a turn would run these calls.
 * Exit code 1 when a line could not be read.
 */
export async function partitionCommand(io: { stdin: Readable; stdout: Writable; stderr: Writable }): Promise<number> {
  const registry = createRegistry(builtinTools);
  let bad = 0;
  let line = 0;
  for await (const text of createInterface({ input: io.stdin, crlfDelay: Infinity })) {
    line += 1;
    if (text.trim() === '') continue;
    const answer = answerLine(text, line, registry);
    if ('error' in answer) bad += 1;
    if (!io.stdout.write(`${JSON.stringify(answer)}\n`))
      await new Promise((drained) => io.stdout.once('drain', drained));
  }
  if (bad === 0) return 0;
  io.stderr.write(`${bad} of ${line} lines could not be read: their answers say why.\n`);
  return 1;
}

/** The batches of one reply's calls. */
export function partitionCalls(
  calls: PartitionRequest['calls'],
  registry: Registry,
): Omit<Extract<PartitionAnswer, { safe: boolean[] }>, 'id'> {
  const classified = calls.map(({ name, input }, index) => ({ index, safe: isSafe(registry.get(name), input) }));
  return {
    batches: partition(classified).map((batch) => batch.calls.map((call) => call.index)),
    safe: classified.map((call) => call.safe),
  };
}

function answerLine(text: string, line: number, registry: Registry): PartitionAnswer {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return { id: null, error: `line ${line} is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
  const request = PartitionRequest.safeParse(json);
  if (request.success) return { id: request.data.id, ...partitionCalls(request.data.calls, registry) };
  const id = z.object({ id: PartitionRequest.shape.id }).safeParse(json).data?.id ?? null;
  const issues = request.error.issues.map((issue) => `${issue.path.join('.') || 'the line'}: ${issue.message}`);
  return { id, error: `line ${line} needs {"id","cwd","calls":[{"name","input"}]}: ${issues.join('; ')}` };
}
