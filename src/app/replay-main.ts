// Replays the open workflows of a home with the workflows of this package: `node replay-main.js SPEC`, SPEC as below, on
// the server of the environment. Prints one JSON line per workflow that can't go on, then `{"replayed":N}`.
import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { z } from 'zod';
import { bundleFile } from './build-id.ts';
import { connectionConfig } from './service/connection.ts';

/** `jobs`: only these. */
const Spec = z.object({ taskQueue: z.string(), jobs: z.array(z.string()).optional() });

const { taskQueue, jobs } = Spec.parse(JSON.parse(process.argv[2] ?? 'null'));
// What the core says of a history that does not fit is in the result.
Runtime.install({
  logger: new DefaultLogger('ERROR', () => undefined),
  telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' }, forward: {} } },
});
const { connectionOptions, namespace } = await connectionConfig(process.env);
const connection = await Connection.connect(connectionOptions);
const client = new Client({ connection, ...(namespace === undefined ? {} : { namespace }) });

let replayed = 0;
const query = `TaskQueue = '${taskQueue}' AND ExecutionStatus = 'Running'`;
for await (const { workflowId, runId } of client.workflow.list({ query })) {
  const [job = ''] = workflowId.split('/');
  if (jobs !== undefined && !jobs.includes(job)) continue;
  const error = await replay(workflowId, runId);
  replayed += 1;
  if (error !== undefined) process.stdout.write(`${JSON.stringify({ job, workflowId, error })}\n`);
}
process.stdout.write(`${JSON.stringify({ replayed })}\n`);
process.exit(0);

async function replay(workflowId: string, runId: string): Promise<string | undefined> {
  try {
    const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    await Worker.runReplayHistory({ workflowBundle: { codePath: bundleFile() } }, history, workflowId);
    return undefined;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    if (error instanceof Error && /^(DeterminismViolation|Replay)Error$/.test(error.name)) return error.message;
    throw error;
  }
}
