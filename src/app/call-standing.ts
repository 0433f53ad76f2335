import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { type MarkedCall, passIdStart, taskId, taskWorkflowId, turnId } from '../core/paths.ts';
import type { JobStanding, Standing } from '../host/reaper.ts';
import type { TurnView } from '../shapes/turn.ts';
import { isNotFound } from './temporal-door.ts';

/** A turn that has to be replayed answers later; what it would say is then asked again. In ms. */
const QUERY_LIMIT = 5_000;

/**
 * Asks the server whether anybody still wants what this call started. The order of the questions matters: a turn hands a
 * call on to its task before it says that the call is done.
 */
export async function callStanding(client: Client, taskQueue: string, call: MarkedCall): Promise<Standing> {
  const find = (id: string): Promise<WorkflowExecutionDescription | undefined> => openWorkflow(client, taskQueue, id);
  const turn = await find(turnId(call.job, call.turn));
  if (turn) {
    const inTurn = await standingInTurn(client, turn, call);
    if (inTurn !== 'unwanted') return inTurn;
  }
  const task = await find(taskWorkflowId(call.job, taskId(call.turn, call.step, call.index)));
  const job = await find(call.job);
  if (!job) return 'unwanted';
  if (task) return 'watched';
  const { pendingWorkflowTask, pendingChildren } = job.raw;
  // Between two runs of a turn, the next one is about to be started.
  if (!turn && (pendingWorkflowTask || (pendingChildren?.length ?? 0) > 0)) return 'unsure';
  return 'unwanted';
}

/** Asks the server how a job stands: by its last run, as a job that is opened again has several. */
export async function jobStanding(client: Client, taskQueue: string, job: string): Promise<JobStanding> {
  const found = await describe(client, job);
  if (found?.taskQueue !== taskQueue || found.status.name === 'TERMINATED') return 'gone';
  return found.status.name === 'RUNNING' ? 'open' : 'closed';
}

async function standingInTurn(
  client: Client,
  { raw, workflowId }: WorkflowExecutionDescription,
  { step, index }: MarkedCall,
): Promise<Standing> {
  const start = passIdStart(step, index);
  if (raw.pendingActivities?.some((activity) => activity.activityId?.startsWith(start))) return 'awaited';
  let view: TurnView;
  try {
    view = await client.withDeadline(Date.now() + QUERY_LIMIT, () =>
      client.workflow.getHandle(workflowId).query<TurnView>('turnView'),
    );
  } catch {
    return 'unsure';
  }
  if (view.open && view.step === step) {
    return view.calls[index] && view.calls[index].state !== 'completed' ? 'awaited' : 'unwanted';
  }
  // Started while its reply still streams.
  const asked = view.open ? view.step + 1 : view.step;
  return view.activity === 'model' && asked === step ? 'awaited' : 'unwanted';
}

async function openWorkflow(
  client: Client,
  taskQueue: string,
  id: string,
): Promise<WorkflowExecutionDescription | undefined> {
  const found = await describe(client, id);
  return found?.taskQueue === taskQueue && found.status.name === 'RUNNING' ? found : undefined;
}

async function describe(client: Client, id: string): Promise<WorkflowExecutionDescription | undefined> {
  try {
    return await client.workflow.getHandle(id).describe();
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
