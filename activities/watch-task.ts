import { join } from 'node:path';
import { cancellationSignal } from '@temporalio/activity';
import { taskDir, taskOutputFile } from '../src/core/paths.ts';
import type { Hosts } from '../src/core/hosts.ts';
import type { JobFiles } from '../src/core/ports.ts';
import { taskEnding, taskNote, type TaskSight, taskSummary } from '../src/core/task-note.ts';
import type { TaskEnd, TaskInput } from '../src/shapes/task.ts';
import { alive } from './alive.ts';
import { taskPlace } from './place.ts';

type Task = { id: string; brief: string; files: JobFiles; dir: string };

/**
 * Waits for the end of a background command. It never touches the command: whoever ends this activity, for whatever
 * reason, leaves it to the next one.
 */
export async function watchTask(hosts: Hosts, input: TaskInput): Promise<TaskEnd> {
  return alive(hosts, async (life) => {
    const task = await open(hosts, input);
    const found = await hosts.shell.adopt(task.dir);
    if (found.kind === 'ended') return told(hosts, task, found);
    if (found.kind !== 'running') return told(hosts, task, { kind: 'gone' });
    // Any end of this activity ends the waiting, also when a newer attempt waits already.
    const signal = AbortSignal.any([cancellationSignal(), life.leave]);
    const exit = await found.run.exit(signal, (tail) => life.say(tail));
    return told(hosts, task, { kind: 'ended', exit });
  });
}

/** Kills a background command with all that it started; one that has ended is left as it is. */
export async function endTask(hosts: Hosts, input: TaskInput): Promise<TaskEnd> {
  return alive(hosts, async () => {
    const task = await open(hosts, input);
    const found = await hosts.shell.adopt(task.dir);
    if (found.kind === 'ended') return told(hosts, task, found);
    if (found.kind !== 'running') return told(hosts, task, { kind: 'gone' });
    await found.run.kill();
    const left = await hosts.shell.adopt(task.dir);
    return told(hosts, task, left.kind === 'ended' ? left : { kind: 'stopped' });
  });
}

async function open(hosts: Hosts, { brief }: TaskInput): Promise<Task> {
  const { job, task: id } = taskPlace();
  const files = await hosts.job(job);
  return { id, brief, files, dir: join(files.dir, taskDir(id)!) };
}

/** Puts the end on record for watchers, and the note for the model where the job can hand it on. */
async function told(hosts: Hosts, { id, brief, files }: Task, sight: TaskSight): Promise<TaskEnd> {
  const { status, how } = taskEnding(sight);
  const summary = taskSummary(brief, how);
  const outputFile = join(files.dir, taskOutputFile(id));
  const body = await files.blobs.put(taskNote({ id, status, summary, outputFile }));
  const exitCode = sight.kind === 'ended' ? sight.exit.code : null;
  files.events.write({ at: hosts.now(), kind: 'task.ended', id, status, exitCode, summary });
  await files.events.flush();
  return { id, status, note: { id, kind: 'task', body } };
}
