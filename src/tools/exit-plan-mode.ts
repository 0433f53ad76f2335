import { z } from 'zod';
import { defineTool } from './define.ts';
import { briefText } from './text.ts';

const ExitPlanModeInput = z.strictObject({
  plan: z.string().min(1).describe('The plan in Markdown: what will be changed and how it will be checked.'),
});
type ExitPlanModeInput = z.infer<typeof ExitPlanModeInput>;

const description = `Shows your plan to a person and waits until it is approved; then plan mode is over and the work may begin.
- Call it once you have read enough to say what you will change, in which files, in which order, and how you will check it.
- When the plan is sent back, plan mode goes on: change the plan by what was said, and call this tool again.`;

/** Ends plan mode: its permission is the question, and an approved plan lets the job change files. */
export const exitPlanMode = defineTool<ExitPlanModeInput>({
  name: 'ExitPlanMode',
  description,
  input: ExitPlanModeInput,
  asks: 'approval',
  interrupt: 'cancel',
  runs: 'anywhere',
  brief: ({ plan }) => briefText(plan),
  access: () => ({ kind: 'none' }),
  offered: (mode) => mode === 'plan',
  validate: (_input, io) =>
    io.mode === 'plan' ? undefined : 'You are not in plan mode, so there is nothing to leave. Go on with the work.',
  run: async ({ plan }, { said, jobMode }) => ({
    content: [
      'The plan is approved. Plan mode is over: carry it out now.',
      ...(said === undefined ? [] : [`They said: ${said}`]),
      `The approved plan:\n${plan}`,
    ].join('\n\n'),
    mode: jobMode === 'plan' ? 'default' : jobMode,
  }),
});
