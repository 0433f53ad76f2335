import type { JobClient } from '../client.ts';
import { type Io, lineWidth, print, printJson } from '../io.ts';
import type { JobInfo } from '../job-info.ts';
import { readPromptBody } from '../job-store.ts';
import { openJobs } from '../open-jobs.ts';
import { inboxLines } from '../render-inbox.ts';

/** One question that waits for a person. `since` is ISO 8601. */
export type InboxItem = {
  id: string;
  job: string;
  tool: string;
  brief: string;
  input: unknown;
  reason: string;
  suggestions: string[];
  since: string;
};

/** `inbox`: the questions of all jobs, oldest first. */
export async function inbox(options: { json?: boolean }, io: Io): Promise<number> {
  const jobs = await openJobs(io);
  if (jobs === undefined) return show([], options, io);
  try {
    return show(await readInbox(jobs), options, io);
  } finally {
    await jobs.close();
  }
}

/** All open questions, oldest first. */
export async function readInbox(jobs: JobClient): Promise<InboxItem[]> {
  const items: InboxItem[] = [];
  for (const job of await jobs.list()) {
    if (!job.open) continue;
    const briefs = job.prompts.length === 0 ? new Map<string, string>() : await readBriefs(jobs, job.id);
    for (const prompt of job.prompts) items.push(await readItem(jobs, job, prompt, briefs.get(prompt.id) ?? ''));
  }
  return items.sort((a, b) => Date.parse(a.since) - Date.parse(b.since) || a.id.localeCompare(b.id));
}

async function readBriefs(jobs: JobClient, id: string): Promise<Map<string, string>> {
  const briefs = new Map<string, string>();
  for (const event of await jobs.store.events(id))
    if (event.kind === 'prompt.opened') briefs.set(event.id, event.brief);
  return briefs;
}

/** A question whose text was lost is still a question: it is shown with what is known. */
async function readItem(
  jobs: JobClient,
  job: JobInfo,
  prompt: JobInfo['prompts'][number],
  brief: string,
): Promise<InboxItem> {
  const { id, tool, since } = prompt;
  const shown = { id, job: job.id, tool, brief, since: new Date(since).toISOString() };
  try {
    const { input, reason, suggestions } = await readPromptBody(jobs.store, job.id, prompt.body);
    return { ...shown, input, reason, suggestions };
  } catch (error) {
    const reason = `the question can't be read: ${error instanceof Error ? error.message : String(error)}`;
    return { ...shown, input: null, reason, suggestions: [] };
  }
}

function show(items: InboxItem[], options: { json?: boolean }, io: Io): number {
  if (options.json === true) printJson(io, items);
  else if (items.length === 0) print(io, 'No question waits for an answer.');
  else print(io, inboxLines(items, { now: Date.now(), width: lineWidth(io.stdout, 100) }).join('\n'));
  return 0;
}
