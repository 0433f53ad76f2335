import { z } from 'zod';
import type { Adoption } from '../core/ports.ts';
import type { Recovery, ToolIo, ToolOutput } from '../core/tool.ts';
import { Sha } from '../shapes/ids.ts';
import { CommitClaim } from './compare-refs.ts';

/**
 * What a file-writing call says before it acts: the hash of the file's bytes before (null: there was none) and after,
 * and what it will answer, so that a later owner answers the same.
 */
export const FileClaim = z.object({
  kind: z.literal('file'),
  path: z.string(),
  before: Sha.nullable(),
  after: Sha,
  answer: z.string(),
  seen: z.object({ sha: Sha, partial: z.literal(true).optional(), via: z.enum(['range', 'write']).optional() }),
});
export type FileClaim = z.infer<typeof FileClaim>;

/**
 * What a call says before it starts a process in its own folder. `movable`: at its time limit it goes on in the
 * background. `commit`: it is a `git commit` and nothing else.
 */
export const ProcessClaim = z.object({
  kind: z.literal('process'),
  movable: z.boolean().optional(),
  commit: CommitClaim.optional(),
});
export type ProcessClaim = z.infer<typeof ProcessClaim>;

/** What a file-writing call answers. */
export function claimedOutput(claim: FileClaim): ToolOutput {
  return { content: claim.answer, seen: { [claim.path]: claim.seen } };
}

/** Finds out by the file's content whether a dead owner's write happened. */
export async function compareFile(claim: unknown, io: ToolIo): Promise<Recovery> {
  const parsed = FileClaim.safeParse(claim);
  if (!parsed.success) return unreadableClaim();
  const { path, before, after } = parsed.data;
  const now = await currentSha(path, io);
  if (now === after) return { kind: 'done', output: claimedOutput(parsed.data) };
  if (now === before) return { kind: 'notDone' };
  const state = now === null ? 'it is gone' : 'it holds neither the old nor the new content';
  return { kind: 'unknown', check: `${path} was changed by someone else: ${state}. Read it before you go on.` };
}

async function currentSha(path: string, io: ToolIo): Promise<Sha | null> {
  const stat = await io.files.stat(path);
  return stat?.kind === 'file' ? io.sha(await io.files.read(path)) : null;
}

/** How a process that a dead owner started is taken over; `gone`: nothing of it runs any more, and nobody saw how it ended. */
export type Takeover = {
  ended(exit: Extract<Adoption, { kind: 'ended' }>): Promise<ToolOutput>;
  running(run: Extract<Adoption, { kind: 'running' }>['run'], claim: ProcessClaim): Promise<ToolOutput>;
  gone(outputPath: string, claim: ProcessClaim): Promise<Recovery>;
};

/** Finds the process that a dead owner started: still running, ended, lost, or never begun. */
export async function adoptProcess(claim: unknown, io: ToolIo, takeover: Takeover): Promise<Recovery> {
  const parsed = ProcessClaim.safeParse(claim);
  if (!parsed.success) return unreadableClaim();
  const found = await io.shell.adopt(io.dir);
  switch (found.kind) {
    case 'running':
      return { kind: 'running', wait: () => takeover.running(found.run, parsed.data) };
    case 'ended':
      return { kind: 'done', output: await takeover.ended(found) };
    case 'gone':
      return takeover.gone(found.outputPath, parsed.data);
    case 'never-started':
      return { kind: 'notDone' };
    default:
      return found satisfies never;
  }
}

function unreadableClaim(): Recovery {
  return {
    kind: 'unknown',
    check: 'The record of what this call was about to do is damaged. Check whether it happened before you do it again.',
  };
}
