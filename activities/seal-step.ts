import { byteLength, persistedOutput, PREVIEW_BYTES } from '../src/core/preview.ts';
import { toolResultFile } from '../src/core/paths.ts';
import type { JobFiles } from '../src/core/ports.ts';
import { droppedText, MESSAGE_LIMIT, seal, sealMessage } from '../src/core/seal.ts';
import type { Ctx, Done, Note } from '../src/shapes/call.ts';
import type { Sha } from '../src/shapes/ids.ts';
import type { Block, NodeMeta, ToolResultBlock, ToolUseBlock } from '../src/shapes/message.ts';
import { readJson, readText } from './read-blob.ts';
import { foldSeen } from './seen.ts';

/** What sealing needs of a job's files. */
export type SealFiles = Pick<JobFiles, 'blobs' | 'transcript' | 'keepResult'>;

/** Where and when the step is that is sealed. */
export type SealPlace = { turn: number; step: number; at: number };
export type Sealing = {
  head: Sha | null;
  /** Ends of the calls of the reply at `head`, in call order; none when there is no open step. */
  results?: Done[];
  notes: Note[];
  ctx: Ctx;
  place: SealPlace;
  /** Blocks ahead of everything else: instructions of a new conversation, or a word about a cut reply. */
  lead?: Block[];
};

/** A result's body as `runTool` stores it. `fixed`: bounds itself, never spilled here. */
export type ResultBody = { content: ToolResultBlock['content']; fixed?: true };

/**
 * Writes one user message: results first in call order, then hook contexts, then notes. What is too large for the
 * message is spilled here, once; the sealed node is the state. Sealing again with the same input is the same node.
 */
export async function sealStep(files: SealFiles, input: Sealing): Promise<{ head: Sha | null; ctx: Ctx }> {
  const { results = [], place } = input;
  const calls = results.length > 0 ? await callsAt(files, input.head) : [];
  const blocks = await Promise.all(results.map((done, i) => resultBlock(files, done, calls, i)));
  await spillOversize(files, blocks, place);
  const notes = await freshNotes(files, input);
  const content = sealMessage({
    lead: input.lead ?? [],
    results: blocks.map((block) => block.block),
    contexts: await noteTexts(
      files,
      results.flatMap((done) => done.notes ?? []),
    ),
    stops: results.flatMap((done) => (done.stop === undefined ? [] : [done.stop])),
    notes: await noteTexts(files, notes),
  });
  const ctx = await foldSeen(files.blobs, input.ctx);
  if (content.length === 0) return { head: input.head, ctx };
  const meta: NodeMeta = { at: place.at, turn: place.turn, step: place.step };
  if (notes.length > 0) meta.notes = notes.map((note) => note.id);
  return { head: await files.transcript.append(input.head, { role: 'user', content }, meta), ctx };
}

async function callsAt(files: SealFiles, head: Sha | null): Promise<ToolUseBlock[]> {
  if (head === null) return [];
  const { message } = await files.transcript.read(head);
  return message.content.filter((block): block is ToolUseBlock => block.type === 'tool_use');
}

type Sized = { block: ToolResultBlock; index: number; chars: number; fixed: boolean };

async function resultBlock(files: SealFiles, done: Done, calls: ToolUseBlock[], index: number): Promise<Sized> {
  const call = calls[index]!;
  if (done.dropped) {
    const content = droppedText(done.dropped, call, calls);
    const block: ToolResultBlock = { type: 'tool_result', tool_use_id: call.id, content, is_error: true };
    return { block, index, chars: content.length, fixed: false };
  }
  const body = await readJson<ResultBody>(files.blobs, done.result.body);
  const block: ToolResultBlock = { type: 'tool_result', tool_use_id: call.id, content: body.content };
  if (done.result.isError) block.is_error = true;
  return { block, index, chars: textOf(body.content).length, fixed: body.fixed === true };
}

/** All results of one message together may hold so much; the largest fresh ones give way. */
async function spillOversize(files: SealFiles, blocks: Sized[], { turn, step }: SealPlace): Promise<void> {
  for (const index of seal(blocks, { message: MESSAGE_LIMIT }).spill) {
    const { block } = blocks[index]!;
    const isText = typeof block.content === 'string';
    const text = isText ? (block.content as string) : JSON.stringify(block.content, null, 1);
    const path = await files.keepResult(toolResultFile(turn, step, index, isText ? 'txt' : 'json'), text);
    block.content = persistedOutput({ bytes: byteLength(text), head: text.slice(0, PREVIEW_BYTES), path });
  }
}

/** Notes that the transcript does not hold yet: a note goes in once, by its id. */
async function freshNotes(files: SealFiles, input: Sealing): Promise<Note[]> {
  if (input.notes.length === 0) return [];
  const nodes = await files.transcript.load(input.head);
  const known = new Set(nodes.flatMap((node) => node.meta.notes ?? []));
  return input.notes.filter((note) => !known.has(note.id));
}

async function noteTexts(files: SealFiles, notes: Note[]): Promise<{ kind: Note['kind']; text: string }[]> {
  return Promise.all(notes.map(async ({ kind, body }) => ({ kind, text: await readText(files.blobs, body) })));
}

export const textOf = (content: ToolResultBlock['content']): string =>
  typeof content === 'string' ? content : content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
