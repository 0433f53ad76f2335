import { z } from 'zod';
import type { Recovery, ToolIo } from '../core/tool.ts';
import { gitCommit } from './git-commit.ts';
import { refusal } from './paths.ts';

/** What a `git commit` says before it acts: where HEAD is (null: no commit yet), and by which name it moves. */
export const CommitClaim = z.object({
  git: z.array(z.string()),
  amend: z.boolean(),
  subject: z.string().optional(),
  head: z.string().nullable(),
  ref: z.string(),
});
export type CommitClaim = z.infer<typeof CommitClaim>;

type Asks = Pick<ToolIo, 'shell' | 'cwd' | 'env'>;

/** The claim of a command that is exactly one `git commit`; undefined for all others, and where git does not answer. */
export async function claimCommit(command: string, io: Asks): Promise<CommitClaim | undefined> {
  const commit = gitCommit(command);
  const refs = commit && (await readRefs(commit.git, io));
  return refs && { ...commit, ...refs };
}

/**
 * Finds out by HEAD and its reflog whether a commit was made, once nothing of its command runs any more. `notDone` means
 * that the command may run again as a whole, the hooks before the commit included.
 */
export async function compareRefs(claim: CommitClaim, io: ToolIo): Promise<Recovery> {
  const now = await readRefs(claim.git, io);
  if (now === undefined) return unsure('git does not say any more where HEAD is.');
  if (now.ref !== claim.ref) return unsure(`HEAD was ${nameOf(claim.ref)} before it and is ${nameOf(now.ref)} now.`);
  const lock = await leftLock(claim.git, io);
  if (now.head === claim.head) return lock === undefined ? { kind: 'notDone' } : notMade(claim, lock);
  const made = await newestEntry(claim.git, io);
  const moved = `HEAD was at ${shortOf(claim.head)} before it and is at ${shortOf(now.head)} now`;
  if (made === undefined || made.head !== now.head || !(await follows(made, claim, io))) {
    return unsure(`${moved}, which is not just this commit.`);
  }
  if (claim.subject !== undefined && !made.subject.includes(claim.subject)) {
    return unsure(`${moved}, but by a commit with another subject: ${made.subject}.`);
  }
  const root = claim.head === null ? ' (root-commit)' : '';
  const lines = [
    `[${nameOf(now.ref)}${root} ${made.short}] ${made.subject}`,
    '(The process that ran this died; the repository shows that the commit was made. Whether its hooks after the commit ran to their end is not known.)',
  ];
  if (lock !== undefined) {
    lines.push(
      `It left ${lock} behind, and the index may still be the one before the commit. If no other git process works in this repository, remove that file and look at git status.`,
    );
  }
  return { kind: 'done', output: { content: lines.join('\n') } };
}

const unsure = (what: string): Recovery => ({
  kind: 'unknown',
  check: `${what} Look at \`git log -3\` and \`git reflog\` to see whether the commit was made.`,
});

/** It is known that nothing was committed; trying again has to wait until somebody has looked at the lock. */
const notMade = ({ head }: CommitClaim, lock: string): Recovery => ({
  kind: 'done',
  output: refusal(
    `The commit was not made: the process that ran it died, and HEAD is still at ${shortOf(head)}. It left ${lock} behind, with which git refuses to commit. If no other git process works in this repository, remove that file and commit again.`,
  ),
});

const shortOf = (head: string | null): string => (head === null ? 'no commit' : head.slice(0, 7));
/** As `git commit` names it. */
const nameOf = (ref: string): string => (ref === 'HEAD' ? 'detached HEAD' : ref.replace(/^refs\/heads\//, ''));

async function readRefs(git: string[], io: Asks): Promise<Pick<CommitClaim, 'head' | 'ref'> | undefined> {
  const both = await io.shell.askGit([...git, 'rev-parse', 'HEAD', '--symbolic-full-name', 'HEAD'], io);
  const [, head, ref] = /^([0-9a-f]{40,64})\n(\S+)$/.exec(both ?? '') ?? [];
  if (head !== undefined && ref !== undefined) return { head, ref };
  const unborn = await io.shell.askGit([...git, 'symbolic-ref', '-q', 'HEAD'], io);
  return unborn?.startsWith('refs/') ? { head: null, ref: unborn } : undefined;
}

type Entry = { head: string; parents: string; short: string; subject: string; action: string };

/** What HEAD was last moved to, and by what. */
async function newestEntry(git: string[], io: Asks): Promise<Entry | undefined> {
  const format = '--format=%H%n%P%n%h%n%s%n%gs';
  const text = await io.shell.askGit([...git, 'log', '--no-show-signature', '-g', '-1', format, 'HEAD'], io);
  const [head, parents, short, subject, action] = text?.split('\n') ?? [];
  return action === undefined
    ? undefined
    : { head: head!, parents: parents!, short: short!, subject: subject!, action };
}

/** Whether that entry is this one commit, made on what was there before. */
async function follows({ parents, action }: Entry, { git, amend, head }: CommitClaim, io: Asks): Promise<boolean> {
  if (amend) {
    if (head === null || !action.startsWith('commit (amend): ')) return false;
    const before = await io.shell.askGit([...git, 'log', '--no-show-signature', '--no-walk', '--format=%P', head], io);
    return parents === before;
  }
  if (head === null) return parents === '' && action.startsWith('commit (initial): ');
  if (/^commit(?: \(cherry-pick\))?: /.test(action)) return parents === head;
  return action.startsWith('commit (merge): ') && parents.startsWith(`${head} `);
}

async function leftLock(git: string[], io: ToolIo): Promise<string | undefined> {
  const folder = await io.shell.askGit([...git, 'rev-parse', '--absolute-git-dir'], io);
  const lock = `${folder}/index.lock`;
  return folder !== undefined && (await io.files.stat(lock)) !== undefined ? lock : undefined;
}
