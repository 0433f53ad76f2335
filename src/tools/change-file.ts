import { formatBytes } from '../core/preview.ts';
import type { Seen, ToolIo, ToolOutput } from '../core/tool.ts';
import type { Sha } from '../shapes/ids.ts';
import { absolutePath, fileTrouble, refusal } from './paths.ts';
import { claimedOutput, type FileClaim } from './recover.ts';
import { MAX_FILE_BYTES } from './text-file.ts';

/** A file as it is on disk; `path` is its real path. */
export type Target =
  | { kind: 'new'; path: string; known: undefined }
  | { kind: 'existing'; path: string; bytes: Uint8Array; sha: Sha; known: Seen | undefined };

/** What a call would do to its file: `text` says to the model why it can't, or what was done. */
export type Plan = { kind: 'refused'; text: string } | { kind: 'change'; bytes: Uint8Array; text: string; seen: Seen };

type Input = { file_path: string };
type Planner<I> = (input: I, target: Target, io: ToolIo) => Plan;

/** Plans the change, writes down what it will do, and does it. */
export async function changeFile<I extends Input>(input: I, io: ToolIo, plan: Planner<I>): Promise<ToolOutput> {
  const path = absolutePath(input.file_path, io.cwd);
  if (io.signal.aborted) return refusal(`${path} was not changed: the call was cancelled before.`);
  try {
    const target = await lookAt(path, io);
    if (target.kind === 'refused') return refusal(target.text);
    const change = plan(input, target, io);
    if (change.kind === 'refused') return refusal(change.text);
    const claim: FileClaim = {
      kind: 'file',
      path: target.path,
      before: target.kind === 'existing' ? target.sha : null,
      after: io.sha(change.bytes),
      answer: change.text,
      seen: change.seen,
    };
    await io.claim(claim);
    await io.files.write(target.path, change.bytes);
    return claimedOutput(claim);
  } catch (error) {
    return fileTrouble(error, path);
  }
}

/**
 * Why the change can't work, as far as that can be told before anybody has allowed it. Of a file that the model has not
 * read nothing is said: a refusal would tell what is in it.
 */
export async function foresee<I extends Input>(input: I, io: ToolIo, plan: Planner<I>): Promise<string | undefined> {
  const path = absolutePath(input.file_path, io.cwd);
  try {
    if (!io.seen.has(io.files.real(path))) return undefined;
    const target = await lookAt(path, io);
    const change = target.kind === 'refused' ? target : plan(input, target, io);
    return change.kind === 'refused' ? change.text : undefined;
  } catch {
    // The run itself will meet the same trouble and say so.
    return undefined;
  }
}

async function lookAt(path: string, io: ToolIo): Promise<Target | { kind: 'refused'; text: string }> {
  const real = io.files.real(path);
  const stat = await io.files.stat(real);
  if (stat === undefined) return { kind: 'new', path: real, known: undefined };
  if (stat.kind === 'directory')
    return { kind: 'refused', text: `${path} is a folder, not a file. Give the path of a file.` };
  if (stat.kind === 'other') return { kind: 'refused', text: `${path} is a device, pipe or socket, not a file.` };
  if (stat.bytes > MAX_FILE_BYTES) {
    return { kind: 'refused', text: `${path} is ${formatBytes(stat.bytes)}, too large to change here. Use Bash.` };
  }
  const bytes = await io.files.read(real);
  return { kind: 'existing', path: real, bytes, sha: io.sha(bytes), known: io.seen.get(real) };
}
