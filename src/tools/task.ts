import type { ToolIo, ToolOutput } from '../core/tool.ts';
import { refusal } from './paths.ts';

/** Where a background task's run and output are. */
export type TaskPlace = { dir: string; outputPath: string };

/** The answer for an id that is no task of this job. */
export async function unknownTask(id: string, io: ToolIo): Promise<ToolOutput> {
  const ids = await io.tasks.ids();
  const known = ids.length === 0 ? 'None was started in this job.' : `Tasks of this job: ${ids.join(', ')}.`;
  return refusal(`There is no background task ${JSON.stringify(id)}. ${known}`);
}
